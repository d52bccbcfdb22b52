# SPDX-License-Identifier: Apache-2.0
"""Shared code for the tests of the stages verify and measure: starts a stage, and tests each API with faulty fake drivers."""
import os
import signal
import unittest

from worker_process import run_worker

FIGURES = ("memory_read", "memory_copy", "host_to_device", "device_to_host", "fp32", "fp16", "int8", "launch_usec")


def stage(name, api, *options, device="index:0", **more):
    return run_worker(api, "--stage", name, "--device", device, *options, timeout=90, **more)


class ComputeCase(unittest.TestCase):
    def verified(self, answer):
        self.assertEqual(answer.done["outcome"], "answered", answer.done)
        self.assertEqual(len(answer.devices), 1)
        self.assertEqual(answer.devices[0]["check"],
                         {"result": "verified", "words": 65536, "wrong_words": 0, "first_wrong": None, "note": None})

    def need_speed(self, answer):
        is_slow = any(reason["code"] == "too-slow" for reason in answer.done["reasons"] or [])
        if is_slow and os.environ.get("GPUPROBE_SANITIZE") == "thread":
            self.skipTest("the CPU, which replaces a GPU in this test, is too slow with this sanitizer")

    def measured(self, answer, without=()):
        self.need_speed(answer)
        self.assertEqual(answer.done["outcome"], "answered", answer.done)
        figures = answer.devices[0]["measured"]
        for key in FIGURES:
            with self.subTest(figure=key):
                if key in without:
                    self.assertIsNone(figures[key])
                    self.assertIsNone(figures["spread"][key])
                else:
                    self.assertGreater(figures[key], 0)
                    self.assertGreaterEqual(figures["spread"][key], 0)
        self.assertGreater(figures["duration_usec"], 0)

    def refused(self, answer, code):
        """Checks that the worker refused the stage with a given code and exited normally. Returns the device in the worker's answer."""
        self.assertEqual(answer.status, 0)
        self.assertEqual(answer.done["outcome"], "failed")
        self.assertEqual([reason["code"] for reason in answer.done["reasons"]], [code])
        self.assertTrue(answer.done["note"])
        self.assertEqual(len(answer.devices), 1)
        return answer.devices[0]


class Faults:
    """Tests with faulty fake drivers. A subclass for each API defines `ask`, which starts a worker with one fault."""
    memory_note = None
    stages = ("verify", "measure")
    has_compiler = True  # the driver's compiler is a separate library, which may be missing

    def test_wrong_numbers_are_an_answer(self):
        answer = self.ask("verify", "WrongNumbers")
        self.assertEqual(answer.done["outcome"], "answered")
        check = answer.devices[0]["check"]
        self.assertEqual((check["result"], check["words"], check["first_wrong"]), ("miscomputed", 65536, 0))
        # The faulty driver computes x + 1 instead of x * 3 + 1. The two results are equal only if x is 0 or 2^31.
        self.assertGreater(check["wrong_words"], 65500)
        self.assertIn("words are wrong", check["note"])

    def test_a_kernel_that_never_ends(self):
        answer = self.ask("verify", "NeverEnds")
        self.assertEqual(self.refused(answer, "dispatch-timed-out")["check"]["result"], "failed")
        self.assertEqual(answer.done["reasons"][0]["detail"], {"limit_usec": 2000000})

    def test_no_memory(self):
        for name in self.stages:
            answer = self.ask(name, "NoMemory")
            self.refused(answer, "out-of-memory")
            self.assertEqual(answer.done["note"], self.memory_note)

    def test_a_gpu_that_is_lost_half_way(self):
        for name in self.stages:
            self.refused(self.ask(name, "LostHalfway"), "device-lost")

    def test_a_compiler_that_refuses_and_one_that_is_not_there(self):
        self.refused(self.ask("verify", "BuildFails"), "build-failed")
        if self.has_compiler:
            self.refused(self.ask("verify", "NoCompiler"), "compiler-missing")

    def test_a_crash_in_a_kernel(self):
        answer = self.ask("verify", "Crash")
        self.assertEqual(answer.status, -signal.SIGSEGV)
        self.assertEqual(answer.phases[-1], "dispatch")
        self.assertIsNone(answer.done)


class FaultsOfRates(Faults):
    """Also tests faulty drivers in the stage measure."""

    def test_what_gives_wrong_numbers_has_no_rate(self):
        self.verified(self.ask("verify", "WrongRates"))
        answer = self.ask("measure", "WrongRates")
        self.need_speed(answer)
        device = self.refused(answer, "miscomputed")
        self.assertIsNone(device["measured"])
        self.assertEqual(device["check"]["result"], "verified")

    def test_what_computes_wrong_is_not_measured(self):
        answer = self.ask("measure", "WrongNumbers")
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertIn("wrong results", answer.done["note"])
        (device,) = answer.devices
        self.assertEqual((device["check"]["result"], device["measured"]), ("miscomputed", None))
        self.assertNotIn("memory", answer.phases)
