# SPDX-License-Identifier: Apache-2.0
"""The plot of bench/run: one bar for each figure, as long as its share."""
import os
import pathlib
import sys
import types
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(os.environ["GPUPROBE_SOURCE"]) / "bench"))
import plot  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def row(**members):
    return types.SimpleNamespace(**{"what": "a <figure>", "unit": "s", "references": [], "limit": None, **members})


class Plot(unittest.TestCase):
    def bars(self, *rows):
        drawn = ElementTree.fromstring(plot.svg(rows, "title"))
        return [float(bar.get("width")) for bar in drawn.iter(SVG + "rect") if bar.get("width") != "100%"]

    def test_a_bar_is_as_long_as_its_share(self):
        ours, other = self.bars(row(value=1.0, references=[("other", 2.0)]))
        self.assertAlmostEqual(ours * 2, other)
        self.assertEqual(other, plot.WIDTH)

    def test_every_row_has_its_own_scale(self):
        self.assertEqual(self.bars(row(value=1.0), row(value=1000.0)), [plot.WIDTH, plot.WIDTH])

    def test_a_limit_is_part_of_the_scale(self):
        self.assertEqual(self.bars(row(value=2.0, unit="MiB", limit=8)), [plot.WIDTH / 4])

    def test_times_are_told_in_the_unit_that_fits(self):
        for value, text in ((2.5, "2.5 s"), (0.0025, "2.5 ms"), (2.5e-6, "2.5 µs"), (2.5e-9, "0.0025 µs")):
            self.assertEqual(plot.amount(value, "s"), text)


if __name__ == "__main__":
    unittest.main()
