"""Reads the tables of the experiments and reduces them: users with few ratings, rows with cells removed."""
import collections
import csv
import gzip
import os
import random

MISSING = {"", "NA", "?"}
ENDINGS = ".csv", ".csv.gz"

# Ratings {user: {item: text}} and attributes of the users {user: {attribute: text}}.
Ratings = collections.namedtuple("Ratings", "by_user users")


class Absent(Exception):
    """Data that are not available; the message names the places that were searched."""


def find(folder, name):
    """The path of table `name`."""
    for ending in ENDINGS:
        path = os.path.join(folder, name + ending)
        if os.path.exists(path):
            return path
    raise Absent(f"no {name}{' or '.join(ENDINGS)} in {folder}")


def open_text(path):
    return (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8")


def read(path):
    """Header and rows; the column `target` is the last one."""
    with open_text(path) as file:
        header, *rows = csv.reader(file)
    place = header.index("target") if "target" in header else None
    if place is None:
        raise ValueError(f"{path} has no column 'target'")
    return [[*row[:place], *row[place + 1:], row[place]] for row in [header, *rows]]


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def sample(table, count, seed):
    """`count` of the rows, in their order; all if there are no more."""
    header, *rows = table
    chosen = sorted(random.Random(seed).sample(range(len(rows)), min(count, len(rows))))
    return [header, *(rows[i] for i in chosen)]


def fill(table, value):
    """Writes `value` into missing cells, for tables whose source has it there."""
    header, *rows = table
    return [header, *([value if cell in MISSING else cell for cell in row[:-1]] + row[-1:] for row in rows)]


def remove(table, share, seed):
    """Removes this share of all attribute cells at random."""
    header, *rows = table
    cells = [(i, j) for i in range(len(rows)) for j in range(len(header) - 1)]
    rows = [list(row) for row in rows]
    for i, j in random.Random(seed).sample(cells, round(share * len(cells))):
        rows[i][j] = ""
    return [header, *rows]


# ---- ratings ----

def read_ratings(path, users=None):
    """Triplets user,item,rating, and a file of users whose first column has the same IDs."""
    by_user = collections.defaultdict(dict)
    with open_text(path) as file:
        for user, item, rating in list(csv.reader(file))[1:]:
            by_user[user][item] = rating
    attributes = {}
    if users:
        with open_text(users) as file:
            header, *rows = csv.reader(file)
        attributes = {row[0]: dict(zip(header[1:], row[1:])) for row in rows}
    return Ratings(dict(by_user), attributes)


def votes_as_ratings(table):
    """A table of numbers in which the rows are users and the columns items."""
    header, *rows = table
    by_user = {str(i): {name: cell for name, cell in zip(header[:-1], row) if cell not in MISSING}
               for i, row in enumerate(rows)}
    return Ratings(by_user, {str(i): {"target": row[-1]} for i, row in enumerate(rows)})


def fields(path, separator):
    with open(path, encoding="latin-1") as file:  # titles of films are in it, and so are these files
        return [line.rstrip("\n").split(separator) for line in file if line.strip()]


def age_group(years):
    return "under 25" if years < 25 else "25 to 34" if years < 35 else "35 or more"


def read_movielens(folder):
    """The files of the 1M set (ratings.dat, users.dat) or of the 100k set (u.data, u.user)."""
    def path(name):
        return os.path.join(folder, name)
    if os.path.exists(path("ratings.dat")):
        ratings, users = fields(path("ratings.dat"), "::"), fields(path("users.dat"), "::")
        people = {u[0]: (u[1], int(u[2])) for u in users}  # the age is the youngest of a group
    elif os.path.exists(path("u.data")):
        ratings, users = fields(path("u.data"), "\t"), fields(path("u.user"), "|")
        people = {u[0]: (u[2], int(u[1])) for u in users}
    else:
        raise Absent(f"no ratings.dat (MovieLens 1M) and no u.data (100k) in {folder}")
    by_user = collections.defaultdict(dict)
    for user, item, rating, *_ in ratings:
        by_user[user][item] = rating
    return Ratings(dict(by_user), {user: {"gender": gender, "age group": age_group(age)}
                                   for user, (gender, age) in people.items()})


def most_rated(ratings, count):
    """The items that most users rated; of equals, those with the smaller ID."""
    counts = collections.Counter(item for rated in ratings.by_user.values() for item in rated)
    return sorted(counts, key=lambda item: (-counts[item], len(item), item))[:count]


def only_items(ratings, items):
    kept = set(items)
    return ratings._replace(by_user={user: {item: r for item, r in rated.items() if item in kept}
                                     for user, rated in ratings.by_user.items()})


def liking(ratings, item, is_liked):
    """{user: yes or no} of those who rated the item, and the ratings without it."""
    labels = {user: "yes" if is_liked(float(rated[item])) else "no"
              for user, rated in ratings.by_user.items() if item in rated}
    return labels, ratings._replace(by_user={user: {i: r for i, r in rated.items() if i != item}
                                             for user, rated in ratings.by_user.items()})


def write_ratings(paths, ratings, labels, n_users, n_ratings, seed):
    """Of `n_users` users with a label, `n_ratings` ratings each or all they gave. With one seed more ratings contain the
    fewer, and the users are the same."""
    users = sorted(user for user in labels if ratings.by_user.get(user))
    users = sorted(random.Random(seed).sample(users, min(n_users, len(users))))
    triplets = [("user", "item", "rating")]
    for user in users:
        rated = sorted(ratings.by_user[user].items())
        random.Random(f"{seed} {user}").shuffle(rated)
        triplets += [(user, item, rating) for item, rating in rated[:n_ratings]]
    write(paths[0], triplets)
    write(paths[1], [("user", "target"), *((user, labels[user]) for user in users)])
