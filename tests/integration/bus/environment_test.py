# SPDX-License-Identifier: Apache-2.0
"""Tests of environment variables in D-Bus replies, both for the chosen backend and for each candidate, and of GPUs that the caller's variables
hide."""
import unittest

from bus_case import SOURCE, BusCase
from gi.repository import GLib

FIRST, SECOND = ("GPU-00000000-0000-4000-8000-00000000000" + last for last in "12")


class Environments(BusCase):
    def setUp(self):
        super().setUp()
        self.start("--replay", str(SOURCE / "tests/data/machines/nvidia-h200-2"))

    @staticmethod
    def names(*ids):
        return GLib.Variant("as", ["pci:0000:00:" + each for each in ids])

    def test_what_is_not_chosen_is_hidden(self):
        answer = self.select({"backend": GLib.Variant("s", "none")}, "node-llama-cpp")
        self.assertEqual(answer["Environment"], {"CUDA_VISIBLE_DEVICES": "", "GGML_VK_VISIBLE_DEVICES": ""})

    def test_each_accepted_candidate_has_its_own(self):
        cuda, cpu = (each for each in self.explain({"built": GLib.Variant("as", ["cuda", "cpu"])}, "node-llama-cpp")["Candidates"]
                     if each["Verdict"] == "accepted")
        self.assertEqual([path[-4:] for path in (cuda["Gpu"], *cuda["Also"])], ["06_0", "07_0"])
        self.assertEqual(cuda["Environment"], {"CUDA_VISIBLE_DEVICES": FIRST, "GGML_VK_VISIBLE_DEVICES": ""})
        self.assertEqual(cuda["AlsoEnvironment"], {"CUDA_VISIBLE_DEVICES": [SECOND]})
        self.assertEqual(cpu["Environment"], {"CUDA_VISIBLE_DEVICES": "", "GGML_VK_VISIBLE_DEVICES": ""})
        self.assertNotIn("AlsoEnvironment", cpu)

    def test_order_is_kept(self):
        for ids, wanted in ((("07.0", "06.0"), f"{SECOND},{FIRST}"), (("06.0", "07.0"), f"{FIRST},{SECOND}")):
            answer = self.select({"gpus": self.names(*ids)}, "llama.cpp")
            self.assertEqual(answer["Environment"]["CUDA_VISIBLE_DEVICES"], wanted)

    def test_what_the_caller_hides_is_a_reason(self):
        request = {"environment": GLib.Variant("a{ss}", {"CUDA_VISIBLE_DEVICES": SECOND, "HOME": "/root"})}
        answer = self.explain(request, "llama.cpp")
        first, second = answer["Candidates"][:2]
        self.assertEqual([reason["Code"] for reason in first["Reasons"]], ["hidden-by-environment"])
        self.assertEqual(first["Reasons"][0]["Detail"]["value"], SECOND)
        self.assertEqual(second["Reasons"], [])
        self.assertEqual(answer["Backend"], "cuda")


if __name__ == "__main__":
    unittest.main()
