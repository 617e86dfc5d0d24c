"""Tables in SQLite files: the same model as from their CSV export, one state of the database, and what is refused."""
import csv
import io
import math
import os
import random
import re
import shlex
import sqlite3
import subprocess
import sys
import threading

from case import KARMA, Case

HEADER = ["id", "age", "colour", "seen", "score", "order", "y"]


def rows(count, seed=1):
    """Integers, reals of all sizes, texts with commas, quotes and line feeds, dates, NULLs; `order` is a word of SQL."""
    draw = random.Random(seed)
    colours = ["red", "green", 'a "new" one', "two, words", " blank ", "line\nfeed", "ü"]
    made = []
    for i in range(count):
        age = draw.choice([None, draw.randint(0, 99)])
        colour = draw.choice(colours + [None])
        seen = draw.choice([None, f"20{draw.randint(10, 29)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"])
        score = draw.choice([None, draw.gauss(0, 1), draw.gauss(0, 1) * 10.0 ** draw.randint(-30, 30), float(draw.randint(-5, 5))])
        order = draw.choice([None, 2 ** 60 + draw.randint(0, 9), -draw.randint(1, 5)])
        made.append([f"r{i}", age, colour, seen, score, order, "yes" if (age or 50) + 9 * (i % 5) > 60 else "no"])
    return made


