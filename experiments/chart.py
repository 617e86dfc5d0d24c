"""Line charts as SVG, with the standard library alone: panels side by side that share a legend."""
import collections
import math
from xml.sax.saxutils import escape

# points: (place on the x axis, y, standard error or None); marks are the names of the places.
Line = collections.namedtuple("Line", "name points")
Panel = collections.namedtuple("Panel", "title x_name marks lines floor", defaults=(None,))  # floor: a dotted level, or None
Style = collections.namedtuple("Style", "colour shape width dash", defaults=(1.6, ""))

WIDTH, HEIGHT = 250, 200  # of a panel's plot
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 30, 44
ENTRY, LEGEND = 132, 18  # width and height of a name in the legend


def nice_step(span, most=6):
    raw = span / most
    unit = 10 ** math.floor(math.log10(raw))
    return next(unit * k for k in (1, 2, 5, 10) if unit * k >= raw)


def y_range(panel):
    values = [y + sign * (e or 0) for line in panel.lines for _, y, e in line.points for sign in (-1, 1)]
    if panel.floor is not None:
        values.append(panel.floor)
    low, high = min(values), max(values)
    step = nice_step(max(high - low, .02))
    return math.floor(low / step) * step, math.ceil(high / step - 1e-9) * step, step


def text(x, y, words, anchor="middle", size=11, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>{escape(words)}</text>'


def segment(x1, y1, x2, y2, colour, width=1.0, dash=""):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{dashes}/>'


def mark(x, y, style):
    """A point: the shapes tell the lines apart where colours do not."""
    r = 3.2
    corners = {"square": [(-r, -r), (r, -r), (r, r), (-r, r)], "up": [(0, -r - 1), (r + .6, r), (-r - .6, r)],
               "down": [(0, r + 1), (r + .6, -r), (-r - .6, -r)],
               "diamond": [(0, -r - 1.2), (r + 1.2, 0), (0, r + 1.2), (-r - 1.2, 0)]}.get(style.shape)
    if corners is None:
        inside = "#ffffff" if style.shape == "ring" else style.colour
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{inside}" stroke="{style.colour}" stroke-width="1.4"/>'
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{style.colour}"/>'


def draw_panel(panel, styles, x0, y0, y_name):
    low, high, step = y_range(panel)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))

    def across(place, shift=0.0):
        return x0 + WIDTH * (place + .5) / len(panel.marks) + shift

    def up(y):
        return y0 + HEIGHT * (high - y) / (high - low)
    out = [text(x0 + WIDTH / 2, y0 - 10, panel.title, size=12, more=' font-weight="bold"')]
    for k in range(round((high - low) / step) + 1):
        level = low + k * step
        out += [segment(x0, up(level), x0 + WIDTH, up(level), "#e4e4e4"),
                text(x0 - 6, up(level) + 4, f"{level:.{digits}f}", "end")]
    for place, name in enumerate(panel.marks):
        out += [segment(across(place), y0 + HEIGHT, across(place), y0 + HEIGHT + 4, "#555555"),
                text(across(place), y0 + HEIGHT + 17, name)]
    out.append(f'<rect x="{x0}" y="{y0}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#555555"/>')
    out.append(text(x0 + WIDTH / 2, y0 + HEIGHT + 34, panel.x_name))
    if y_name:
        x, y = x0 - LEFT + 10, y0 + HEIGHT / 2
        out.append(text(x, y, y_name, more=f' transform="rotate(-90 {x:.1f} {y:.1f})"'))
    if panel.floor is not None:
        out.append(segment(x0, up(panel.floor), x0 + WIDTH, up(panel.floor), "#555555", 1.2, "1 3"))
    for number, line in enumerate(panel.lines):
        style, shift = styles[line.name], (number - (len(panel.lines) - 1) / 2) * 2.2  # error bars stand side by side
        points = [(across(place, shift), up(y), (e or 0) * HEIGHT / (high - low)) for place, y, e in line.points]
        out += [segment(x, y - e, x, y + e, style.colour, .9) for x, y, e in points if e > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        dashes = f' stroke-dasharray="{style.dash}"' if style.dash else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{style.colour}" stroke-width="{style.width}"{dashes}/>')
        out += [mark(x, y, style) for x, y, _ in points]
    return out


def draw_legend(names, styles, titles, x0, y0, per_row):
    out = []
    for k, name in enumerate(names):
        x, y = x0 + ENTRY * (k % per_row), y0 + LEGEND * (k // per_row)
        style = styles[name]
        out += [segment(x, y, x + 22, y, style.colour, style.width, style.dash), mark(x + 11, y, style),
                text(x + 28, y + 4, titles.get(name, name), "start")]
    return out


def draw(path, panels, styles, titles, columns=2, y_name="accuracy", floor_name=None):
    """Writes the chart. `styles` has a Style for every line, `titles` what the legend calls it."""
    columns = min(columns, len(panels))
    wide, high = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    rows = math.ceil(len(panels) / columns)
    names = [name for name in styles if any(line.name == name for panel in panels for line in panel.lines)]
    per_row = max(1, (columns * wide - LEFT) // ENTRY)
    entries = len(names) + (1 if floor_name else 0)
    total_high = rows * high + LEGEND * math.ceil(entries / per_row) + 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * wide}" height="{total_high}"'
           f' viewBox="0 0 {columns * wide} {total_high}" font-family="sans-serif" fill="#222222">',
           f'<rect width="{columns * wide}" height="{total_high}" fill="#ffffff"/>']
    for k, panel in enumerate(panels):
        out += draw_panel(panel, styles, k % columns * wide + LEFT, k // columns * high + TOP, y_name if k % columns == 0 else "")
    out += draw_legend(names, styles, titles, LEFT, rows * high + 12, per_row)
    if floor_name:
        x, y = LEFT + ENTRY * (len(names) % per_row), rows * high + 12 + LEGEND * (len(names) // per_row)
        out += [segment(x, y, x + 22, y, "#555555", 1.2, "1 3"), text(x + 28, y + 4, floor_name, "start")]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*out, "</svg>"]) + "\n")
