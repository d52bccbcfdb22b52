#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs short torture tests with kills, clock jumps, suspends, hardware events and many GPUs, and tests that each torture test notices faults."""
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from torture_case import TortureCase  # noqa: E402

import clocks  # noqa: E402
import figures  # noqa: E402
import hardware  # noqa: E402
import kills  # noqa: E402
import many_gpus  # noqa: E402
import sleeps  # noqa: E402

HAS_TEST_BED = shutil.which("umockdev-wrapper") and subprocess.run(
    ["/usr/bin/python3", "-c", "import gi; gi.require_version('UMockdev', '1.0')"], capture_output=True, check=False).returncode == 0


class ShortKills(TortureCase):
    def test_what_was_acknowledged_outlives_a_kill(self):
        shown = self.survives("--kills=12")
        self.assertEqual(shown["kills"], 12)
        self.assertGreater(shown["outcomes"]["acknowledged changes"], 12)


class ShortClock(TortureCase):
    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_wall_clock_that_jumps(self):
        if os.environ.get("GPUPROBE_SANITIZE"):
            self.skipTest("a sanitizer's library must be loaded first")
        shown = self.survives("--clock=16")
        for outcome in ("failures that count", "instants", "probes with deadline", "restarts"):
            self.assertGreater(shown["outcomes"].get(outcome, 0), 0, shown)


class ShortSleeps(TortureCase):
    def test_suspends_and_resumes_with_missing_halves(self):
        shown = self.survives("--sleeps=10")
        self.assertGreater(shown["outcomes"]["probes answered"], 0)
        self.assertGreater(shown["outcomes"]["stops"], 0)


@unittest.skipUnless(HAS_TEST_BED, "umockdev is not installed")
class ShortStorm(TortureCase):
    def test_hardware_events(self):
        shown = self.survives("--storm=800")
        for outcome in ("plugged in", "unplugged", "changes", "malformed", "of other devices", "rounds of probes"):
            self.assertGreater(shown["outcomes"].get(outcome, 0), 0, shown)


@unittest.skipUnless(HAS_TEST_BED, "umockdev is not installed")
class ShortSoak(TortureCase):
    def test_gpus_that_come_and_go_are_signalled_once(self):
        shown = self.survives("--soak=15")
        for outcome in ("plugged in", "signals", "answers", "overrides", "probes"):
            self.assertGreater(shown["outcomes"].get(outcome, 0), 0, shown)


class ManyGpus(TortureCase):
    def test_sixty_four_gpus_under_calls(self):
        shown = self.survives("--gpus=64", "--questions=0", "--calls=300")
        self.assertGreater(shown["outcomes"]["right"], 0)

    def test_every_interface_on_eight_gpus(self):
        shown = self.survives("--gpus=8", "--questions=8")
        self.assertGreater(shown["outcomes"]["right"], 8)
        self.assertGreater(shown["outcomes"]["by D-Bus"], 0)


