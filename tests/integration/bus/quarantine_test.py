# SPDX-License-Identifier: Apache-2.0
"""Tests with a driver that crashes repeatedly: the daemon stops probing the driver, even after a restart."""
import os
import pathlib
import subprocess
import time
import unittest

from bus_case import BIN, DEADLINE, MANAGER, NAME, OPEN_POLICY, ROOT, BusCase
from gi.repository import GLib

NOBODY = 65534


class Quarantine(BusCase):
    # By default, a bus accepts only connections of the user that runs the bus.
    POLICY = OPEN_POLICY.replace("<allow own", '<allow user="*"/>\n    <allow own')

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.log = pathlib.Path(self.folder) / "launches"
        self.worker = pathlib.Path(self.folder) / "worker"
        self.cuda_is("kill -SEGV $$")

    def cuda_is(self, script):
        """Makes a worker program that runs `script` instead of probing CUDA, and that logs each start."""
        self.log.write_text("", encoding="utf-8")
        self.worker.write_text(
            f'#!/bin/sh\necho "$1" >> {self.log}\n'
            f'if [ "$1" = cuda ]; then {script}; fi\nexec {BIN}/gpuprobe-worker "$@"\n', encoding="utf-8")
        self.worker.chmod(0o755)

    def launches(self):
        return self.log.read_text(encoding="utf-8").split().count("cuda")

    def serve(self):
        if self.daemon:
            self.end_daemon()
            self.wait_until(lambda: not self.is_named(), "the bus has seen the last one leave")
        self.start(f"--worker={self.worker}", f"--state-dir={self.folder}/state")

    def is_named(self):
        return self.connection.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
            GLib.Variant("(s)", (NAME,)), None, 0, DEADLINE * 1000, None).unpack()[0]

    def settle(self):
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") in ("ready", "degraded"), "no probe runs")

    def clear(self, **filter_):
        return self.manager("ClearQuarantine", GLib.Variant("(a{sv})", (filter_,)))

    def test_it_is_not_asked_a_third_time(self):
        self.serve()
        self.settle()
        self.assertEqual(self.launches(), 2)
        self.serve()
        self.settle()
        self.assertEqual(self.launches(), 2)
        self.assertEqual(self.property(ROOT, MANAGER, "State"), "degraded")
        held, = self.manager("ListQuarantine")
        self.assertEqual((held["Api"], held["Driver"], held["Stage"], held["Why"], held["Times"]),
                         ("cuda", "", "query", "crashed", 2))
        self.assertEqual(held["UntilUsec"] - held["SinceUsec"], 600_000_000)
        self.assertAlmostEqual(held["SinceUsec"] / 1e6, time.time(), delta=60)

    def test_it_is_asked_again_by_command(self):
        self.serve()
        self.settle()
        self.assertEqual(self.clear(api=GLib.Variant("s", "vulkan")), 0)
        self.assertEqual(self.clear(all=GLib.Variant("b", True)), 1)
        self.settle()
        self.assertEqual(self.launches(), 4)
        self.cuda_is("true")
        self.assertEqual(self.clear(api=GLib.Variant("s", "cuda")), 1)
        self.settle()
        self.assertEqual(self.launches(), 1)
        self.assertEqual(self.manager("ListQuarantine"), [])

    def test_whatever_brings_the_daemon_down_twice_is_not_asked(self):
        self.cuda_is("exec sleep 60")
        for count in (1, 2):
            self.serve()
            self.wait_until(lambda wanted=count: self.launches() == wanted, "CUDA is being asked")
            self.daemon.kill()
            self.daemon.wait(DEADLINE)
        self.serve()
        self.settle()
        self.assertEqual(self.launches(), 2)
        self.assertIn(("cuda", "daemon-went-down"),
                      [(held["Api"], held["Why"]) for held in self.manager("ListQuarantine")])

    def test_an_orderly_end_is_nobodys_fault(self):
        self.cuda_is("exec sleep 60")
        for count in (1, 2, 3):
            self.serve()
            self.wait_until(lambda wanted=count: self.launches() == wanted, "CUDA is being asked")
            code, took = self.terminate()
            self.assertEqual(code, 0)
            self.assertLess(took, 1)

    def test_a_filter_is_needed_and_known(self):
        self.serve()
        self.settle()
        for filter_ in ({}, {"evict": GLib.Variant("b", True)}, {"api": GLib.Variant("u", 1)}):
            with self.subTest(filter=filter_):
                self.assert_refused(NAME + ".Error.InvalidRequest", lambda: self.clear(**filter_))
        self.assertEqual(len(self.manager("ListQuarantine")), 1)

    @unittest.skipUnless(os.geteuid() == 0, "only root can make calls as another user")
    def test_not_everybody_may(self):
        self.serve()
        self.settle()
        done = subprocess.run(
            ["busctl", f"--address={self.bus.address}", "call", NAME, ROOT, MANAGER, "ClearQuarantine", "a{sv}", "1",
             "all", "b", "true"],
            capture_output=True, text=True, user=NOBODY, group=NOBODY, extra_groups=[], timeout=30)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("clear-quarantine", done.stdout + done.stderr)
        self.assertEqual(len(self.manager("ListQuarantine")), 1)


if __name__ == "__main__":
    unittest.main()
