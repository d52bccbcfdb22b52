# SPDX-License-Identifier: Apache-2.0
"""Tests Probe with the stages verify and measure, and with a fake worker whose answers each test sets."""
import pathlib

import told_worker as told
from bus_case import GPU, MANAGER, ROOT, BusCase
from gi.repository import GLib

PATH = ROOT + "/gpu/pci_0000_c1_00_0"
ERROR = "org.gpuprobe.GpuProbe1.Error."
FAST = {"cuda query": {"devices": [told.CARD]}, "cuda verify": told.verified(), "cuda measure": told.measured(4e12, 60e12),
        "cpu verify": told.verified(), "cpu measure": told.measured(20e9, 900e9)}


class Trials(BusCase):
    def serve(self, answers, *arguments):
        folder = pathlib.Path(self.folder)
        worker = told.install(folder, answers)
        self.start(f"--worker={worker}", f"--state-dir={folder}/state", *arguments)
        self.settle()

    def settle(self):
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") in ("ready", "degraded"), "no probe runs")

    def probe(self, gpus=(), apis=(), **options):
        kinds = {bool: "b", str: "s"}
        given = {key.replace("_", "-"): GLib.Variant(kinds[type(value)], value) for key, value in options.items()}
        return self.manager("Probe", GLib.Variant("(aoasa{sv})", (list(gpus), list(apis), given)))

    def cuda(self):
        return self.property(PATH, GPU, "Backends")["cuda"]

    def test_nothing_runs_by_itself(self):
        self.serve(FAST)
        self.assertFalse(self.cuda()["Verified"])
        self.assertNotIn("Verification", self.cuda())

    def test_verify_and_measure_are_answered_and_shown(self):
        self.serve(FAST)
        answer = self.probe(stage="verify")
        found = {(each["Api"], each.get("Device"), each["Stage"], each["Outcome"]) for each in answer["Probes"]}
        self.assertEqual(found, {("cuda", f"pci:{told.PLACE}", "verify", "answered"), ("cpu", "index:0", "verify", "answered")})
        self.assertTrue(self.cuda()["Verified"])
        self.assertEqual(self.cuda()["Verification"]["Result"], "verified")
        self.probe([PATH], stage="measure")
        self.assertEqual(self.cuda()["Measurement"]["MemoryRead"], 4_000_000_000_000)
        self.assertGreater(self.cuda()["Score"], 0)

    def test_its_caller_and_nobody_else_gets_the_progress(self):
        self.serve(FAST)
        other = self.bus.connect()
        received, of_others = self.signals(MANAGER, "Progress"), self.signals(MANAGER, "Progress", other)
        self.probe(stage="verify")
        self.wait_until(lambda: len(received) == 2, "the progress of two targets")
        self.assertEqual(received, [(ROOT, ("Probe", 0.5)), (ROOT, ("Probe", 1.0))])
        self.ping(other)  # all messages that the daemon has already sent arrive before this reply
        while GLib.MainContext.default().iteration(False):
            pass
        self.assertEqual(of_others, [])

    def test_a_probe_that_is_refused_has_no_progress(self):
        self.serve(FAST)
        received = self.signals(MANAGER, "Progress")
        self.assert_refused(ERROR + "InvalidRequest", lambda: self.probe(stage="burn"))
        self.ping()
        while GLib.MainContext.default().iteration(False):
            pass
        self.assertEqual(received, [])

    def test_what_computes_wrong_is_not_usable(self):
        self.serve({**FAST, "cuda verify": told.verified(wrong=9)})
        self.probe(stage="verify")
        self.assertFalse(self.cuda()["Usable"])
        self.assertEqual(self.cuda()["Reasons"][0]["Code"], "miscomputed")
        self.assertEqual(self.select()["Backend"], "cpu")

    def test_what_crashes_in_a_dispatch_is_held_back_for_that_alone(self):
        self.serve({**FAST, "cuda verify": {"deed": "crash"}})
        self.probe(stage="verify")
        self.assertEqual(self.cuda()["Verification"]["Result"], "crashed")
        self.assertTrue(self.cuda()["Usable"])
        held = self.manager("ListQuarantine")
        self.assertEqual([(each["Api"], each["Stage"], each["Device"]) for each in held],
                         [("cuda", "verify", f"pci:{told.PLACE}")])
        self.probe(stage="verify")
        self.assertEqual(self.cuda()["Verification"]["Reasons"][0]["Code"], "quarantined")
        self.probe([PATH], stage="measure")
        self.assertEqual(self.cuda()["Measurement"]["Outcome"], "answered")

    def test_a_choice_can_want_it(self):
        self.serve(FAST)
        request = {"require-verified": GLib.Variant("b", True)}
        self.assertEqual(self.select(request)["Backend"], "cpu")
        self.probe(stage="verify")
        self.assertEqual(self.select(request)["Backend"], "cuda")

    def test_what_is_no_stage_is_refused(self):
        self.serve(FAST)
        for option, value, problem in (("stage", "burn", "burn"), ("stage", True, "stage: expected string, found boolean"),
                                       ("force", "yes", "force: expected boolean, found string")):
            message = self.assert_refused(ERROR + "InvalidRequest", lambda given={option: value}: self.probe(**given))
            self.assertIn(problem, message)

    def test_the_daemon_verifies_by_itself_when_told_to(self):
        self.serve(FAST, "--verify")
        self.wait_until(lambda: self.cuda()["Verified"], "it was verified")
        self.assertNotIn("Measurement", self.cuda())