def export(names, table):
    """CSV with the shortest numbers that read back as the same."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if cell is None else repr(cell) if isinstance(cell, float) else cell for cell in row] for row in table])
    return text.getvalue()


class Sqlite(Case):
    def database(self, name="t.db", table="t", names=HEADER, cells=None, extra=()):
        db = sqlite3.connect(self.path(name))
        cells = rows(120) if cells is None else cells
        quoted = ['"' + column.replace('"', '""') + '"' for column in names]
        db.execute(f'CREATE TABLE "{table}" ({", ".join(quoted)})')
        db.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(names))})', cells)
        for statement in extra:
            db.execute(statement)
        db.commit()
        db.close()
        return cells

    def train(self, source, model, *more):
        run = self.run_karma("train", source, "--target", "y", "--id", "id", "--kernel", "rank", "-o", model, *more)
        self.assertEqual(run.code, 0, str(run))
        return run


class Reading(Sqlite):
    def test_the_model_is_that_of_the_export_to_the_last_bit(self):
        for seed in range(4):
            cells = rows(150, seed)
            self.database(f"{seed}.db", cells=cells)
            self.write("t.csv", export(HEADER, cells))
            self.train("t.csv", "csv.karma")
            for threads in ("1", "2"):
                self.train(f"sqlite:{seed}.db?table=t", "db.karma", "--threads", threads)
                self.assertEqual(self.read("db.karma"), self.read("csv.karma"))
            self.train(f"sqlite:{seed}.db", "query.karma", "--query", 'SELECT * FROM "t" -- all of them')
            self.assertEqual(self.read("query.karma"), self.read("csv.karma"))
            self.assertNotIn(b"SELECT", self.read("query.karma"))
            wanted = self.ok("predict", "csv.karma", "t.csv").out
            self.assertEqual(self.ok("predict", "csv.karma", f"sqlite:{seed}.db?table=t").out, wanted)

    def test_the_notices_are_those_of_the_export(self):
        cells = [[i, "n/a!" if i % 9 == 0 else i / 8, f"{i % 28 + 1}/{i % 11 + 1}/2024", "ab"[i % 2]] for i in range(40)]
        self.database(names=["id", "x", "d", "y"], cells=cells)
        self.write("t.csv", export(["id", "x", "d", "y"], cells))
        told = [self.train(source, "m.karma").notes() for source in ("sqlite:t.db?table=t", "t.csv")]
        self.assertEqual([note.replace("sqlite:t.db?table=t", "t.csv") for note in told[0]], told[1])
        self.assertTrue(any("'x' is read as categories: 35 cells are numbers, but 5 are not" in note for note in told[1]), told)

    def test_reals_are_spelt_as_sqlite_spells_them_and_read_back(self):
        draw = random.Random(5)
        values = [0.0, -0.0, 1.0, -2.0, 0.1, 1e14, 1e15, 123456789012345.0, 1e16, 1e20, -1e-5, 1e-4, 0.0001234, 5e-324,
                  1.7976931348623157e308, 0.1 + 0.2, 1 / 3, 2 ** 53 + 2.0]
        values += [draw.randint(-10 ** 6, 10 ** 6) / 10 ** draw.randint(0, 7) for _ in range(300)]
        values += [draw.uniform(-1, 1) * 10.0 ** draw.randint(-20, 20) for _ in range(300)]
        self.database(names=["id", "x", "y"], cells=[[value, i % 7, "ab"[i % 2]] for i, value in enumerate(values)])
        self.train("sqlite:t.db", "m.karma")
        said = [row[0] for row in self.ok("predict", "m.karma", "sqlite:t.db", "--id", "id").rows()[1:]]
        own = [row[0] for row in sqlite3.connect(self.path("t.db")).execute("SELECT CAST(id AS TEXT) FROM t")]
        n_equal = 0
        for value, text, cast in zip(values, said, own):
            self.assertEqual(float(text), value)
            self.assertEqual(math.copysign(1, float(text)), math.copysign(1, value))
            self.assertRegex(text, r"[.]")
            if float(cast) == value:
                n_equal += 1
                self.assertEqual(text if value else text.lstrip("-"), cast)
        self.assertGreater(n_equal, 300)

    def test_strange_names_and_views(self):
        name = 'select "x"; DROP TABLE t; --'
        names = ["id", "group", 'a "b"', "ü'; --", "y"]
        cells = [[i, i % 7, i / 3, "pq"[i % 2], "ab"[i % 7 > 3]] for i in range(50)]
        self.database(table=name.replace('"', '""'), names=names, cells=cells, extra=["CREATE VIEW v AS SELECT * FROM " + '"' + name.replace('"', '""') + '"'])
        self.write("t.csv", export(names, cells))
        self.train("t.csv", "csv.karma")
        for table in (name.replace("%", "%25"), "v", "V"):
            run = self.train(f"sqlite:t.db?table={table}", "db.karma")
            self.assertEqual(self.read("db.karma"), self.read("csv.karma"))
            # the command that is recommended can be pasted
            word = re.search("karma cv (.*) with the same options", run.out).group(1)
            self.assertEqual(shlex.split(word), [f"sqlite:t.db?table={table}"])
        os.rename(self.path("t.db"), self.path("a?b %c.db"))
        self.train("sqlite:a%3Fb%20%25c.db?table=v", "db.karma")
        self.assertEqual(self.read("db.karma"), self.read("csv.karma"))

    def test_one_column_and_rows_of_nulls(self):
        self.database(names=["y"], cells=[["a"], [None], ["b"], [None]])
        said = self.ok("inspect", "sqlite:t.db?table=t", "--target", "y", "--json").json()
        self.assertEqual(said["rows"], 4)
        self.database("u.db", names=["x", "y"], cells=[[None, None], [1, "a"], [None, None]])
        self.assertEqual(self.ok("inspect", "sqlite:u.db?table=t", "--target", "y", "--json").json()["rows"], 3)

    def test_blobs_count_as_missing_and_huge_ones_are_not_read(self):
        cells = [[i, i % 7, "ab"[i % 7 > 3], bytes(3) if i % 2 else None] for i in range(60)]
        self.database(names=["id", "x", "y", "photo"], cells=cells, extra=["UPDATE t SET photo = zeroblob(300000000) WHERE id = 7"])
        run = self.train("sqlite:t.db", "m.karma")
        self.assertTrue(any("column 'photo' has 30 blobs, which count as missing" in note for note in run.notes()), str(run))
        told = self.train("sqlite:t.db", "m.karma", "--ignore", "photo").notes()
        self.assertFalse(any("photo" in note for note in told), told)

    def test_new_rows_of_a_model_with_other_settings(self):
        # learned from a file with semicolons and decimal commas; the numbers of a database have neither
        self.write("t.csv", "id;x;y\n" + "".join(f"{i};{i % 7},5;{'ab'[i % 7 > 3]}\n" for i in range(60)))
        self.train("t.csv", "m.karma")
        self.write("n.csv", "id;x\n1;2,5\n2;6,5\n")
        self.database(names=["id", "x"], cells=[[1, 2.5], [2, 6.5]])
        said = self.ok("predict", "m.karma", "sqlite:t.db", notes=["decimal points here, but had decimal commas"]).out
        self.assertEqual(said, self.ok("predict", "m.karma", "n.csv").out)

    def test_constant_memory(self):
        self.database(names=["id", "x", "y"], cells=[[i, i % 7, "ab"[i % 7 > 3]] for i in range(60)])
        self.train("sqlite:t.db", "m.karma")
        peaks = []
        # the address sanitizer would keep what is freed, up to 256 MB
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
        for count in (200000, 1000000):
            db = sqlite3.connect(self.path(f"{count}.db"))
            db.execute("CREATE TABLE t (id, x, filler)")
            db.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "
                       "INSERT INTO t SELECT i, i % 9, 'a text that is not learned from' FROM n")
            db.commit()
            db.close()
            script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=open('out', 'w'));"
                      "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
            done = subprocess.run([sys.executable, "-c", script, KARMA, "predict", "m.karma", f"sqlite:{count}.db", "--quiet"],
                                  cwd=self.dir, check=True, stdout=subprocess.PIPE,
                                  env=dict(os.environ, ASAN_OPTIONS=sanitizer))
            peaks.append(int(done.stdout))
            with open(self.path("out"), "rb") as file:
                self.assertEqual(sum(1 for _ in file), count + 1)
        self.assertLess(peaks[1], 1.2 * peaks[0] + 8000, peaks)


class Snapshot(Sqlite):
    def write_on(self, journal):
        """Each transaction writes rows in pairs; a reader that sees only one of a pair has seen half a transaction."""
        db = sqlite3.connect(self.path("t.db"))
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.execute("CREATE TABLE t (id, x, y)")
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", [(i // 2, i % 7, "ab"[i % 2]) for i in range(4000)])
        db.commit()
        db.close()
        writer = ("import sqlite3, sys\n"
                  "db = sqlite3.connect('t.db', timeout=7200)\n"
                  "for i in range(10 ** 9):\n"
                  "    db.execute('UPDATE t SET x = x + 1')\n"
                  "    db.executemany('INSERT INTO t VALUES (?, 0, ?)', [(10000 + i, 'a'), (10000 + i, 'b')])\n"
                  "    db.commit()\n"
                  "    print(i, flush=True)\n")
        return subprocess.Popen([sys.executable, "-c", writer], cwd=self.dir, stdout=subprocess.PIPE)

    def test_a_writer_never_shows_half_a_state(self):
        for journal in ("wal", "delete"):
            for name in self.files():
                os.unlink(self.path(name))
            self.write("train.csv", "id,x,y\n" + "".join(f"{i},{i % 7},{'ab'[i % 7 > 3]}\n" for i in range(60)))
            self.train("train.csv", "m.karma")
            process = self.write_on(journal)
            drain = threading.Thread(target=process.stdout.read)
            try:
                process.stdout.readline()
                drain.start()
                seen = set()
                for _ in range(12):
                    # the writer adds 1 to x of all rows: within one state the first 4000 rows are i % 7 + a constant
                    run = self.run_karma("predict", "m.karma", "sqlite:t.db?timeout=7200", "--query",
                                         "SELECT id, x, x - (rowid - 1) % 7 AS gone FROM t WHERE id < 10000", "--id", "id",
                                         "--id", "gone", "--quiet")
                    self.assertEqual(run.code, 0, str(run))
                    gone = {row[1] for row in run.rows()[1:]}
                    self.assertEqual(len(gone), 1, journal)
                    seen |= gone
                    run = self.run_karma("predict", "m.karma", "sqlite:t.db?table=t&timeout=7200", "--id", "id", "--quiet")
                    self.assertEqual(run.code, 0, str(run))
                    self.assertEqual(len(run.rows()) % 2, 1, "a pair was cut")
                self.assertGreater(len(seen), 1, "the writer did not write meanwhile")
                self.assertIsNone(process.poll())
            finally:
                process.kill()
                process.wait()
                drain.join()
                process.stdout.close()

    def test_a_locked_database(self):
        self.database()
        db = sqlite3.connect(self.path("t.db"), isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        run = self.run_karma("train", "sqlite:t.db?table=t&timeout=0.2", "--target", "y", "-o", "m.karma")
        self.assertEqual(run.code, 1)
        self.assertRegex(run.err, r"^karma: sqlite:t.db\?table=t&timeout=0.2: the database is locked by another program; waited 0.2 s")
        self.assertEqual(len(run.err.splitlines()), 1)
        db.execute("COMMIT")
        self.train("sqlite:t.db?table=t", "m.karma")


class Refusals(Sqlite):
    def refused(self, source, *more, says, code=1):
        return self.fails("train", source, "--target", "y", "-o", "m.karma", *more, says=says, code=code)

    def test_what_is_not_there(self):
        self.database(extra=["CREATE TABLE other (a)", "CREATE VIEW broken AS SELECT a FROM nowhere"])
        self.refused("sqlite:none.db?table=t", says="^karma: sqlite:none.db[?]table=t: there is no such file$")
        self.refused("sqlite:.?table=t", says="is a directory, not a file")
        self.refused("sqlite:/dev/zero?table=t", says="is not a regular file")
        self.refused("sqlite:t.db?table=othr", says="no table 'othr'; did you mean 'other'[?]$")
        self.refused("sqlite:t.db?table=zzzzzz", says="no table 'zzzzzz'; the database has 'broken', 'other', 't'$")
        self.refused("sqlite:t.db", says="which table[?] The database has 'broken', 'other', 't'; add [?]table=NAME, or use --query", code=2)
        self.refused("sqlite:t.db?table=broken", says="no such table: main.nowhere")
        self.refused("sqlite:t.db?table=other", says="no column 'y'")
        self.write("text.db", "a,b\n1,2\n")
        self.refused("sqlite:text.db?table=t", says="not a SQLite database, or is encrypted")
        self.write("empty.db", "")
        self.refused("sqlite:empty.db?table=t", says="the database has no tables")
        self.refused("t.db", says="t.db: the file is a SQLite database; name it sqlite:FILE[?]table=NAME")
        self.database("e.db", cells=[])
        self.refused("sqlite:e.db?table=t", says="sqlite:e.db[?]table=t: no rows")

    def test_uris(self):
        self.database()
        self.refused("sqlite:", says="the file is not named", code=2)
        self.refused("sqlite:t.db?tabel=t", says="unknown parameter 'tabel'", code=2)
        self.refused("sqlite:t.db?table=", says="the name of the table is empty", code=2)
        self.refused("sqlite:t.db?table=t&table=u", says="two parameters 'table'", code=2)
        self.refused("sqlite:t.db?table=%4", says="write %25 for a % itself", code=2)
        self.refused("sqlite:t.db?table=%00t", says="write %25 for a % itself", code=2)
        self.refused("sqlite:t.db?timeout=-1", says="timeout must be seconds", code=2)
        self.refused("sqlite:t.db?table=t", "--delimiter", ";", says="--delimiter is for text files", code=2)
        self.refused("sqlite:t.db?table=t", "--format", "arff", says="--format is for text files", code=2)
        self.refused("sqlite:" + "x" * 9000, says="too long", code=2)
        self.write("t.csv", "x,y\n1,a\n2,b\n")
        self.refused("t.csv", "--query", "SELECT 1", says="--query needs a database", code=2)
        draw = random.Random(3)
        for _ in range(60):
            uri = "sqlite:" + "".join(draw.choice("t.db?table=&%20/@:;'\"\\ü\n") for _ in range(draw.randint(0, 30)))
            run = self.run_karma("train", uri, "--target", "y", "-o", "m.karma")
            self.assertIn(run.code, (1, 2), str(run))
            self.assertEqual(len(run.err.splitlines()), 1, str(run))
        self.assertEqual(self.files(), ["t.csv", "t.db"])

    def test_names_that_are_nearly_uris_show_no_password(self):
        self.database()
        for uri in ("postgress://anna:s3cret@host/db?table=t", "mysql://anna:s3cret@host/db", "https://anna:s3cret@host/t.csv",
                    "mysql://anna@corp:s3cret@host/db", "mysql://anna:the s3cret@host/db"):
            run = self.refused(uri, says="is not a kind of source that is read here; name a file, sqlite:FILE[?]table=NAME", code=2)
            self.assertNotIn("s3cret", run.err)
            for args in ([uri], ["train", "t.db", uri], ["predict", uri, "t.db"], ["predict", "m.karma", "t.db", "-o", uri],
                         ["train", "sqlite:t.db", "--target", "y", "--kernel", "linear", "-o", uri], ["inspect", "t.db", "--users", uri],
                         ["train", "sqlite:t.db", "--target", "y", "--kernel", "linear", "-o", "m.karma", "--report", uri]):
                run = self.run_karma(*args)
                self.assertIn(run.code, (1, 2), str(run))
                self.assertNotIn("s3cret", run.err + run.out)
        self.refused("t.db?table=t", says="there is no such file; a table of a SQLite file is named sqlite:FILE[?]table=NAME")
        self.refused("sqlite3:t.db", says="there is no such file; a table of a SQLite file is named sqlite:FILE[?]table=NAME")
        self.refused("sqlite://t.db?table=t", says="there is no such file; the path follows sqlite: without slashes of its own")
        self.train("SQLite:t.db?table=t", "m.karma")

    def test_virtual_tables(self):
        self.database(extra=["CREATE VIRTUAL TABLE f USING fts5(body, y)", "INSERT INTO f SELECT colour, y FROM t"])
        self.assertEqual(self.ok("inspect", "sqlite:t.db?table=f", "--json").json()["rows"], 120)
        self.refused("sqlite:t.db", "--query", "UPDATE sqlite_master SET name = 'u'", says="may not be modified")

    def test_a_log_in_a_directory_that_may_not_be_written(self):
        self.database()
        db = sqlite3.connect(self.path("t.db"))
        self.assertEqual(db.execute("PRAGMA journal_mode = WAL").fetchall(), [("wal",)])
        db.close()
        user = self.ordinary_user()
        os.chmod(self.dir, 0o555)
        self.addCleanup(os.chmod, self.dir, 0o755)
        run = self.run_karma("inspect", "sqlite:t.db?table=t", **user)
        self.assertEqual(run.code, 1, str(run))
        self.assertRegex(run.err, "^karma: sqlite:t.db[?]table=t: the database has a write-ahead log, which also readers need, and its directory may not")
        os.chmod(self.path("t.db"), 0)
        self.assertRegex(self.run_karma("inspect", "sqlite:t.db?table=t", **user).err, "cannot open: Permission denied\n$")

    def test_queries(self):
        self.database()
        for query, says in [("SELECT * FROM t; DROP TABLE t", "must be one statement"), ("DELETE FROM t", "may only read"),
                            ("DROP TABLE t", "may only read"), ("ATTACH 'x.db' AS x", "may only read"),
                            ("PRAGMA user_version = 3", "may only read"), ("VACUUM INTO 'x.db'", "must be a SELECT"),
                            ("BEGIN", "may only read"), ("  ;", "is empty"), ("-- nothing", "is empty"),
                            ("INSERT INTO t SELECT * FROM t RETURNING *", "may only read"),
                            ("SELECT ?1 AS y", "has parameters")]:
            self.refused("sqlite:t.db", "--query", query, says=says, code=2)
        self.refused("sqlite:t.db?table=t", "--query", "SELECT 1", says="not both", code=2)
        self.refused("sqlite:t.db", "--query", "SELECT load_extension('x')", says="not authorized to use function: load_extension")
        self.refused("sqlite:t.db", "--query", "SELEC * FROM t", says='near "SELEC": syntax error')
        self.refused("sqlite:t.db", "--query", "SELECT age, id AS age, y FROM t", says="columns 1 and 2 are both called 'age'")
        self.refused("sqlite:t.db", "--query", "SELECT y, abs(-9223372036854775808) AS x FROM t", says="integer overflow")

    def test_cells(self):
        cells = [[i, "line\nfeed", i / 2, "ab"[i % 2]] for i in range(9)]
        for bad, says in [(9e999, "row 10, column 'x': 'inf' is not a finite number"), ("abc", "row 10, column 'x': 'abc' is not a number")]:
            self.database(f"{bad}.db", names=["id", "t", "x", "y"], cells=cells + [[9, "\n\n", bad, "a"]])
            self.refused(f"sqlite:{bad}.db", "--numeric", "x", says=says)
        self.database("nul.db", names=["t", "y"], cells=[["a\0b", "a"], ["b", "b"]])
        self.refused("sqlite:nul.db", says="row 1, column 't': the text has a NUL byte")
        self.database("latin.db", names=["t", "y"], cells=[["a", "a"], ["b", "b"]], extra=["UPDATE t SET t = CAST(x'ff41' AS TEXT) WHERE y = 'b'"])
        self.refused("sqlite:latin.db", says="row 2, column 't': the text is not UTF-8")

    def test_damaged_files(self):
        self.database(cells=rows(400))
        whole = self.read("t.db")
        draw = random.Random(11)
        for _ in range(40):
            broken = bytearray(whole)
            for _ in range(draw.choice([1, 20, 400])):
                broken[draw.randrange(100 if draw.random() < 0.5 else 0, len(broken))] = draw.randrange(256)
            if draw.random() < 0.3:
                broken = broken[:draw.randrange(len(broken))]
            self.write("b.db", bytes(broken))
            run = self.run_karma("predict", "none.karma", "sqlite:b.db?table=t")
            run = self.run_karma("inspect", "sqlite:b.db?table=t", "--quiet")
            self.assertIn(run.code, (0, 1), str(run))

    def test_the_database_is_not_overwritten(self):
        self.database()
        self.refused("sqlite:t.db?table=t", "-o", "t.db", says="-o t.db would overwrite the input", code=2)
        self.train("sqlite:t.db", "m.karma")
        self.fails("predict", "m.karma", "sqlite:t.db?table=t", "-o", "./t.db", says="would overwrite the input", code=2)

    def test_it_is_only_read(self):
        self.database()
        before = self.read("t.db")
        os.chmod(self.path("t.db"), 0o444)
        self.train("sqlite:t.db?table=t", "m.karma", **{})
        self.assertEqual(self.read("t.db"), before)
        self.assertEqual(self.files(), ["m.karma", "t.db"])


class Writing(Sqlite):
    """predict and complete write tables: in one transaction, and do not replace another table unless asked to."""

    def setUp(self):
        super().setUp()
        cells = [[10 ** 17 + i, f"0{i}", f"k, {i}", i % 7, i / 3, "ab"[i % 7 > 3]] for i in range(60)]
        self.database(names=["id", "code", "key", "x", "z", "y"], cells=cells)
        self.train("sqlite:t.db", "m.karma", "--id", "code", "--id", "key")

    def query(self, sql, name="t.db"):
        db = sqlite3.connect(self.path(name))
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def test_the_table_is_the_csv(self):
        wanted = self.ok("predict", "m.karma", "sqlite:t.db?table=t").rows()
        for target in ("sqlite:t.db?table=p", "sqlite:new.db?table=p"):
            self.ok("predict", "m.karma", "sqlite:t.db?table=t", "-o", target)
            name = target[7:].partition("?")[0]
            rows = self.query("SELECT * FROM p", name)
            self.assertEqual([[row[0], *row[1:4], row[4]] for row in rows],
                             [[int(row[0]), *row[1:4], float(row[4])] for row in wanted[1:]])
            types = self.query("SELECT name, type FROM pragma_table_info('p')", name)
            self.assertEqual(types, list(zip(wanted[0], ["INTEGER", "TEXT", "TEXT", "TEXT", "REAL"])))
        self.assertEqual(self.query("SELECT count(*) FROM t JOIN p USING (id, code, key)"), [(60,)])
        said = self.ok("predict", "m.karma", "sqlite:t.db?table=t", "-o", "sqlite:t.db?table=q", "--json").json()
        self.assertEqual((said["output"], said["rows"]), ("sqlite:t.db?table=q", 60))

    def test_an_existing_table_stays(self):
        self.ok("predict", "m.karma", "sqlite:t.db?table=t", "-o", "sqlite:t.db?table=p")
        self.database("one.db")
        refuse = lambda target, says, *more, code=1: self.fails("predict", "m.karma", "sqlite:t.db?table=t", "-o", target, *more, says=says, code=code)
        refuse("sqlite:t.db?table=P", "table 'P' exists already; choose another name, or --replace")
        refuse("sqlite:t.db?table=t", "would overwrite the input", "--replace", code=2)
        refuse("sqlite:./t.db?table=T", "would overwrite the input", "--replace", code=2)
        self.fails("predict", "m.karma", "sqlite:one.db", "-o", "sqlite:./one.db?table=t", "--replace", says="would overwrite the input", code=2)
        refuse("sqlite:t.db", "name the table to write", code=2)
        refuse("sqlite:none/t.db?table=p", "unable to open database file|No such file")
        refuse("sqlite:t.db?table=sqlite_p", "object name reserved")
        db = sqlite3.connect(self.path("t.db"))
        db.execute("CREATE VIEW v AS SELECT 1")
        db.execute("DELETE FROM p WHERE code > '05'")
        db.commit()
        db.close()
        refuse("sqlite:t.db?table=v", "'v' exists already and is not a table", "--replace")
        self.ok("predict", "m.karma", "sqlite:t.db?table=t", "-o", "sqlite:t.db?table=P", "--replace")
        self.assertEqual(self.query("SELECT count(*) FROM p"), [(60,)])
        self.fails("train", "sqlite:t.db?table=t", "--target", "y", "-o", "sqlite:t.db?table=m", says="train does not write to databases", code=2)

    def test_all_or_nothing(self):
        # a bad row at the end, after parts that have been predicted
        db = sqlite3.connect(self.path("big.db"))
        db.execute("CREATE TABLE t (id, x, filler)")
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
                   "INSERT INTO t SELECT i, i % 9, 'a text that is not learned from and makes the rows longer' FROM n")
        db.execute("INSERT INTO t VALUES (0, 9e999, NULL)")
        db.commit()
        db.close()
        self.fails("predict", "m.karma", "sqlite:big.db", "--id", "id", "-o", "sqlite:out.db?table=p", says="row 200001, column 'x'")
        self.fails("predict", "m.karma", "sqlite:big.db", "--id", "id", "-o", "sqlite:t.db?table=p", says="is not a finite number")

    def test_a_locked_database_and_another_writer(self):
        db = sqlite3.connect(self.path("t.db"), isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        db.execute("CREATE TABLE other (a)")
        run = self.run_karma("predict", "m.karma", "sqlite:t.db?table=t", "-o", "sqlite:t.db?table=p&timeout=0.2")
        self.assertEqual(run.code, 1, str(run))
        self.assertRegex(run.err, "the database is locked by another program; waited 0.2 s")
        db.execute("COMMIT")
        self.ok("predict", "m.karma", "sqlite:t.db?table=t", "-o", "sqlite:t.db?table=p")
        self.assertEqual(self.query("SELECT count(*) FROM p"), [(60,)])
        db.close()

    def test_names_are_only_names(self):
        name = 'p"; DROP TABLE t; --'
        self.ok("predict", "m.karma", "sqlite:t.db?table=t", "-o", f"sqlite:t.db?table={name}")
        self.assertEqual(self.query("SELECT count(*) FROM t"), [(60,)])
        self.assertEqual(self.query('SELECT count(*) FROM "p""; DROP TABLE t; --"'), [(60,)])
        cells = [[f"i{i}", i % 7, "ab"[i % 7 > 3]] for i in range(40)]
        odd = 'a", b); DROP TABLE t; --'
        self.database("odd.db", names=[odd, "x", "y"], cells=cells)
        self.ok("predict", "m.karma", "sqlite:odd.db?table=t", "--id", odd, "-o", "sqlite:odd.db?table=p", notes=["lack"])
        self.assertEqual(self.query("SELECT count(*) FROM t", "odd.db"), [(40,)])
        self.assertEqual(self.query("SELECT name FROM pragma_table_info('p')", "odd.db")[0][0], odd)

    def test_complete(self):
        draw = random.Random(2)
        cells = []
        for i in range(80):
            a, b = draw.gauss(0, 1), draw.gauss(0, 1)
            row = [a, b, a + b, a - b, 2 * a]
            cells.append([f"r{i}", *[None if draw.random() < 0.2 else cell for cell in row], "ab"[a > 0]])
        self.database("s.db", names=["id", "p", "q", "r", "s", "u", "y"], cells=cells)
        run = self.run_karma("train", "sqlite:s.db", "--target", "y", "--id", "id", "--kernel", "subspace", "-o", "s.karma", "--quiet")
        self.assertEqual(run.code, 0, str(run))
        wanted = self.run_karma("complete", "s.karma", "sqlite:s.db?table=t", "--quiet").rows()
        run = self.run_karma("complete", "s.karma", "sqlite:s.db?table=t", "-o", "sqlite:s.db?table=c", "--quiet")
        self.assertEqual(run.code, 0, str(run))
        self.assertEqual([[str(row[0]), *row[1:6]] for row in self.query("SELECT * FROM c", "s.db")],
                         [[row[0], *map(float, row[1:6])] for row in wanted[1:]])
