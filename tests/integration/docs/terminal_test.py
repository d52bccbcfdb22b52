# SPDX-License-Identifier: Apache-2.0
"""docs/terminal.svg is what a terminal of 112 columns shows of the capture that README's tour is about.

GPUPROBE_ACCEPT=1 draws it anew."""
import os
import pathlib
import re
import sys
import unittest
from xml.sax.saxutils import escape

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/integration/cli"))
from cli_case import run_in_terminal  # noqa: E402

PICTURE = SOURCE / "docs/terminal.svg"
MACHINE = SOURCE / "tests/data/machines/nvidia-h200-1"
COLUMNS, WIDTH, HEIGHT = 112, 8.4, 19
# By the number of "select graphic rendition" (ECMA-48, 8.3.117): of a dark terminal.
COLOURS = {"31": "#ff8f85", "32": "#7fd88f", "33": "#f0c674", "36": "#8abeb7"}


def spans(line):
    """(style, text) of a line with escape sequences."""
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


def drawn(prompts):
    """SVG of commands and their output."""
    lines = [line for command, output in prompts for line in (f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m", *output.rstrip().split("\n"), "")]
    size = f"{COLUMNS * WIDTH + 40:.0f} {len(lines) * HEIGHT + 30}"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="monospace" font-size="14" fill="#e6e6e6">',
             '<rect width="100%" height="100%" rx="8" fill="#17191d"/>']
    for number, line in enumerate(lines):
        column = 0
        for style, text in spans(line):
            # Each word at its column: fonts differ.
            for word in re.finditer(r"\S+(?: \S+)*", text):
                place = f'x="{20 + (column + word.start()) * WIDTH:.1f}" y="{32 + number * HEIGHT}"'
                parts.append(f'<text {place} textLength="{len(word[0]) * WIDTH:.1f}" {style}>{escape(word[0])}</text>')
            column += len(text)
    return "\n".join(parts) + "\n</svg>\n"


class Terminal(unittest.TestCase):
    def test_is_what_the_picture_shows(self):
        prompts = []
        for words in ([], ["select", "llama.cpp", "--explain"], ["recommend", "torch"]):
            code, output = run_in_terminal(COLUMNS, "--replay", str(MACHINE), *words)
            self.assertEqual(code, 0, output)
            prompts.append((" ".join(["gpuprobectl", *words]), output))
        picture = drawn(prompts)
        if os.environ.get("GPUPROBE_ACCEPT"):
            PICTURE.write_text(picture, encoding="utf-8")
        self.assertEqual(picture, PICTURE.read_text(encoding="utf-8"), "GPUPROBE_ACCEPT=1 draws it anew")


if __name__ == "__main__":
    unittest.main()
