# SPDX-License-Identifier: Apache-2.0
"""Tests that the lengths of the bars in the plot of bench/run are proportional to the figures."""
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree as ElementTree

BENCH = pathlib.Path(os.environ["GPUPROBE_SOURCE"]) / "bench"
sys.path.insert(0, str(BENCH))
import plot  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def row(**members):
    return types.SimpleNamespace(**{"what": "a <figure>", "unit": "s", "references": [], "limit": None, **members})


class Plot(unittest.TestCase):
    def bars(self, *rows):
        drawn = ElementTree.fromstring(plot.svg(rows, "title", "machine"))
        return [float(bar.get("width")) for bar in drawn.iter(SVG + "rect") if bar.get("width") != "100%"]

    def test_a_bar_is_as_long_as_its_share(self):
        ours, other = self.bars(row(value=1.0, references=[("other", 2.0)]))
        self.assertAlmostEqual(ours * 2, other)
        self.assertEqual(other, plot.WIDTH)

    def test_says_what_it_shows_and_where(self):
        drawn = ElementTree.fromstring(plot.svg([row(value=1.0)], "the <title>", "a machine, 2026-11-23"))
        self.assertEqual([each.text for each in drawn.iter(SVG + "text")][:2], ["the <title>", "a machine, 2026-11-23"])

    def test_every_row_has_its_own_scale(self):
        self.assertEqual(self.bars(row(value=1.0), row(value=1000.0)), [plot.WIDTH, plot.WIDTH])

    def test_a_limit_is_part_of_the_scale(self):
        self.assertEqual(self.bars(row(value=2.0, unit="MiB", limit=8)), [plot.WIDTH / 4])

    def test_times_are_told_in_the_unit_that_fits(self):
        for value, text in ((2.5, "2.5 s"), (0.0025, "2.5 ms"), (2.5e-6, "2.5 µs"), (2.5e-9, "0.0025 µs")):
            self.assertEqual(plot.amount(value, "s"), text)


class Growth(unittest.TestCase):
    def lines(self, *series):
        chart = types.SimpleNamespace(what="a <figure>", unit="s", of="GPUs", counts=(1, 2, 4, 16), series=series)
        drawn = ElementTree.fromstring(plot.svg([chart], "title", "machine", plot.chart))
        self.texts = [each.text for each in drawn.iter(SVG + "text")]
        return [[tuple(map(float, point.split(","))) for point in line.get("points").split()] for line in drawn.iter(SVG + "polyline")]

    def test_doubling_is_a_step_of_one_length(self):
        ((first, second, third, last),) = self.lines(("start", [1, 1, 1, 1], "black"))
        self.assertAlmostEqual(second[0] - first[0], third[0] - second[0])
        self.assertAlmostEqual(last[0] - third[0], 2 * (second[0] - first[0]), delta=0.2)

    def test_lines_have_one_scale_that_begins_at_0(self):
        ours, other = self.lines(("Select", [0, 1, 2, 4], "black"), ("Ping", [1, 1, 1, 1], "grey"))
        self.assertAlmostEqual(ours[0][1] - ours[-1][1], plot.CHART, delta=0.2)
        self.assertEqual(ours[1][1], other[1][1])
        self.assertAlmostEqual(ours[0][1] - other[0][1], plot.CHART / 4, delta=0.2)
        self.assertIn("Ping 1 s", self.texts)


class Run(unittest.TestCase):
    def test_says_how_to_make_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([BENCH / "run", "--bin", folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("cmake --preset release -DGPUPROBE_BENCH=ON", done.stderr)


if __name__ == "__main__":
    unittest.main()
