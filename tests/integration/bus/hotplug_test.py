#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests with GPUs that appear and disappear in umockdev's test bed."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

WRAPPER = shutil.which("umockdev-wrapper")
if WRAPPER and "umockdev" not in os.environ.get("LD_PRELOAD", ""):
    # The process that creates the test bed must also run with umockdev's library.
    os.execv(WRAPPER, [WRAPPER, *sys.orig_argv])

import told_worker
from bus_case import BIN, DEADLINE, GPU, MANAGER, NAME, PROPERTIES, ROOT, BusCase
from gi.repository import Gio, GLib

try:
    import gi

    gi.require_version("UMockdev", "1.0")
    from gi.repository import UMockdev
except (ImportError, ValueError):
    UMockdev = None

ADDRESS = "0000:03:00.0"
PATH = ROOT + "/gpu/pci_0000_03_00_0"


@unittest.skipUnless(UMockdev and WRAPPER, "umockdev is not installed")
class HotPlugCase(BusCase):
    SETTLE_MS = 50

    def setUp(self):
        super().setUp()
        self.bed = UMockdev.Testbed.new()
        self.start("--worker", str(self.worker()), f"--settle-ms={self.SETTLE_MS}", f"--socket={self.socket}")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the first probes")
        self.added = self.signals("org.freedesktop.DBus.ObjectManager", "InterfacesAdded")
        self.removed = self.signals("org.freedesktop.DBus.ObjectManager", "InterfacesRemoved")
        self.changes = self.signals(PROPERTIES, "PropertiesChanged")

    def worker(self):
        self.launched = pathlib.Path(self.folder) / "launches"
        self.launched.touch()
        worker = pathlib.Path(self.folder) / "worker"
        worker.write_text(f'#!/bin/sh\necho "$1" >> {self.launched}\nexit 1\n', encoding="utf-8")
        worker.chmod(0o755)
        return worker

    def environment(self):
        return {**super().environment(), "UMOCKDEV_DIR": self.bed.get_root_dir()}

    def generations(self):
        return [arguments[1]["Generation"] for path, arguments in self.changes
                if path == ROOT and "Generation" in arguments[1]]

    def plug(self):
        gpu = self.bed.add_device(
            "pci", ADDRESS, None,
            ["vendor", "0x1002", "device", "0x73bf", "class", "0x030000", "revision", "0x00"],
            ["PCI_CLASS", "30000", "PCI_ID", "1002:73BF", "PCI_SLOT_NAME", ADDRESS])
        card = self.bed.add_device("drm", "card0", gpu, ["dev", "226:0"],
                                   ["DEVNAME", "/dev/dri/card0", "DEVTYPE", "drm_minor"])
        return gpu, card

    def unplug(self, *devices):
        for device in devices:
            self.bed.uevent(device, "remove")
            self.bed.remove_device(device)

    def rounds(self):
        """Returns how many times the drivers were probed."""
        return self.launched.read_text(encoding="utf-8").split().count("pci")

    def processor_seconds(self):
        with open(f"/proc/{self.daemon.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class HotPlug(HotPlugCase):
    def test_a_gpu_that_comes_and_goes_is_announced(self):
        self.assertEqual(self.gpus(), [])
        gpu, card = self.plug()
        self.wait_until(lambda: self.gpus() == [PATH], "the GPU")
        self.wait_until(lambda: self.added, "its announcement")
        self.assertEqual([arguments[0] for _, arguments in self.added], [PATH])
        self.assertEqual(self.added[0][1][1][GPU]["PciAddress"], ADDRESS)
        self.assertEqual(self.property(ROOT, MANAGER, "DefaultGpu"), PATH)
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
        present = self.explain()
        self.assertTrue([entry for entry in present["Candidates"] if entry.get("Gpu") == PATH])
        self.assertEqual(self.explain(), present)

        self.unplug(card, gpu)
        self.wait_until(lambda: self.gpus() == [], "no GPU")
        self.wait_until(lambda: self.removed, "its farewell")
        self.assertEqual([arguments[0] for _, arguments in self.removed], [PATH])
        self.assertEqual(self.property(ROOT, MANAGER, "DefaultGpu"), "/")
        before = self.property(ROOT, MANAGER, "Generation")
        gone = self.explain()
        self.assertFalse([entry for entry in gone["Candidates"] if "Gpu" in entry])
        self.assertGreaterEqual(gone["Generation"], before)  # the generation may still grow, because the drivers are being probed
        self.assertLessEqual(gone["Generation"], self.property(ROOT, MANAGER, "Generation"))
        self.assertGreater(gone["Generation"], present["Generation"])
        self.assert_same_daemon()

    def test_generations_only_grow_and_name_the_state_they_are_of(self):
        self.plug()
        self.wait_until(lambda: self.gpus() == [PATH], "the GPU")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
        self.wait_until(lambda: self.generations()
                        and self.generations()[-1] == self.property(ROOT, MANAGER, "Generation"),
                        "the last generation")
        self.assertEqual(self.generations(), sorted(set(self.generations())))


    def test_what_is_told_to_a_collector_is_of_now_however_old_the_report_is(self):
        self.plug()
        self.wait_until(lambda: self.gpus() == [PATH], "the GPU")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
        before = time.time_ns() // 1000 * 1000
        done = subprocess.run([BIN / "gpuprobectl", f"--socket={self.socket}", "export", "otlp"], capture_output=True, text=True,
                              timeout=20, check=True)
        scope, = json.loads(done.stdout)["resourceMetrics"][0]["scopeMetrics"]
        times = [int(point["timeUnixNano"]) for metric in scope["metrics"] for point in metric["sum"]["dataPoints"]]
        self.assertTrue(times)
        self.assertLessEqual(before, min(times))
        self.assertLessEqual(max(times), time.time_ns())


class Removal(HotPlugCase):
    """Tests with a GPU that is removed while its driver is being probed."""

    CARD = {"index": 0, "name": "Fake GPU", "vendor_id": "1002", "device_id": "73bf", "pci": ADDRESS}

    def worker(self):
        self.pipe = f"{self.folder}/go-on"
        os.mkfifo(self.pipe)
        return told_worker.install(pathlib.Path(self.folder), {})

    def tell(self, answers):
        told_worker.tell(pathlib.Path(self.folder), answers)

    def has_reader(self):
        """Returns whether a worker is waiting for the pipe. If a worker is waiting, opens the pipe; the worker answers when the test closes the
        pipe."""
        try:
            self.answering = os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        return True

    def test_what_its_driver_says_of_before_is_dropped(self):
        gpu, card = self.plug()
        self.wait_until(lambda: self.gpus() == [PATH], "the GPU")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
        self.tell({"cuda query": {"devices": [self.CARD], "after": self.pipe}})
        probed = []
        self.connection.call(
            NAME, ROOT, MANAGER, "Probe", GLib.Variant("(aoasa{sv})", ([], ["cuda"], {})), None,
            Gio.DBusCallFlags.NONE, DEADLINE * 1000, None,
            lambda connection, result: probed.append(connection.call_finish(result).unpack()[0]))
        self.wait_until(self.has_reader, "a worker that is about to answer")
        self.unplug(card, gpu)
        self.wait_until(lambda: self.gpus() == [], "no GPU")
        self.assertEqual(self.property(ROOT, MANAGER, "State"), "probing")
        self.added.clear()
        self.tell({})
        os.close(self.answering)
        self.wait_until(lambda: probed, "the answer to whoever asked")
        self.assertEqual([probe["Outcome"] for probe in probed[0]["Probes"]], ["absent"], probed)
        self.assertEqual(self.gpus(), [])
        self.assertEqual(self.added, [])
        told = {probe["api"]: probe for probe in json.loads(self.manager("Describe"))["probes"]}
        self.assertEqual(told["cuda"]["outcome"], "absent")
        self.assert_same_daemon()


class LooseContact(HotPlugCase):
    """Tests with a GPU that repeatedly appears and disappears: the daemon delays each probe longer, but reports at once whether the GPU is
    present."""

    SETTLE_MS = 250

    def test_a_removed_gpu_is_gone_before_drivers_are_asked_again(self):
        for turn in range(2):
            devices = self.plug()
            self.wait_until(lambda: self.gpus() == [PATH], "the GPU")
            self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
            rounds = self.rounds()
            self.unplug(*reversed(devices))
            self.wait_until(lambda: self.gpus() == [], "no GPU")
            self.assertEqual(self.property(ROOT, MANAGER, "DefaultGpu"), "/")
            if turn == 1:
                self.assertEqual(self.rounds(), rounds, "the drivers have not been probed again yet")
            self.assertEqual(self.property(ROOT, MANAGER, "State"), "probing")
            self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
            self.assertEqual(self.rounds(), rounds + 1)


class Storm(HotPlugCase):
    """Tests with as many events as a loose plug causes, while the device id of the GPU keeps changing."""

    SETTLE_MS = 250
    EVENTS = 10_000
    AT_ONCE = 5

    def test_ten_thousand_events_are_a_few_rounds(self):
        gpu, card = self.plug()
        self.wait_until(lambda: self.gpus() == [PATH], "the GPU")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
        rounds, processor = self.rounds(), self.processor_seconds()
        self.changes.clear()
        started = time.monotonic()
        for event in range(0, self.EVENTS, self.AT_ONCE):
            if event % 100 == 0:
                self.bed.set_attribute(gpu, "revision", f"0x{event // 100:02x}")
                self.bed.set_attribute(gpu, "device", f"0x73{event // 100:02x}")
            self.send_some(card)
            self.call(ROOT, "org.freedesktop.DBus.Peer", "Ping")
        lasted = time.monotonic() - started
        self.wait_until(lambda: self.revision() == f"0x{(self.EVENTS - 1) // 100:02x}", "the last state")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
        changes = [arguments for path, arguments in self.changes if path == ROOT and "Generation" in arguments[1]]
        print(f"{self.EVENTS} events in {lasted:.1f} s: {self.rounds() - rounds} rounds, {len(changes)} signals, "
              f"{self.processor_seconds() - processor:.2f} s of processor time")
        self.assertGreater(self.rounds() - rounds, 0)
        # The daemon sends a signal when it finds a new device, and another signal when the drivers have answered. On a busy machine, the events take
        # so long that the daemon also scans between the events (engine/system_events.h).
        most = 2 + (lasted > 9) + lasted // 30
        self.assertLessEqual(self.rounds() - rounds, most)
        self.assertLessEqual(len(changes), 2 * most)
        self.assert_same_daemon()

    def send_some(self, card):
        """Sends events from a child process. Tries again if the test bed ends the child process because the queue of a reader is full
        (net.unix.max_dgram_qlen)."""
        for _ in range(100):
            child = os.fork()
            if child == 0:
                os.close(2)
                for _ in range(self.AT_ONCE):
                    self.bed.uevent(card, "change")
                os._exit(0)
            if os.waitpid(child, 0)[1] == 0:
                return
            time.sleep(0.05)
        self.fail("no event can be sent")

    def revision(self):
        gpu, = json.loads(self.manager("Describe"))["gpus"]
        return f"0x{int(gpu['pci']['revision'], 16):02x}"
