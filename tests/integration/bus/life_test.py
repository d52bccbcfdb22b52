#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests how the daemon starts and ends, how it gets its name on the bus, and how it reacts if the bus is lost."""
import fcntl
import os
import socket
import subprocess
import threading

from bus_case import (
    DAEMON, DEADLINE, GPU, LOG_CONTROL, MANAGER, NAME, ROOT, SYSTEM_POLICY, BIN, BusCase,
)
from gi.repository import Gio, GLib

# Exit statuses from sysexits.h.
USAGE, NO_INPUT, UNAVAILABLE, NO_PERMISSION = 64, 66, 69, 77
ADDRESS = "0000:03:00.0"


class Start(BusCase):
    def run_daemon(self, *arguments):
        return subprocess.run(self.command(*arguments), env=self.environment(), capture_output=True, text=True,
                              timeout=DEADLINE, check=False)

    def test_says_who_has_the_name(self):
        owner = self.bus.connect()
        owner.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                        GLib.Variant("(su)", (NAME, 4)), None, Gio.DBusCallFlags.NONE, -1, None)
        ended = self.run_daemon("--replay", str(self.capture().folder))
        self.assertEqual(ended.returncode, UNAVAILABLE, ended.stderr)
        self.assertIn(NAME, ended.stderr)

    def test_says_that_there_is_no_bus(self):
        self.bus.address = "unix:path=/nonexistent/bus"
        ended = self.run_daemon("--replay", str(self.capture().folder))
        self.assertEqual(ended.returncode, UNAVAILABLE, ended.stderr)
        self.assertIn("/nonexistent/bus", ended.stderr)

    def test_says_what_is_wrong_with_a_capture(self):
        empty = f"{self.folder}/empty"
        os.mkdir(empty)
        ended = self.run_daemon("--replay", empty)
        self.assertEqual(ended.returncode, NO_INPUT, ended.stderr)
        self.assertIn("capture.json", ended.stderr)

    def test_says_that_another_daemon_keeps_the_folder(self):
        machine, state = self.capture(), f"{self.folder}/state"
        self.start_on(machine, f"--state-dir={state}")
        address = self.bus.address
        for self.bus.address in (address, "unix:path=/nonexistent/bus", address):
            ended = self.run_daemon("--replay", str(machine.folder), f"--state-dir={state}")
            self.assertEqual(ended.returncode, UNAVAILABLE, ended.stderr)
            self.assertIn(f"{state}: another gpuprobed uses this folder; stop it, or choose another folder with "
                          "--state-dir", ended.stderr)
        self.assert_same_daemon()
        self.daemon.kill()
        self.daemon.wait(DEADLINE)
        self.daemon.stderr.close()
        self.start_on(machine, f"--state-dir={state}")  # works although the first daemon was killed
        self.assert_same_daemon()

    def test_waits_for_what_a_killed_one_had_to_be_free(self):
        state, path = f"{self.folder}/state", f"{self.folder}/socket"
        os.mkdir(state, 0o700)
        lock = open(f"{state}/daemon.lock", "w", encoding="ascii")
        fcntl.flock(lock, fcntl.LOCK_EX)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        owner = self.bus.connect()
        owner.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                        GLib.Variant("(su)", (NAME, 4)), None, Gio.DBusCallFlags.NONE, -1, None)
        for held, let_go in enumerate((lock.close, listener.close, lambda: owner.close_sync(None)), start=1):
            threading.Timer(0.3 * held, let_go).start()
        self.start_on(self.capture(), f"--state-dir={state}", f"--socket={path}")
        self.assert_same_daemon()

    def test_says_that_the_worker_is_missing(self):
        ended = self.run_daemon("--worker=/nonexistent/worker")
        self.assertEqual(ended.returncode, NO_INPUT, ended.stderr)
        self.assertIn("/nonexistent/worker", ended.stderr)

    def test_knows_its_options(self):
        for arguments, code in ((["--version"], 0), (["--help"], 0), (["--nonsense"], USAGE),
                                (["--log-level=loud"], USAGE), (["--settle-ms=-1"], USAGE)):
            with self.subTest(arguments):
                ended = subprocess.run([DAEMON, *arguments], capture_output=True, timeout=DEADLINE, check=False)
                self.assertEqual(ended.returncode, code)


