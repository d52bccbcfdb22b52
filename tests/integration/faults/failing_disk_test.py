# SPDX-License-Identifier: Apache-2.0
"""Tests with a disk that fails at one system call of the daemon, or at this call and all later calls.

The first call fails in the first round, the second call in the second round, and so on, until a request finishes before a call fails.
After each round, the disk must contain either the old state or the requested state, but not a mixture of both.
"""
import contextlib
import errno
import json
import mmap
import os
import pathlib
import shutil
import struct
import subprocess

from fault_case import MANAGER, ROOT, FaultCase
from bus_case import Failure
from gi.repository import GLib

HALF = -1  # the call does not fail, but writes only half of the data
ONCE, FROM_THEN_ON = 0, 1
FAILURES = [(errno.EIO, ONCE), (errno.EIO, FROM_THEN_ON), (errno.ENOSPC, ONCE), (errno.ENOSPC, FROM_THEN_ON),
            (errno.EROFS, FROM_THEN_ON), (HALF, FROM_THEN_ON)]
MOST = 200  # one request makes fewer disk calls than this


class Orders:
    """Controls failing_disk.c, which makes system calls fail."""

    def __init__(self, path):
        pathlib.Path(path).write_bytes(bytes(40))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 40)

        self.questions, self.failures = 0, 0  # requests with a failing disk, and failed disk calls of the daemon

    def give(self, fails_at=0, failure=(0, ONCE)):
        struct.pack_into("5q", self.memory, 0, 0, fails_at, failure[1], failure[0], 0)

    def failed(self):
        return struct.unpack_from("5q", self.memory)[4]


def each_call(orders, failure):
    """Yields the number of the system call that fails, until a round ends before this call."""
    for number in range(1, MOST):
        orders.give(number, failure)
        yield number
        orders.questions += 1
        orders.failures += orders.failed()
        if not orders.failed():
            return
    raise AssertionError(f"a request makes more than {MOST} disk calls")


class FailingDiskCase(FaultCase):
    def setUp(self):
        if os.environ.get("GPUPROBE_SANITIZE"):
            self.skipTest("a sanitizer's library must be loaded first")
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        super().setUp()
        self.disk = self.home / "disk"
        self.disk.mkdir()
        self.library = self.home / "failing_disk.so"
        source = pathlib.Path(__file__).with_name("failing_disk.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", self.library, source, "-ldl"], check=True)
        self.orders = Orders(self.home / "orders")

    def environment(self):
        return {**super().environment(), "LD_PRELOAD": str(self.library), "DISK_FOLDER": str(self.disk),
                "DISK_ORDERS": f"{self.home}/orders"}

    def tearDown(self):
        print(f"{self.orders.questions} questions, {self.orders.failures} calls failed")
        super().tearDown()

    def command(self, *arguments):
        return [word for word in super().command(*arguments) if word != "--no-cache"]

    def start_daemon(self):
        self.start(f"--worker={self.worker}", f"--state-dir={self.disk}/state", f"--cache-dir={self.disk}/cache",
                   f"--report-file={self.disk}/report.json", f"--vulkan-drivers={self.home}/vulkan",
                   f"--opencl-vendors={self.home}/opencl")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") in ("ready", "degraded"), "the first probes")

    def restart(self):
        """Kills the daemon and starts it again, so that it has only the state on the disk."""
        self.orders.give()
        self.end_daemon()
        self.start_daemon()

    def choice(self):
        return self.select({"only": GLib.Variant("as", ["cuda", "vulkan", "cpu"])})["Backend"]

    def notes(self):
        return {note["code"] for note in json.loads(self.manager("Describe"))["notes"]}

    def kept(self):
        """Returns the backend in the only override."""
        return self.manager("ListOverrides").get("torch", {}).get("Rule", {}).get("only", [None])[0]

    def decide(self, backend):
        """Sets the override. Returns whether the daemon reported success."""
        with contextlib.suppress(Failure):
            self.manager("SetOverride", GLib.Variant("(sa{sv})", ("torch", {"only": GLib.Variant("as", [backend])})))
            return True
        return False


class DecisionsOnAFailingDisk(FailingDiskCase):
    def test_decisions_are_the_old_or_the_new(self):
        self.start_daemon()
        usual = self.choice()
        backends = ["cpu", "vulkan"]
        self.decide(backends[0])
        for failure in FAILURES:
            for number in each_call(self.orders, failure):
                with self.subTest(failure=failure, call=number):
                    is_decided = self.decide(backends[1])
                    self.assert_same_daemon()
                    told = self.kept()
                    self.assertEqual(told, backends[is_decided])
                    self.assertEqual(self.choice(), usual)
                    failed = self.orders.failed()
                    self.restart()
                    self.assertIn(self.kept(), backends if not is_decided else backends[1:])
                    self.assertNotIn("state-ignored", self.notes())
                    self.orders.give()
                    self.assertTrue(self.decide(backends[0]), "the disk works again")
                    self.orders.memory[32:40] = struct.pack("q", failed)


class ProbesOnAFailingDisk(FailingDiskCase):
    def test_probes_answer_and_say_what_is_not_kept(self):
        self.start_daemon()
        usual, outcomes = self.choice(), self.outcomes()
        for failure in FAILURES:
            for number in each_call(self.orders, failure):
                with self.subTest(failure=failure, call=number):
                    self.manager("Probe", GLib.Variant("(aoasa{sv})", ([], ["nvml"], {})))
                    self.assert_same_daemon()
                    self.assertEqual((self.choice(), self.outcomes()), (usual, outcomes))
                    if failure == (errno.EIO, FROM_THEN_ON) and number == 1:
                        self.assertIn("state-not-kept", self.notes())
        self.restart()
        self.assertEqual((self.choice(), self.outcomes()), (usual, outcomes))
        self.assertNotIn("state-ignored", self.notes())


class StartsOnAFailingDisk(FailingDiskCase):
    def test_starts_on_a_disk_that_fails(self):
        self.start_daemon()
        usual, outcomes = self.choice(), self.outcomes()
        self.decide("cpu")
        for failure in FAILURES:
            for number in each_call(self.orders, failure):
                with self.subTest(failure=failure, call=number):
                    self.end_daemon()
                    self.start_daemon()
                    self.assertEqual((self.choice(), self.outcomes(), self.kept()), (usual, outcomes, "cpu"))
