#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the files that are installed for systemd and D-Bus."""
import configparser
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from bus_case import BIN, DEADLINE, NAME

UNITS = BIN.parent / "systemd"
UNIT = UNITS / "gpuprobed.service"
WORKER = UNITS / "gpuprobe-worker@.service"
SOCKET = UNITS / "gpuprobe-worker.socket"
VARLINK = UNITS / "gpuprobed-varlink.socket"
EXPORT = [UNITS / f"gpuprobe-export@.{kind}" for kind in ("service", "path", "timer")]
# The highest exposure that systemd-analyze may report, in tenths, as for --threshold. The exposure cannot be 0, because the daemon needs netlink, the
# host's network and /dev, and a worker needs devices and memory that is both writable and executable.
EXPOSURE = {UNIT.name: 10, WORKER.name: 15, EXPORT[0].name: 15}


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
class Unit(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuprobe-unit-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for unit in (UNIT, WORKER, SOCKET, VARLINK, *EXPORT):
            # systemd-analyze cannot find files that are not installed, such as the programs in ExecStart.
            lines = ["ExecStart=/bin/true" if line.startswith("ExecStart=") else line
                     for line in unit.read_text().splitlines()]
            (self.folder / unit.name).write_text("\n".join(lines) + "\n")

    def analyze(self, unit, *arguments):
        return subprocess.run(["systemd-analyze", *arguments, str(self.folder / unit)], capture_output=True,
                              text=True, timeout=DEADLINE, check=False)

    def test_systemd_finds_nothing_wrong(self):
        for unit in (UNIT, WORKER, SOCKET, VARLINK, *EXPORT):
            found = self.analyze(unit.name, "verify", "--man=no")
            self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "", ""), unit.name)

    def test_exposure_stays_low(self):
        for unit, limit in EXPOSURE.items():
            found = self.analyze(unit, "security", "--offline=true", f"--threshold={limit}")
            self.assertEqual(found.returncode, 0, found.stdout)


class Sandboxes(unittest.TestCase):
    """Tests that the units of systemd permit everything that drivers need, and forbid everything that the daemon does not need."""

    @staticmethod
    def settings(unit):
        return [line for line in unit.read_text().splitlines() if line and not line.startswith("#")]

    def test_drivers_run_with_the_worker_only(self):
        daemon, worker = self.settings(UNIT), self.settings(WORKER)
        self.assertIn("MemoryDenyWriteExecute=yes", daemon)
        self.assertIn("MemoryDenyWriteExecute=no", worker)
        self.assertFalse([line for line in daemon if line.startswith("DeviceAllow=")])
        self.assertTrue([line for line in worker if line.startswith("DeviceAllow=char-drm")])
        self.assertTrue([line for line in daemon if line.startswith("ExecStart=") and "--launcher=socket" in line])
        # Without this setting, a forbidden system call would kill the driver's process.
        for unit in (daemon, worker):
            self.assertIn("SystemCallErrorNumber=EPERM", unit)

    def test_only_the_daemon_reaches_the_worker(self):
        user = next(line for line in self.settings(UNIT) if line.startswith("User=")).removeprefix("User=")
        worker = next(line for line in self.settings(WORKER) if line.startswith("User=")).removeprefix("User=")
        self.assertNotEqual(user, worker)
        socket = self.settings(SOCKET)
        self.assertIn(f"SocketUser={user}", socket)
        self.assertIn("SocketMode=0600", socket)
        self.assertTrue(any(f"--socket --peer {user}" in line for line in self.settings(WORKER)))
        self.assertTrue(any(f"--worker-user={worker}" in line for line in self.settings(UNIT)))
        users = (UNITS / "gpuprobe.conf").read_text()
        for line in (f"u {worker} ", f"m {worker} render", f"m {worker} video"):
            self.assertIn(f"\n{line}", users)


class Names(unittest.TestCase):
    """Tests that all files use the same names for the service, the unit and the user."""

    def test_activation_leads_to_the_unit(self):
        activation = configparser.ConfigParser()
        activation.read(BIN.parent / "dbus" / f"{NAME}.service")
        section = activation["D-BUS Service"]
        self.assertEqual(section["Name"], NAME)
        self.assertEqual(section["Exec"], "/bin/false")
        unit = UNIT.read_text()
        self.assertIn(f"\nAlias={section['SystemdService']}\n", unit)
        self.assertIn(f"\nBusName={NAME}\n", unit)
        self.assertIn(f"\nUser={section['User']}\n", unit)
        self.assertIn(f"u {section['User']} ", (BIN.parent / "systemd" / "gpuprobe.conf").read_text())

    def test_policy_always_names_the_destination(self):
        policy = ElementTree.parse(BIN.parent / "dbus" / f"{NAME}.conf").getroot()
        rules = policy.findall(".//allow")
        self.assertTrue(rules)
        for rule in rules:
            self.assertIn(NAME, (rule.get("own"), rule.get("send_destination")))
