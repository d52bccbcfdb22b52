#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""GPUs that come and go, in umockdev's test bed."""
import os
import shutil
import sys
import unittest

WRAPPER = shutil.which("umockdev-wrapper")
if WRAPPER and "umockdev" not in os.environ.get("LD_PRELOAD", ""):
    # The test bed wants to be seen by who makes it, too.
    os.execv(WRAPPER, [WRAPPER, *sys.orig_argv])

from bus_case import GPU, MANAGER, PROPERTIES, ROOT, BusCase

try:
    import gi

    gi.require_version("UMockdev", "1.0")
    from gi.repository import UMockdev
except (ImportError, ValueError):
    UMockdev = None

ADDRESS = "0000:03:00.0"
PATH = ROOT + "/gpu/pci_0000_03_00_0"


@unittest.skipUnless(UMockdev and WRAPPER, "umockdev is not installed")
class HotPlug(BusCase):
    def setUp(self):
        super().setUp()
        self.bed = UMockdev.Testbed.new()
        worker = f"{self.folder}/worker"
        os.symlink("/bin/false", worker)
        self.start("--worker", worker, "--settle-ms=50")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the first probes")
        self.added = self.signals("org.freedesktop.DBus.ObjectManager", "InterfacesAdded")
        self.removed = self.signals("org.freedesktop.DBus.ObjectManager", "InterfacesRemoved")
        self.changes = self.signals(PROPERTIES, "PropertiesChanged")

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

    def test_a_gpu_that_comes_and_goes_is_announced(self):
        self.assertEqual(self.gpus(), [])
        gpu, card = self.plug()
        self.wait_until(lambda: self.gpus() == [PATH], "the GPU")
        self.wait_until(lambda: self.added, "its announcement")
        self.assertEqual([arguments[0] for _, arguments in self.added], [PATH])
        self.assertEqual(self.added[0][1][1][GPU]["PciAddress"], ADDRESS)
        self.assertEqual(self.property(ROOT, MANAGER, "DefaultGpu"), PATH)
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the probes")
        present = self.select()
        self.assertTrue([entry for entry in present["Candidates"] if entry.get("Gpus") == [PATH]])
        self.assertEqual(self.select(), present)

        for device in (card, gpu):
            self.bed.uevent(device, "remove")
            self.bed.remove_device(device)
        self.wait_until(lambda: self.gpus() == [], "no GPU")
        self.wait_until(lambda: self.removed, "its farewell")
        self.assertEqual([arguments[0] for _, arguments in self.removed], [PATH])
        self.assertEqual(self.property(ROOT, MANAGER, "DefaultGpu"), "/")
        gone = self.select()
        self.assertFalse([entry for entry in gone["Candidates"] if "Gpus" in entry])
        self.assertEqual(gone["Generation"], self.property(ROOT, MANAGER, "Generation"))
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