class Noticed(unittest.TestCase):
    """Tests that the torture tests notice the faults of a daemon: each torture test gets answers that only a faulty daemon would give."""

    def setUp(self):
        self.figures = figures.Figures("faults")

    def compared(self, known, found, unanswered=None, file=None, notes=()):
        """Returns the number of faults that the torture test with kills finds after one round with one client."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("state", "cache"):
                pathlib.Path(folder, name).mkdir()
            if file:
                pathlib.Path(folder, file).touch()
            patient = collections.namedtuple("Patient", "folder")(folder)
            peer = unittest.mock.Mock()
            peer.manager.return_value = [json.dumps({"notes": [{"code": note} for note in notes]})]
            rounds = kills.Rounds(patient, self.figures, 1)
            rounds.known[0] = dict(known)
            client = collections.namedtuple("Client", "unanswered known")(unanswered, rounds.known[0])
            with unittest.mock.patch.object(kills, "kept", lambda *_: dict(found)):
                rounds.compare(peer, [client])
        return len(self.figures.wrong)

    def test_a_lost_change(self):
        self.assertEqual(self.compared({("override", "a"): 5}, {}), 1)

    def test_a_change_that_nobody_asked_for(self):
        self.assertEqual(self.compared({}, {("outcome", "a"): 5}), 1)

    def test_a_file_that_was_set_aside(self):
        self.assertEqual(self.compared({}, {}, file="state/overrides.broken"), 1)
        self.assertEqual(self.compared({}, {}, notes=["state-ignored"]), 2)

    def test_an_unanswered_change_is_right_either_way(self):
        unanswered = ("override", "a"), 6
        self.assertEqual(self.compared({("override", "a"): 5}, {("override", "a"): 6}, unanswered), 0)
        self.assertEqual(self.compared({("override", "a"): 5}, {("override", "a"): 5}, unanswered), 0)
        self.assertEqual(self.compared({("override", "a"): 5}, {("override", "a"): 7}, unanswered), 1)

    def steps(self, counts, age):
        steps = clocks.Steps.__new__(clocks.Steps)
        steps.figures, steps.forgotten, steps.reported = self.figures, set(), {"a": 1000.0}
        steps.clock = unittest.mock.Mock(offset=0)
        steps.clock.now.return_value = 1000.0 + age
        steps.counts = lambda _name: counts
        steps.judge_expiry()
        return len(self.figures.wrong)

    def test_a_failure_that_expires_too_early_or_not_at_all(self):
        self.assertEqual(self.steps(True, clocks.LASTS - 60), 0)
        self.assertEqual(self.steps(False, clocks.LASTS + 60), 0)
        self.assertEqual(self.steps(False, clocks.LASTS - 60), 1)
        self.assertEqual(self.steps(True, clocks.LASTS + 60), 2)

    def test_an_instant_that_the_clock_never_showed(self):
        clock = clocks.WallClock.__new__(clocks.WallClock)
        now = time.time()
        clock.shown = [(0, now - 20, now - 10), (clocks.YEAR, now - 10, None)]
        self.assertTrue(clock.has_shown(now - 15))
        self.assertTrue(clock.has_shown(now + clocks.YEAR))
        self.assertFalse(clock.has_shown(now))
        self.assertFalse(clock.has_shown(2**64 / 1e6 - 1))

    def test_a_worker_that_begins_while_the_machine_is_about_to_sleep(self):
        nights = sleeps.Nights.__new__(sleeps.Nights)
        nights.figures, nights.random, nights.is_asleep = self.figures, random.Random(1), True
        nights.login = nights.patient = nights.peer = nights.machine = unittest.mock.Mock()
        nights.patient.children.return_value = []
        nights.machine.launches.side_effect = [4, 5]
        nights.stop = nights.probe = lambda: None
        nights.asleep()
        self.assertEqual(len(self.figures.wrong), 1)

    def test_a_report_that_is_not_the_final_machine(self):
        machine = hardware.Machine.__new__(hardware.Machine)
        machine.figures, machine.plugged, machine.peer = self.figures, {"0000:10:00.0": ["0x7300", "0x00"]}, unittest.mock.Mock()
        machine.peer.property.return_value = "ready"
        machine.peer.manager.return_value = [["one"]]
        machine.reported = dict
        with unittest.mock.patch.object(hardware, "SETTLED", 0), unittest.mock.patch.object(hardware, "quiet"):
            machine.settle(unittest.mock.Mock(), "in the end")
        self.assertEqual(len(self.figures.wrong), 1)

    def test_a_gpu_that_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            machine = many_gpus.make(folder, 3)
            probe = json.loads((machine / "probes/nvml.json").read_text(encoding="utf-8"))
        self.assertEqual([device["pci"] for device in probe["devices"]], [many_gpus.address_of(place) for place in range(3)])
        self.assertEqual(len({device["uuid"] for device in probe["devices"]}), 3)
        questions = many_gpus.Questions.__new__(many_gpus.Questions)
        questions.figures = self.figures
        questions.equal("ListGpus", ["a"], ["a", "b"])
        self.assertEqual(len(self.figures.wrong), 1)


if __name__ == "__main__":
    unittest.main()
