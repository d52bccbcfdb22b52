#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The files that we install for systemd and the bus."""
import configparser
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from bus_case import BIN, DEADLINE, NAME

UNIT = BIN.parent / "systemd" / "gpuprobed.service"
# systemd-analyze 252 says 1.2: the workers' devices, writable and executable memory, netlink and the host's
# network are what is left. Tenths, as --threshold takes them.
EXPOSURE = 12


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
class Unit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="gpuprobe-unit-")
        self.addCleanup(shutil.rmtree, folder)
        self.unit = pathlib.Path(folder) / UNIT.name
        text = UNIT.read_text()
        # What is not installed yet can't be found.
        lines = ["ExecStart=/bin/true" if line.startswith("ExecStart=") else line for line in text.splitlines()]
        self.unit.write_text("\n".join(lines) + "\n")

    def analyze(self, *arguments):
        return subprocess.run(["systemd-analyze", *arguments, str(self.unit)], capture_output=True,
                              text=True, timeout=DEADLINE, check=False)

    def test_systemd_finds_nothing_wrong(self):
        found = self.analyze("verify")
        self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "", ""))

    def test_exposure_stays_low(self):
        found = self.analyze("security", "--offline=true", f"--threshold={EXPOSURE}")
        self.assertEqual(found.returncode, 0, found.stdout)


class Names(unittest.TestCase):
    """One name in four files."""

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
