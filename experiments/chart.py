"""Line charts as SVG: panels side by side that share a legend. The program draw-figures (tools/page) draws them."""
import collections
import subprocess

# points: (place on the x axis, y, standard error or None); marks are the names of the places.
Line = collections.namedtuple("Line", "name points")
Panel = collections.namedtuple("Panel", "title x_name marks lines floor", defaults=(None,))  # floor: of a majority vote, or None

WIDTH, HEIGHT = 320, 270  # of a panel


def y_range(panel):
    """All error bars and the floor, with a little room."""
    values = [y + sign * (e or 0) for line in panel.lines for _, y, e in line.points for sign in (-1, 1)]
    if panel.floor is not None:
        values.append(panel.floor)
    low, high = min(values), max(values)
    room = max(.04 * (high - low), .01)
    return low - room, high + room


def describe_line(line, number, shift):
    """Error bars of several lines stand side by side, so a line is a little beside its places."""
    points = [field for place, y, e in line.points for field in (f"{place + shift:.3f}", repr(y), repr(e if e and e > 0 else 0.0))]
    return ["line", str(number), *points]


def describe_panel(panel, names, y_name):
    low, high = y_range(panel)
    yield ["figure", panel.title, str(WIDTH), str(HEIGHT)]
    yield ["x", "bands", panel.x_name, *panel.marks]
    yield ["y", "linear", y_name, repr(low), repr(high)]
    if panel.floor is not None:
        yield ["level", repr(panel.floor), "majority"]
    for number, line in enumerate(panel.lines):
        shift = (number - (len(panel.lines) - 1) / 2) * .04
        yield describe_line(line, names.index(line.name), shift)


def draw(program, path, panels, titles, columns=2, y_name="accuracy"):
    """Writes the chart. `titles` has what the legend calls a line, in the order of its colours and shapes."""
    lines = [["columns", str(min(columns, len(panels)))], *(["series", title] for title in titles.values())]
    for panel in panels:
        lines += describe_panel(panel, list(titles), y_name)
    drawn = subprocess.run([program], input="".join("\t".join(line) + "\n" for line in lines).encode(), stdout=subprocess.PIPE, check=True)
    with open(path, "wb") as file:
        file.write(drawn.stdout)
