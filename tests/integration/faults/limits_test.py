# SPDX-License-Identifier: Apache-2.0
"""Tests with a daemon that has few resources, and with workers in a control group with few resources."""
import os
import pathlib
import resource
import unittest

from fault_case import FaultCase
from bus_case import Failure
from gi.repository import Gio, GLib

MIB = 1 << 20


class Descriptors(FaultCase):
    """Tests with a limit on descriptors, as with LimitNOFILE=32."""

    MOST = 32

    def test_an_answer_that_is_a_file_is_an_error_where_there_can_be_none(self):
        if os.environ.get("GPUPROBE_SANITIZE"):
            self.skipTest("the undefined-behaviour sanitizer needs free descriptors, because it opens a pipe to check an object's type")
        self.start_healthy()
        _, hard = resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE)
        numbers = sorted(int(fd) for fd in os.listdir(f"/proc/{self.daemon.pid}/fd"))
        free = [number for number in range(self.MOST) if number not in numbers]
        told = []
        # The limits range from no free descriptor, so that the file cannot be opened, to enough descriptors to open and send the file.
        for most in (free[0], free[0] + 1, free[1] + 1, free[2] + 1, free[4] + 1):
            self.limit(most, hard)
            try:
                told.append(len(self.text()) > 0)
            except GLib.Error as error:
                told.append(Gio.DBusError.get_remote_error(error))
        self.assertIs(told[-1], True, told)
        self.assertIs(told[0] is True, False, told)
        self.assertNotIn(None, told, "a call got no answer")
        self.assert_same_daemon()

    def limit(self, soft, hard):
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, (soft, hard))

    def ask_several_times(self):
        for _ in range(3):
            self.ask()
            for probe in self.report()["probes"]:
                if probe["outcome"] != self.healthy[probe["api"]]:
                    self.assertEqual(probe["outcome"], "failed", probe)
                    self.assertRegex(probe["note"], "Too many open files|no more descriptors")

    def test_what_cannot_be_started_is_told_and_asked_again(self):
        self.start_healthy()
        soft, hard = resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE)
        self.limit(len(os.listdir(f"/proc/{self.daemon.pid}/fd")) + 4, hard)
        self.ask_several_times()
        self.assertNotEqual(self.outcomes(), self.healthy)
        self.limit(soft, hard)
        self.ask()
        self.assertEqual(self.outcomes(), self.healthy)
        self.limit(self.MOST, self.MOST)  # permanently, because an unprivileged process cannot raise its limit again
        self.ask_several_times()
        self.assert_nothing_is_left()
        self.assert_same_daemon()


class Memory(FaultCase):
    """Tests with a daemon whose data, including memory from malloc, is limited to 64 MiB."""

    MOST = 64 * MIB
    LONG = 24 * MIB

    def test_large_requests_are_refused_and_cost_nobody_else(self):
        self.need_plain_memory()
        self.start_healthy()
        resource.prlimit(self.daemon.pid, resource.RLIMIT_DATA, (self.MOST, self.MOST))
        text = GLib.Variant("s", "x" * self.LONG)
        for _ in range(8):
            with self.assertRaises(Failure):
                self.manager("SelectBackend", GLib.Variant("(sa{sv})", ("default", {"x": text})))
        self.ask()
        self.assertEqual(self.outcomes(), self.healthy)
        self.assert_nothing_is_left()
        self.assert_same_daemon()


class Bomb(FaultCase):
    """Tests with a driver that starts as many processes as the limit of its control group (TasksMax) allows."""

    OPTIONS = ("--deadline-ms=1500",)
    MOST = 100

    def test_it_ends_with_its_worker(self):
        self.start_healthy()
        group = self.join_group("pids", [("pids.max", self.MOST)])
        for api, fault in (("cuda", "bomb@query"), ("nvml", "bomb-apart@query")):
            with self.subTest(api=api, fault=fault):
                self.assert_row(api, fault, "timed-out", "query", "^timed out after 1500 ms in phase query")
                self.assertEqual((group / "cgroup.procs").read_text(encoding="ascii"), "")


class OutOfMemory(FaultCase):
    MOST = 96 * MIB

    def test_it_costs_its_own_answer_only(self):
        self.start_healthy()
        self.join_group("memory", [("memory.limit_in_bytes", self.MOST), ("memory.max", self.MOST),
                                   ("memory.swap.max", 0)])
        self.assert_row("cuda", "eat-memory@instance", "crashed", "instance", "^SIGKILL in phase instance")


if __name__ == "__main__":
    unittest.main()
