#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests with twenty ordinary users who send as many calls as possible on a bus: the daemon still answers another user, and its memory stays bounded.

A bus rejects a uid without an account, so only the tests of the socket use uids without an account.
"""
import os
import pathlib
import pwd
import sys
import time
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
DAEMON = pathlib.Path(os.environ["GPUPROBE_BIN"]) / "gpuprobed"
sys.path.insert(0, str(SOURCE / "tests/torture"))

from patient import Patient  # noqa: E402
from peer import BUS, MANAGER, NAME, ROOT, Refused  # noqa: E402

MACHINE = SOURCE / "tests/data/machines/nvidia-h200-1"
MIB = 1 << 20
NOBODY = 65534
ORDINARY = sorted(entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid not in (0, NOBODY))[:20]
TOO_MANY = NAME + ".Error.TooManyRequests"
OUTCOME = {"application": ("s", "ollama"), "backend": ("s", "cuda"), "outcome": ("s", "failed")}


@unittest.skipUnless(DAEMON.exists(), "gpuprobed is not built")
@unittest.skipIf(os.geteuid() != 0, "only root can connect as other users")
class ManyUsers(unittest.TestCase):
    def setUp(self):
        self.patient = Patient(str(DAEMON), "--replay", str(MACHINE))
        self.addCleanup(self.patient.end)
        os.chmod(self.patient.folder, 0o755)

    def connect(self, uid):
        os.seteuid(uid)
        try:
            peer = self.patient.connect()
        finally:
            os.seteuid(0)
        self.addCleanup(peer.close)
        return peer

    def outcome(self, peer):
        """Reports an outcome, and returns None or the name of the error."""
        return peer.reply_to(peer.ask(NAME, ROOT, MANAGER, "ReportOutcome", "a{sv}", [OUTCOME])).error

    def assert_small(self):
        print(f"{self.id().rpartition('.')[2]}: {self.patient.resident() >> 10} KiB resident")
        if not self.patient.is_instrumented:
            self.assertLess(self.patient.resident(), 64 * MIB)

    def test_of_users_that_spend_their_budgets(self):
        for uid in ORDINARY:
            peer = self.connect(uid)
            errors = [self.outcome(peer) for _ in range(31)]
            self.assertEqual(errors, [None] * 30 + [TOO_MANY], uid)
            more = self.connect(uid)
            self.assertEqual(self.outcome(more), TOO_MANY, "all connections of a user share one budget")
        other = self.connect(NOBODY)
        self.assertEqual([self.outcome(other) for _ in range(30)], [None] * 30)

    def test_of_users_with_large_calls_that_wait(self):
        other = self.connect(NOBODY)
        other.manager("SelectBackend", "sa{sv}", ["default", {}])
        manifest = '{"schema":"gpuprobe.variants/1","x":"' + "x" * MIB
        for uid in ORDINARY:
            for _ in range(2):
                peer = self.connect(uid)
                for _ in range(4):
                    peer.ask(NAME, ROOT, MANAGER, "RecommendVariant", "ssa{sv}", ["x", manifest, {}])
        waited, most = [], 0
        for _ in range(50):
            start = time.monotonic()
            other.manager("SelectBackend", "sa{sv}", ["default", {}])
            waited.append(time.monotonic() - start)
            most = max(most, self.patient.resident())
        print(f"another user waits {max(waited) * 1000:.1f} ms at most; {most >> 10} KiB resident at most")
        if not self.patient.is_instrumented:
            self.assertLess(most, 64 * MIB)
        self.assertEqual(self.outcome(other), None)

    def test_of_users_that_wait_for_memory(self):
        """Tests that a call of another user is still accepted if each of twenty users makes more GetMemory calls at once than are allowed."""
        other = self.connect(NOBODY)
        gpu = other.manager("ListGpus", "a{sv}", [{}])[0][0]
        for uid in ORDINARY:
            peer = self.connect(uid)
            for _ in range(100):
                peer.ask(NAME, gpu, NAME + ".Gpu", "GetMemory", "a{sv}", [{}])
        answer = other.reply_to(other.ask(NAME, gpu, NAME + ".Gpu", "GetMemory", "a{sv}", [{}]))
        self.assertIsNone(answer.error)
        self.assert_small()

    def test_of_log_control(self):
        """Tests that only administrators may change the log level, on every bus."""
        path, interface = "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1"

        def set_level(peer, level):
            peer.call(NAME, path, BUS + ".Properties", "Set", "ssv", [interface, "LogLevel", ("s", level)])

        def set_target(peer, target):
            peer.call(NAME, path, BUS + ".Properties", "Set", "ssv", [interface, "LogTarget", ("s", target)])
        other = self.connect(NOBODY)
        for change in (lambda: set_level(other, "debug"), lambda: set_target(other, "null")):
            with self.assertRaises(Refused) as refused:
                change()
            self.assertIn("NotAuthorized", str(refused.exception))
        root = self.connect(0)
        before = other.call(NAME, path, BUS + ".Properties", "Get", "ss", [interface, "LogLevel"])
        self.assertEqual(before, ["info"])
        set_level(root, "debug")
        self.assertEqual(other.call(NAME, path, BUS + ".Properties", "Get", "ss", [interface, "LogLevel"]), ["debug"])


if __name__ == "__main__":
    unittest.main()
