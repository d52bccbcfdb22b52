#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the daemon with workers that are not children of the daemon."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from bus_case import BIN, DEADLINE, ROOT, MANAGER, BusCase
from gi.repository import GLib
from worker_socket import WorkerSocket

FAKES = pathlib.Path(os.environ.get("GPUPROBE_FAKES", BIN.parent / "fakes"))


def without_times(probe):
    """Removes the times from a probe. If the worker has sent its result, also removes the worker's exit status, because the worker may still be
    running."""
    others = {"duration_usec", "at_usec"} | ({"exit"} if probe["outcome"] in ("answered", "absent") else set())
    return {name: value for name, value in probe.items() if name not in others}


class SocketCase(BusCase):
    def start_with(self, *options, launcher="socket"):
        self.path = f"{self.folder}/worker.sock"
        self.workers = WorkerSocket(self.path, *options)
        self.addCleanup(self.workers.refuse)
        self.start_launching(launcher)

    def start_launching(self, launcher, *arguments):
        self.start(f"--launcher={launcher}", f"--worker-socket={self.folder}/worker.sock", *arguments)

    def report(self):
        return json.loads(self.manager("Describe"))

    def wait_until_ready(self):
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") in ("ready", "degraded"), "every probe has ended")
        return self.report()

    def probe(self):
        """Probes every driver again. Returns the new report."""
        self.manager("Probe", GLib.Variant("(aoasa{sv})", ([], [], {})))
        return self.report()

    @staticmethod
    def outcomes(report):
        return {(probe["api"], probe["driver"]): probe["outcome"] for probe in report["probes"]}

    def children(self):
        return pathlib.Path(f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children").read_text().split()

    def log(self):
        self.terminate()
        return self.daemon.stderr.read()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.daemon.pid}/fd"))


class Answers(SocketCase):
    def test_are_those_of_spawned_workers(self):
        self.start_launching("spawn")
        spawned = self.wait_until_ready()
        self.end_daemon()
        self.start_with()
        served = self.wait_until_ready()
        self.assertEqual(self.workers.served, len(served["probes"]))
        self.assertEqual(self.children(), [])
        self.assertEqual([without_times(probe) for probe in served["probes"]],
                         [without_times(probe) for probe in spawned["probes"]])
        self.assertEqual([(entry["api"], entry["name"]) for entry in served["software"]],
                         [(entry["api"], entry["name"]) for entry in spawned["software"]])
        self.assertEqual(self.workers.end(DEADLINE), [0] * self.workers.served)

    def test_auto_takes_the_socket_that_exists(self):
        self.start_with(launcher="auto")
        self.wait_until_ready()
        self.assertGreater(self.workers.served, 0)

    def test_auto_spawns_without_a_socket(self):
        self.start_launching("auto")
        self.assertIn("answered", self.outcomes(self.wait_until_ready()).values())


class Misfortunes(SocketCase):
    """Tests that each fault of a worker becomes an outcome, and that the daemon keeps no descriptor of the worker and no child process."""

    def assert_unharmed(self, descriptors):
        self.assert_same_daemon()
        self.wait_until(lambda: self.descriptors() <= descriptors, "every descriptor is closed again")
        self.assertEqual(self.children(), [])

    @unittest.skipUnless((FAKES / "nvidia/crash/libcuda.so.1").exists(), "the fake drivers are not built")
    def test_a_driver_that_crashes(self):
        self.start_with("--setenv", f"LD_LIBRARY_PATH={FAKES}/nvidia/crash")
        report = self.wait_until_ready()
        descriptors = self.descriptors()
        cuda = next(probe for probe in report["probes"] if probe["api"] == "cuda")
        self.assertEqual((cuda["outcome"], cuda["signal"]), ("crashed", signal.SIGSEGV), cuda)
        self.assertIn("answered", self.outcomes(report).values())
        self.assert_unharmed(descriptors)
        self.assertEqual(self.workers.end(DEADLINE), [0] * self.workers.served)

    def test_a_socket_that_refuses(self):
        self.start_with()
        self.wait_until_ready()
        descriptors = self.descriptors()
        self.workers.refuse()
        report = self.probe()
        self.assertEqual(set(self.outcomes(report).values()), {"failed"})
        self.assertTrue(all(probe["note"].endswith("Connection refused") for probe in report["probes"]))
        self.assert_unharmed(descriptors)

    def test_a_socket_that_has_vanished(self):
        self.start_with()
        self.wait_until_ready()
        self.workers.vanish()
        report = self.probe()
        self.assertTrue(all(probe["note"].endswith("No such file or directory") for probe in report["probes"]))
        self.assert_same_daemon()

    def test_a_worker_unit_that_can_not_start(self):
        self.start_with("--no-such-option")
        report = self.wait_until_ready()
        self.assertEqual(set(self.outcomes(report).values()), {"failed"})
        self.assertEqual({probe["note"] for probe in report["probes"]}, {"ended without an answer"})
        self.assert_unharmed(self.descriptors())
        self.assertIn("worker.sock: a worker could not be started: ", self.log())

    def test_auto_stands_in_for_each(self):
        self.start_with("--no-such-option", launcher="auto")
        self.assertIn("answered", self.outcomes(self.wait_until_ready()).values())
        self.workers.refuse()
        self.assertEqual(set(self.workers.end(DEADLINE)), {2})
        self.assertIn("answered", self.outcomes(self.probe()).values())
        self.assert_same_daemon()
        log = self.log()
        self.assertEqual(log.count("cannot start a worker through the socket"), 1, log)

    def test_a_daemon_that_ends_takes_its_workers_with_it(self):
        self.start_with()
        self.daemon.kill()
        self.workers.refuse()
        self.workers.end(DEADLINE)


class Booted(unittest.TestCase):
    """Tests with units that systemd runs on the test machine."""

    @unittest.skipUnless(pathlib.Path("/run/systemd/system").is_dir(), "this machine was not booted with systemd")
    @unittest.skipUnless(pathlib.Path("/run/gpuprobe/worker.sock").exists(), "gpuprobe-worker.socket is not active")
    @unittest.skipUnless(shutil.which("gpuprobectl"), "gpuprobectl is not installed")
    def test_the_installed_daemon_answers(self):
        answer = subprocess.run(["gpuprobectl", "--socket=/run/gpuprobe/org.gpuprobe", "describe", "-j"], capture_output=True, text=True,
                                timeout=60, check=True)
        probes = json.loads(answer.stdout)["probes"]
        self.assertTrue(probes)
        self.assertNotIn("worker-not-started", json.dumps(probes))


if __name__ == "__main__":
    unittest.main()
