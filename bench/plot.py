# SPDX-License-Identifier: Apache-2.0
"""Draws SVG pictures with bars for results and their reference values, and with lines for growth."""
import math
from xml.sax.saxutils import escape

BAR, GAP, LEFT, WIDTH, RIGHT = 16, 14, 250, 420, 150
# Each color has the same meaning in all pictures.
OURS, OURS_P99, OTHERS, OTHERS_TEXT, LIMIT = "#2f6f4f", "#4a6fa5", "#b9bec4", "#6c7379", "#a8443a"
CHART = 150  # the height of a chart with lines
LINE = 14  # the height of a line of text


def amount(value, unit):
    """Returns the value with three digits and a suitable unit: 0.001234 s is "1.23 ms"."""
    if unit == "s":
        for scale, name in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
            if value * scale >= 1:
                return f"{value * scale:.3g} {name}"
        return f"{value * 1e6:.3g} µs"
    return f"{value:.3g} {unit}"


def text(x, y, content, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{escape(content)}</text>'


def group(row, top):
    """Draws the bars of one row. The longest bar fills the width."""
    bars = [("gpuprobe", row.value, OURS)] + [(name, value, OTHERS) for name, value in row.references]
    longest = max([value for _, value, _ in bars] + ([row.limit] if row.limit else []))
    parts = [text(0, top + 12, row.what, 'font-weight="bold"')]
    y = top + 20
    for name, value, colour in bars:
        length = max(1.0, WIDTH * value / longest)
        parts.append(text(LEFT - 8, y + 12, name, 'text-anchor="end"'))
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 3}" fill="{colour}"/>')
        parts.append(text(LEFT + length + 6, y + 12, amount(value, row.unit)))
        y += BAR
    if row.limit:
        x = LEFT + WIDTH * row.limit / longest
        parts.append(f'<path d="M{x:.1f} {top + 18}V{y}" stroke="{LIMIT}" stroke-width="2"/>')
        parts.append(text(x + 4, top + 14, "at most " + amount(row.limit, row.unit), f'fill="{LIMIT}" font-size="10"'))
    return parts, y + GAP


def chart(growth, top):
    """Draws lines on a scale that begins at 0. The horizontal axis is logarithmic. `growth` has the members what, unit, of, counts and
    series, which is a list of (name, values, colour)."""
    longest = max(value for _, values, _ in growth.series for value in values)
    first, last = math.log2(growth.counts[0]), math.log2(growth.counts[-1])

    def place(count, value):
        return 60 + (LEFT + WIDTH - 60) * (math.log2(count) - first) / (last - first), top + 30 + CHART * (1 - value / longest)
    bottom = top + 30 + CHART
    parts = [text(0, top + 12, growth.what, 'font-weight="bold"'), text(52, top + 36, amount(longest, growth.unit), 'text-anchor="end"'),
             text(52, bottom + 4, "0", 'text-anchor="end"'), f'<path d="M60 {top + 30}V{bottom}H{LEFT + WIDTH}" stroke="{OTHERS}" fill="none"/>']
    parts += [text(place(count, 0)[0], bottom + 16, str(count), 'text-anchor="middle"') for count in growth.counts]
    parts.append(text(LEFT + WIDTH, bottom + 30, growth.of, 'text-anchor="end"'))
    lowest = None
    # Each label is at the end of the line that it describes. A label that would overlap the label above it is moved down.
    for name, values, colour in sorted(growth.series, key=lambda one: -one[1][-1]):
        points = [place(*point) for point in zip(growth.counts, values)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" stroke="{colour}" stroke-width="2" fill="none"/>')
        lowest = points[-1][1] + 4 if lowest is None else max(lowest + LINE, points[-1][1] + 4)
        parts.append(text(points[-1][0] + 6, lowest, f"{name} {amount(values[-1], growth.unit)}", f'fill="{colour}"'))
    return parts, bottom + 40 + (LINE if lowest > bottom else 0)


def svg(rows, title, about, draw=group):
    """Returns a picture as SVG text. `about` contains the machine and the date. `draw` is `group` for results with references, or `chart` for
    growth."""
    parts, y = [text(0, 16, title, 'font-size="14" font-weight="bold"'), text(0, 34, about, 'fill="#5c6166"')], 56
    for row in rows:
        drawn, y = draw(row, y)
        parts += drawn
    size = f"{LEFT + WIDTH + RIGHT} {y}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -4 {size}" font-family="sans-serif" font-size="12">\n'
            f'<rect x="-10" y="-4" width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
