#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long a user waits for data. In a normal run, the test only checks that the page records the time at which the data was painted.
tests/integration/cockpit/first-paint sets GPUPROBE_PAINTS to the number of runs, and prints the measured times."""
import json
import os
import pathlib
import statistics
import unittest

from page_case import DIRECT, IN_SHELL, PageCase

RUNS = int(os.environ.get("GPUPROBE_PAINTS", 1))
BARE = {
    "manifest.json": json.dumps({"menu": {"index": {"label": "Bare"}}}),
    "index.html": '''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Bare</title>
        <script src="../base1/cockpit.js"></script><script src="bare.js"></script></head><body><p id="bare"></p></body></html>''',
    "bare.js": """cockpit.transport.wait(async () => {
        const daemon = cockpit.dbus("org.gpuprobe.GpuProbe1", { bus: "system" });
        await daemon.call("/org/gpuprobe/GpuProbe1", "org.freedesktop.DBus.Peer", "Ping", []);
        document.getElementById("bare").textContent = "there";
        window.requestAnimationFrame(() => window.setTimeout(() => performance.mark("bare"), 0));
    });""",
}


class FirstPaint(PageCase):
    MACHINE = "nvidia-h200-4"

    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.folder) / "data/cockpit/bare"
        folder.mkdir(parents=True)
        for name, content in BARE.items():
            (folder / name).write_text(content, encoding="utf-8")

    def began(self):
        return self.ask("run", script="performance.timeOrigin")

    def marked(self, name):
        """Returns the time of the performance mark with a given name. Fails unless exactly one mark has this name."""
        marks = self.ask("run", script=f"performance.getEntriesByName('{name}').map(one => performance.timeOrigin + one.startTime)")
        self.assertEqual(len(marks), 1)
        return marks[0]

    def wait_for_data(self):
        self.see("#headline", "4 GPUs")
        self.ask("until", script="performance.getEntriesByName('gpuprobe-data').length > 0")
        return self.marked("gpuprobe-data")

    def alone(self):
        self.open(DIRECT)
        data = self.wait_for_data()
        return data - self.began()

    def picked(self):
        """Opens the page from Cockpit's menu, as a user does who has logged in and sees another page."""
        self.open("/bare")
        self.ask("enter", url="bare/index.html")
        self.see("#bare", "there")
        self.ask("leave")
        self.see("#host-apps, nav", "GPUs")
        clicked = self.ask("run", script="""(() => { const at = performance.timeOrigin + performance.now();
            document.querySelector("nav a[href*=gpuprobe], #host-apps a[href*=gpuprobe]").click(); return at })()""")
        self.ask("enter", url="gpuprobe/index.html")
        return self.wait_for_data() - clicked

    def in_shell(self):
        self.open(IN_SHELL)
        began = self.began()
        self.ask("enter", url="gpuprobe/index.html")
        return self.wait_for_data() - began

    def bare(self):
        self.open("/bare")
        began = self.began()
        self.ask("enter", url="bare/index.html")
        self.ask("until", script="performance.getEntriesByName('bare').length > 0")
        return self.marked("bare") - began

    def test_is_marked_wherever_the_page_is_shown(self):
        ways = {"the page by its address": self.alone, "the page picked in Cockpit's menu": self.picked,
                "Cockpit and the page by its address": self.in_shell, "Cockpit and a page of one word, which asks one thing": self.bare}
        waits = {way: [] for way in ways}
        for _ in range(RUNS):
            for way, wait in ways.items():
                waits[way].append(wait())
        for way, times in waits.items():
            self.assertGreater(min(times), 0)
            print(f"{way}: {statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f}, {len(times)} runs)")


if __name__ == "__main__":
    unittest.main()
