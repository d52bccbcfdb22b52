# SPDX-License-Identifier: Apache-2.0
"""Tests that docs/pictures/terminal.svg shows the current output of gpuprobectl on a terminal with 112 columns for the machine of README's tour, and
that the pictures in docs/getting-started.md show the output that tests/system/quickstart recorded in tests/data/first_contact.

GPUPROBE_ACCEPT=1 draws the pictures again."""
import os
import pathlib
import re
import sys
import textwrap
import unittest
from xml.sax.saxutils import escape

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/integration/cli"))
from cli_case import run_in_terminal  # noqa: E402

MACHINE = SOURCE / "tests/data/machines/nvidia-h200-1"
COLUMNS, WIDTH, HEIGHT = 112, 8.4, 19
# The numbers of lines at the beginning and at the end of each part of a recording that the picture shows.
SHOWN = 7, 2
# The colors of a dark terminal, by their numbers in "select graphic rendition" (ECMA-48, 8.3.117).
COLOURS = {"31": "#ff8f85", "32": "#7fd88f", "33": "#f0c674", "36": "#8abeb7"}


def spans(line):
    """Yields the pieces (style, text) of a line with escape sequences."""
    style = ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b"):
            if part:
                yield style, part
            continue
        numbers = part[2:-1].split(";")
        style = " ".join(filter(None, (
            next((f'fill="{COLOURS[number]}"' for number in numbers if number in COLOURS), ""),
            'font-weight="bold"' if "1" in numbers else "", 'opacity="0.65"' if "2" in numbers else "")))


def typed(command):
    return f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m"


def drawn(lines):
    """Returns an SVG picture of a terminal that shows the given lines."""
    size = f"{COLUMNS * WIDTH + 40:.0f} {len(lines) * HEIGHT + 30}"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="monospace" font-size="14" fill="#e6e6e6">',
             '<rect width="100%" height="100%" rx="8" fill="#17191d"/>']
    for number, line in enumerate(lines):
        column = 0
        for style, text in spans(line):
            # Place each word at its column, because the widths of fonts differ.
            for word in re.finditer(r"\S+(?: \S+)*", text):
                place = f'x="{20 + (column + word.start()) * WIDTH:.1f}" y="{32 + number * HEIGHT}"'
                parts.append(f'<text {place} textLength="{len(word[0]) * WIDTH:.1f}" {style}>{escape(word[0])}</text>')
            column += len(text)
    return "\n".join(parts) + "\n</svg>\n"


def recorded(file):
    """Yields (time since the start, line) for the lines of a recording. Leaves out the middle of a long output."""
    parts = []
    for line in file.read_text(encoding="utf-8").splitlines():
        seconds, text = line.split("\t", 1)
        if not parts or text.startswith(("$ ", "==> ")):
            parts.append([])
        parts[-1].append((f"{int(float(seconds)) // 60}:{int(float(seconds)) % 60:02}", text))
    for part in parts:
        yield from part if len(part) <= SHOWN[0] + SHOWN[1] + 1 else (*part[:SHOWN[0]], ("", "…"), *part[-SHOWN[1]:])


def with_times(file):
    """Yields the lines of the terminal. Wraps a long line once, and shows the time before a line if the time has changed."""
    before = ""
    for time, text in recorded(file):
        for piece in textwrap.wrap(text, COLUMNS - 8, subsequent_indent="    ", max_lines=2, placeholder=" …", drop_whitespace=False) or [""]:
            shown = time if piece.strip() and time != before else ""
            yield f"\x1b[2m{shown:>6}\x1b[0m  " + (typed(piece[2:]) if piece.startswith("$ ") else piece)
            before = shown or before


class Terminal(unittest.TestCase):
    def check(self, picture, name):
        file = SOURCE / "docs/pictures" / name
        if os.environ.get("GPUPROBE_ACCEPT"):
            file.write_text(picture, encoding="utf-8")
        self.assertEqual(picture, file.read_text(encoding="utf-8"), "GPUPROBE_ACCEPT=1 draws the picture again")

    def test_first_contacts_are_what_was_recorded(self):
        recordings = sorted((SOURCE / "tests/data/first_contact").glob("*.txt"))
        self.assertTrue(recordings)
        for file in recordings:
            self.check(drawn(list(with_times(file))), f"{file.stem}.svg")

    def test_is_what_the_picture_shows(self):
        lines = []
        for words in ([], ["select", "llama.cpp", "--explain"], ["recommend", "torch"]):
            code, output = run_in_terminal(COLUMNS, "--replay", str(MACHINE), *words)
            self.assertEqual(code, 0, output)
            lines += [typed(" ".join(["gpuprobectl", *words])), *output.rstrip().split("\n"), ""]
        self.check(drawn(lines), "terminal.svg")


if __name__ == "__main__":
    unittest.main()
