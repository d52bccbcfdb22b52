#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page says what gpuprobectl says of the same recorded machine, in the same words."""
import json
import subprocess
import unittest

from page_case import BIN, MACHINES, PageCase


def ctl(machine, *words):
    """What gpuprobectl prints of a recorded machine, with what goes to standard error."""
    done = subprocess.run([BIN / "gpuprobectl", f"--replay={MACHINES / machine}", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.stdout


class Figures(PageCase):
    MACHINE = "nvidia-h200-4"

    def words(self, function, numbers):
        return self.ask("run", script=f"import('./words.js').then(words => {json.dumps(numbers)}.map(one => words.{function}))")

    def test_sizes_are_cut_alike(self):
        self.show()
        for machine in ("soc-strix-halo", "nvidia-h200-4", "lact-amd-phoenix", "lact-amd-rx6900xt", "identity-rocm-gentoo-1650"):
            for gpu in json.loads(ctl(machine, "describe", "-j"))["gpus"]:
                told = [gpu["memory"][kind] for kind in ("physical", "allocatable", "free") if gpu["memory"][kind] is not None]
                shown = ctl(machine, "show", gpu["id"])
                self.assertTrue(told, gpu["id"])
                for words in self.words("size(one)", told):
                    self.assertRegex(shown, rf"(physical|allocatable|free) +{words}\b", machine)

    def test_borders_of_sizes_and_rates(self):
        self.show()
        gib = 1 << 30
        sizes = {0: "0 B", 1023: "1023 B", 1024: "1 KiB", gib - 1: "1023 MiB", 8 * gib: "8.0 GiB", 8 * gib - 1: "7.9 GiB",
                 1024 * gib - 1: "1023.9 GiB", 2048 * gib: "2.0 TiB"}
        self.assertEqual(self.words("size(one)", list(sizes)), list(sizes.values()))
        rates = {0: "0.00 x", 9.994: "9.99 x", 9.996: "10.0 x", 99.96: "100 x", 999.4: "999 x", 999.6: "1.00 kx", 12_345_678: "12.3 Mx"}
        self.assertEqual(self.words("rate(one, 'x')", list(rates)), list(rates.values()))

    def test_rates_are_rounded_alike(self):
        self.show()
        shown = ctl(self.MACHINE, "bench")
        rates = [gpu["backends"]["cuda"]["measurement"][kind] for gpu in json.loads(ctl(self.MACHINE, "describe", "-j"))["gpus"]
                 for kind in ("memory_read", "memory_copy", "host_to_device", "device_to_host", "fp32", "fp16", "int8")]
        for words in self.words("rate(one, '')", rates):
            self.assertIn(f" {words} ", shown)


if __name__ == "__main__":
    unittest.main()
