#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests attacks by a driver in a booted machine, in which systemd starts the workers from the units of the package.

Must run as root in a disposable machine, as tests/system/run.py does. The attacking driver and the canary were compiled beforehand (ESCAPE_BUILT);
ESCAPE_FOLDER is the folder that describes the victims. The drivers of all other APIs are software drivers.
"""
import os
import pathlib
import pwd
import subprocess
import sys
import time
import unittest

FOLDER = pathlib.Path(os.environ["ESCAPE_FOLDER"])
os.environ.setdefault("GPUPROBE_BIN", "/usr/bin")
os.environ.setdefault("GPUPROBE_SOURCE", "/nonexistent")

import escape_test  # noqa: E402
from escape_test import MARK, OnBus, others  # noqa: E402
from gi.repository import Gio  # noqa: E402
from victims import processes_of, read, remove, standing, started  # noqa: E402

WORKER = "gpuprobe-worker@.service"
DAEMON = "gpuprobed.service"
SOCKET = "/run/gpuprobe/org.gpuprobe"
JOURNAL = "/run/systemd/journal/socket"


def systemctl(*words):
    return subprocess.run(["systemctl", *words], check=True, capture_output=True, text=True).stdout.strip()


def property_of(unit, name):
    return systemctl("show", "--value", "-p", name, unit)


class Unit:
    """Wraps the daemon's unit in an object with the members of subprocess.Popen that the tests use."""

    def __init__(self):
        self.pid = int(property_of(DAEMON, "MainPID"))
        self.since = started(self.pid)
        self.returncode = "restarted"

    def poll(self):
        return None if started(self.pid) == self.since else self.returncode


class Socket(OnBus):
    """The installed gpuprobed."""

    USER = pwd.getpwnam("gpuprobe-worker").pw_uid
    ASKED = ("cuda", "opencl", "vulkan")

    def test_each_costs_its_own_answer_only(self):
        self.run_all()

    def new_folder(self):
        FOLDER.mkdir(parents=True)
        return FOLDER

    def begin(self):
        self.world.kept += [pathlib.Path("/var/lib/gpuprobe"), pathlib.Path("/var/cache/gpuprobe")]
        self.connection = Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
        command = next(line for line in systemctl("cat", WORKER).splitlines() if line.startswith("ExecStart="))
        self.drop_in(WORKER, f"{command} --setenv {escape_test.PLACE}={FOLDER} --setenv LD_LIBRARY_PATH={FOLDER}/current")
        command = next(line for line in systemctl("cat", DAEMON).splitlines() if line.startswith("ExecStart="))
        self.drop_in(DAEMON, f"{command} --deadline-ms=4000")
        systemctl("daemon-reload")
        self.start()

    def drop_in(self, unit, command):
        folder = pathlib.Path(f"/etc/systemd/system/{unit}.d")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "escape.conf").write_text(f"[Service]\nExecStart=\n{command}\n", encoding="utf-8")
        self.addCleanup(remove, folder / "escape.conf")

    def start(self):
        self.world.choose("none")
        systemctl("reset-failed", DAEMON)
        systemctl("restart", DAEMON)
        self.daemon = Unit()
        self.ask("none")  # drivers compile their shaders during the first probe
        self.calm = others(self.ask("none"))
        if sum(outcome == "answered" for outcome, *_rest in self.calm.values()) < 2:
            self.fail(f"nobody else answers: {self.calm}")
        self.standing = standing(self.daemon.pid)
        self.watch.end()

    def renew(self):
        super().renew()
        self.start()

    def peers(self, pid):
        return processes_of(self.USER, but=[self.world.canary.pid])

    def places(self):
        return {"state": "/var/lib/gpuprobe", "cache": "/var/cache/gpuprobe", "notify": "/run/systemd/notify",
                "bus": "unix:path=/run/dbus/system_bus_socket", "varlink": SOCKET, "journal": JOURNAL}

    def owners(self):
        return (1, self.daemon.pid)  # systemd creates the socket and passes it to the daemon

    def drain_notices(self):
        status = property_of(DAEMON, "StatusText")
        return [status.encode()] if "forged" in status else []

    def changes_of_daemon(self):
        return super().changes_of_daemon() + self.units_left() + self.forged_entries()

    def units_left(self):
        late = time.monotonic() + 3
        while (units := systemctl("list-units", "--plain", "--no-legend", "gpuprobe-worker@*")) and time.monotonic() < late:
            time.sleep(0.05)
        return [f"left: {line.split()[0]} {line.split()[3]}" for line in units.splitlines()]

    def forged_entries(self):
        found = subprocess.run(["journalctl", "-q", "-o", "cat", f"SYSLOG_IDENTIFIER={MARK}journal", "+", "_COMM=logger"],
                               check=True, capture_output=True, text=True).stdout
        return ["journal: was forged"] if found else []


if __name__ == "__main__":
    print(f"kernel {read('/proc/sys/kernel/osrelease')}, {systemctl('--version').splitlines()[0]}", flush=True)
    unittest.main(argv=[sys.argv[0], "Socket"])
