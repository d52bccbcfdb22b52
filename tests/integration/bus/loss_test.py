#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests in which the bus is stopped during a call, or another process requests the daemon's name."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
DAEMON = pathlib.Path(os.environ["GPUPROBE_BIN"]) / "gpuprobed"
sys.path.insert(0, str(SOURCE / "tests/torture"))

from patient import Patient  # noqa: E402
from peer import BUS, MANAGER, NAME, ROOT, Gone, Refused  # noqa: E402

BUS_PATH = "/org/freedesktop/DBus"
ALLOW_REPLACEMENT, REPLACE, DO_NOT_QUEUE, ALREADY_OWNED = 1, 2, 4, 3
# The fake worker records that it was started, and waits for the file "go" before it answers.
WORKER = """#!/bin/sh
echo started >> {folder}/started
while [ ! -e {folder}/go ]; do sleep 0.05; done
exit 3
"""
BACK_WITHIN = 5  # seconds within which the daemon must be on the new bus
# Starts the daemon without a machine id, as in containers and at the first boot of a machine.
WITHOUT_ID = """#!/bin/sh
exec unshare --mount sh -c 'mount --bind {folder}/empty /etc/machine-id && exec {daemon} "$@"' sh "$@"
"""


@unittest.skipUnless(DAEMON.exists(), "gpuprobed is not built")
class Loss(unittest.TestCase):
    def patient(self, *arguments):
        patient = Patient(str(DAEMON), *arguments)
        self.addCleanup(patient.end)
        return patient

    def restart_bus(self, patient):
        patient.bus.stop()
        patient.bus.start()
        return patient.wait_for_name()

    def wait_until(self, done, what):
        late = time.monotonic() + 20
        while not done():
            self.assertLess(time.monotonic(), late, what)
            time.sleep(0.02)

    def made_worker(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        path = pathlib.Path(temporary.name)
        (path / "worker").write_text(WORKER.format(folder=path), encoding="ascii")
        (path / "worker").chmod(0o755)
        return path

    def test_in_the_middle_of_a_call_it_comes_back_with_the_same_generation(self):
        patient = self.patient("--replay", str(SOURCE / "tests/data/machines/nvidia-h200-1"))
        self.restart_bus(patient)
        first = patient.connect()
        first.manager("SelectBackend", "sa{sv}", ["default", {}])  # sdbus-c++ opens two descriptors for its first variant, and keeps them
        first.close()
        pid, before = patient.pid, patient.descriptors()
        for _ in range(4):
            peer = patient.connect()
            generation, report = peer.property("Generation"), peer.manager("ListGpus", "a{sv}", [{}])
            for _ in range(50):
                peer.ask(NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", ["default", {}])
            self.assertLess(self.restart_bus(patient), BACK_WITHIN)
            peer.close()
            again = patient.connect()
            self.assertEqual((again.property("Generation"), again.manager("ListGpus", "a{sv}", [{}])),
                             (generation, report))
            again.close()
        self.assertEqual((patient.pid, patient.is_alive()), (pid, True))
        self.assertLessEqual(patient.descriptors(), before)

    def test_what_waits_for_drivers_is_dropped_with_the_bus(self):
        folder = self.made_worker()
        patient = self.patient("--worker", str(folder / "worker"))
        self.wait_until((folder / "started").exists, "the first workers")
        for _ in range(3):
            peer = patient.connect()
            for _ in range(8):
                peer.ask(NAME, ROOT, MANAGER, "Diagnose", "", [])
                peer.ask(NAME, ROOT, MANAGER, "Plan", "a{sv}s", [{"need-mib": ("t", 100)}, ""])
            self.assertEqual(peer.property("State"), "probing")
            self.assertLess(self.restart_bus(patient), BACK_WITHIN)
            peer.close()
        (folder / "go").touch()
        again = patient.connect()
        self.wait_until(lambda: again.property("State") != "probing", "the end of the probes")
        time.sleep(2.5)  # longer than a call waits for drivers
        self.assertIn("findings", again.manager("Diagnose")[0])
        again.close()
        self.assertTrue(patient.is_alive())

    def test_probes_that_run_go_on(self):
        folder = self.made_worker()
        patient = self.patient("--worker", str(folder / "worker"))
        started = folder / "started"
        self.wait_until(started.exists, "the first workers")
        peer = patient.connect()
        peer.ask(NAME, ROOT, MANAGER, "Probe", "aoasa{sv}", [[], [], {}])
        self.assertEqual(peer.property("State"), "probing")
        running = set(patient.children())
        self.assertTrue(running)
        self.assertLess(self.restart_bus(patient), BACK_WITHIN)
        self.assertTrue(running & set(patient.children()), "the workers ended with the bus")
        (folder / "go").touch()
        with self.assertRaises(Gone):
            while True:
                peer.receive()
        peer.close()
        again = patient.connect()
        self.wait_until(lambda: again.property("State") != "probing", "the end of the probes")
        self.wait_until(lambda: not patient.children(), "the end of the workers")
        again.close()

    def test_who_asks_for_the_id_of_a_machine_without_one_gets_an_error_and_nothing_else_ends(self):
        folder = self.made_worker()
        (folder / "empty").touch()
        program = folder / "gpuprobed"
        program.write_text(WITHOUT_ID.format(folder=folder, daemon=DAEMON), encoding="utf-8")
        program.chmod(0o755)
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
            self.skipTest("mount namespaces cannot be created here")
        patient = Patient(str(program), "--replay", str(SOURCE / "tests/data/machines/nvidia-h200-1"))
        self.addCleanup(patient.end)
        peer = patient.connect()
        self.addCleanup(peer.close)
        owner = peer.call(BUS, BUS_PATH, BUS, "GetNameOwner", "s", [NAME])
        for _ in range(50):
            with self.assertRaisesRegex(Refused, "FileNotFound"):
                peer.call(NAME, ROOT, "org.freedesktop.DBus.Peer", "GetMachineId")
            peer.ping()
        self.assertEqual(peer.call(BUS, BUS_PATH, BUS, "GetNameOwner", "s", [NAME]), owner)

    def test_the_name_is_not_given_up_for_somebody_else(self):
        patient = self.patient("--replay", str(SOURCE / "tests/data/machines/nvidia-h200-1"))
        peer = patient.connect()
        self.addCleanup(peer.close)
        owner = peer.call(BUS, BUS_PATH, BUS, "GetNameOwner", "s", [NAME])
        for flags in (REPLACE | DO_NOT_QUEUE, ALLOW_REPLACEMENT | REPLACE | DO_NOT_QUEUE):
            answer = peer.call(BUS, BUS_PATH, BUS, "RequestName", "su", [NAME, flags])
            self.assertEqual(answer, [ALREADY_OWNED])
        self.assertEqual(peer.call(BUS, BUS_PATH, BUS, "GetNameOwner", "s", [NAME]), owner)
        peer.ping()


if __name__ == "__main__":
    unittest.main()
