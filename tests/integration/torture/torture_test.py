#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a short torture test of each kind, and tests that the torture tests notice faults and that a run can be repeated."""
import collections
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from torture_case import BIN, SOURCE, TortureCase  # noqa: E402

import calls  # noqa: E402
import figures  # noqa: E402
import fuzz  # noqa: E402
import values  # noqa: E402
import wire  # noqa: E402
import workers  # noqa: E402
from patient import Patient  # noqa: E402


class ShortTortures(TortureCase):
    def test_hostile_workers(self):
        shown = self.survives("--runs=150")
        self.assertGreaterEqual(shown["count"], 150)
        for outcome in ("answered", "failed", "crashed"):
            self.assertGreater(shown["outcomes"].get(outcome, 0), 0, shown)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_attacks_of_a_driver(self):
        if os.environ.get("GPUPROBE_SANITIZE"):
            self.skipTest("a sanitizer makes system calls that this test expects to be refused")
        shown = self.survives("--attacks=5")
        self.assertEqual(shown["count"], 5)
        self.assertIn("(nothing)", shown["by_attack"])
        self.assertTrue(shown["by_attack"]["(nothing)"]["socket"], shown)

    def test_hostile_calls(self):
        shown = self.survives("--calls=2000")
        for outcome in ("right", "refused", "abandoned", "torn", "never read"):
            self.assertGreater(shown["outcomes"].get(outcome, 0), 0, shown)

    def test_calls_with_made_up_values(self):
        shown = self.survives("--fuzz=1500")
        for outcome in ("accepted", "refused", "damaged", "connections ended"):
            self.assertGreater(shown["outcomes"].get(outcome, 0), 0, shown)


class Judgement(unittest.TestCase):
    def judged(self, script, outcome, kills=0):
        found = figures.Figures("runs")
        killer = collections.namedtuple("Killer", "kills")(kills)
        workers.Round(found, killer).judge_scripts({("cuda", ""): {"Outcome": outcome}}, {("cuda", ""): script})
        return found

    def test_an_answer_that_nobody_gave_is_wrong(self):
        self.assertFalse(self.judged("silent", "answered").is_good)
        self.assertFalse(self.judged("crash", "absent").is_good)
        self.assertFalse(self.judged("good", "crashed").is_good)

    def test_what_is_true_is_not(self):
        self.assertTrue(self.judged("crash", "crashed").is_good)
        self.assertTrue(self.judged("hang", "timed-out").is_good)
        self.assertTrue(self.judged("good", "crashed", kills=1).is_good)

    def test_growth_is_bad(self):
        found = figures.Figures("runs")
        found.compare_memory(0, figures.MEMORY_SLACK + 1)
        self.assertFalse(found.is_good)

    def test_an_answer_that_has_changed_is_noticed(self):
        self.assertEqual(calls.steady([{"Generation": 1, "Gpus": ["a"]}]), calls.steady([{"Generation": 2, "Gpus": ["a"]}]))
        self.assertNotEqual(calls.steady([{"Gpus": ["a"]}]), calls.steady([{"Gpus": []}]))


@unittest.skipUnless((BIN / "gpuprobed").exists(), "gpuprobed is not built")
class Deaths(unittest.TestCase):
    def test_the_end_of_the_daemon_is_noticed(self):
        options = collections.namedtuple("Options", "daemon replay seed calls fuzz folder progress")
        for kind in (calls, fuzz):
            with self.subTest(kind.__name__), tempfile.TemporaryDirectory() as folder:
                patients = []

                def made(*words, patients=patients, **more):
                    patients.append(Patient(*words, **more))
                    return patients[-1]

                def killed(*_progress, patients=patients):
                    patients[0].process.kill()
                    patients[0].process.wait()

                chosen = options(str(BIN / "gpuprobed"), SOURCE / "tests/data/machines/nvidia-h200-1", 1, 10**9, 10**9,
                                 folder, killed)
                with unittest.mock.patch.object(kind, "Patient", made):
                    self.assertEqual(kind.run(chosen).deaths, 1)


class Repeatable(unittest.TestCase):
    def test_one_seed_makes_one_message(self):
        import random

        def messages():
            made = values.Values(random.Random(7), is_valid=False)
            for kind in ("a{sv}", "aoasa{sv}", "v", "ssa{sv}") * 20:
                try:
                    yield wire.body_of(kind, [made.of(one) for one in wire.types_of(kind)])
                except wire.struct.error:
                    yield None

        self.assertEqual(list(messages()), list(messages()))

    def test_what_is_written_can_be_read(self):
        value = [{"a": ("a{sv}", {"b": ("ax", [-1, 2**62])}), "c": ("(sb)", ("x", 1))}, "/p", 1.5]
        data = wire.call(3, "a.b", "/p", "c.d", "E", "a{sv}od", value)
        message = wire.Message(data)
        self.assertEqual((wire.whole_size(data), message.fields[wire.MEMBER]), (len(data), "E"))
        self.assertEqual(message.values(), [{"a": {"b": [-1, 2**62]}, "c": ("x", True)}, "/p", 1.5])


if __name__ == "__main__":
    unittest.main()