class DeniedName(BusCase):
    POLICY = SYSTEM_POLICY

    def test_says_that_the_policy_forbids_it(self):
        machine = self.capture()
        ended = subprocess.run(self.command("--replay", str(machine.folder)), env=self.environment(),
                               capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(ended.returncode, NO_PERMISSION, ended.stderr)
        self.assertIn(NAME, ended.stderr)
        self.assertIn("policy", ended.stderr)


class InstalledPolicy(BusCase):
    """Tests of the installed bus policy together with the rules of a system bus."""

    POLICY = SYSTEM_POLICY
    INCLUDES = (BIN.parent / "dbus" / f"{NAME}.conf",)

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("the policy lets only root and the daemon's user own the name")
        os.chmod(self.folder, 0o755)
        os.chmod(self.bus.path, 0o777)

    def environment(self):
        return {**super().environment(), "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address}

    def command(self, *arguments):
        return [str(DAEMON), "--bus=system", "--no-cache", *arguments]

    def as_nobody(self, *call):
        return subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "busctl",
             f"--address={self.bus.address}", *call],
            capture_output=True, text=True, timeout=DEADLINE, check=False)

    def test_lets_everyone_ask_and_nobody_change(self):
        machine = self.capture()
        machine.add_gpu(ADDRESS)
        self.start_on(machine)
        asked = self.as_nobody("call", NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", "default", "0")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        path = "/org/freedesktop/LogControl1"
        read = self.as_nobody("get-property", NAME, path, LOG_CONTROL, "LogLevel")
        self.assertEqual(read.stdout, 's "info"\n', read.stderr)
        written = self.as_nobody("set-property", NAME, path, LOG_CONTROL, "LogLevel", "s", "debug")
        self.assertNotEqual(written.returncode, 0)
        self.assertEqual(self.property(path, LOG_CONTROL, "LogLevel"), "info")
        other = self.as_nobody("call", NAME, ROOT, "com.example.Other", "Anything")
        self.assertNotEqual(other.returncode, 0)
        self.assert_same_daemon()


class BusLoss(BusCase):
    def test_the_daemon_comes_back_with_what_it_knew(self):
        machine = self.capture()
        machine.add_gpu(ADDRESS)
        self.start_on(machine)
        before = self.manager("Describe")
        pid = self.daemon.pid
        for _ in range(3):
            self.connection.set_exit_on_close(False)
            self.bus.stop()
            self.bus.start()
            self.connection = self.bus.connect()
            self.wait_until(self.is_back, "the name on the new bus")
            self.assertEqual(self.manager("Describe"), before)
            self.assertEqual(len(self.gpus()), 1)
            self.assertTrue(self.property(self.gpus()[0], GPU, "Id"))
        self.assertEqual(self.daemon.pid, pid)
        self.assert_same_daemon()

    def is_back(self):
        owner = self.connection.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
            GLib.Variant("(s)", (NAME,)), None, Gio.DBusCallFlags.NONE, -1, None)
        return owner.unpack()[0]

    def test_the_daemon_can_be_ended_while_there_is_no_bus(self):
        machine = self.capture()
        self.start_on(machine)
        self.connection.set_exit_on_close(False)
        self.bus.stop()
        self.bus.process.stdout = open(os.devnull, "rb")  # a file for the clean-up to close
        code, seconds = self.terminate()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 3)


class End(BusCase):
    def test_a_signal_is_a_clean_end(self):
        self.start_on(self.capture())
        code, seconds = self.terminate()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 2)
        self.notify.wait_for("STOPPING=1", self.daemon)

    def test_idle_means_idle(self):
        """Reads the kernel's counters of context switches to test that the daemon does not wake up without an event."""
        self.start_on(self.capture())
        self.property(ROOT, MANAGER, "State")

        def sleeps():
            with open(f"/proc/{self.daemon.pid}/stat", encoding="ascii") as file:
                return file.read().rpartition(")")[2].split()[0] == "S"

        def switches():
            with open(f"/proc/{self.daemon.pid}/status", encoding="ascii") as file:
                return [line for line in file if "ctxt_switches" in line]

        def pass_time(milliseconds):
            late = []
            GLib.timeout_add(milliseconds, lambda: late.append(True) or False)
            self.wait_until(lambda: late, "time to pass")

        self.wait_until(sleeps, "the daemon to have nothing to do")
        pass_time(3500)  # three seconds after the last call, the daemon returns memory once
        before = switches()
        pass_time(700)
        self.assertEqual(switches(), before)
