# SPDX-License-Identifier: Apache-2.0
"""Tests our daemon with the switcherooctl from Debian's package, and with the calls that desktops make."""
import os
import pathlib
import shutil
import subprocess

from gi.repository import GLib

import bus_case

NAME = "net.hadess.SwitcherooControl"
PATH = "/net/hadess/SwitcherooControl"
CLIENT = "/usr/bin/switcherooctl"


class Switcheroo(bus_case.BusCase):
    def machine(self):
        """Returns a machine with an AMD GPU that renders the desktop, and an NVIDIA card."""
        capture = self.capture()
        capture.add_gpu("0000:00:02.0")
        capture.write("root/sys/devices/pci0000:00/0000:00:02.0/boot_vga", "1\n")
        capture.add_gpu("0000:01:00.0", driver="nvidia", vendor="0x10de")
        for address, minor in (("0000:00:02.0", 128), ("0000:01:00.0", 129)):
            self.add_nodes(capture, address, minor)
        return capture

    @staticmethod
    def add_nodes(capture, address, minor):
        for name, number in ((f"card{minor - 128}", minor - 128), (f"renderD{minor}", minor)):
            device = f"root/sys/devices/pci0000:00/{address}"
            capture.write(f"{device}/drm/{name}/dev", f"226:{number}\n")
            capture.write(f"{device}/drm/{name}/uevent", f"DEVNAME=dri/{name}\n")
            (capture.folder / f"{device}/drm/{name}/device").symlink_to(f"../../../{address}")
            link = capture.folder / f"root/sys/class/drm/{name}"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"../../devices/pci0000:00/{address}/drm/{name}")

    def get(self, name):
        answer = self.connection.call_sync(
            NAME, PATH, bus_case.PROPERTIES, "Get", GLib.Variant("(ss)", (NAME, name)), None, 0, 5000, None)
        return answer.unpack()[0]

    def client(self, *words):
        environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address}
        return subprocess.run([CLIENT, *words], env=environment, capture_output=True, text=True, timeout=20, check=True)

    def test_tells_both_gpus_in_the_order_of_their_places(self):
        self.start_on(self.machine(), "--switcheroo")
        first, second = self.get("GPUs")
        self.assertEqual(first["Environment"], ["DRI_PRIME", "pci-0000_00_02_0"])
        self.assertTrue(first["Default"])
        self.assertFalse(second["Default"])
        self.assertEqual(second["Environment"][:2], ["__GLX_VENDOR_LIBRARY_NAME", "nvidia"])
        self.assertTrue(second["Discrete"])
        self.assertTrue(self.get("HasDualGpu"))
        self.assertEqual(self.get("NumGPUs"), 2)

    def test_leaves_out_what_renders_nothing_and_makes_one_gpu_the_default(self):
        capture = self.capture()
        capture.add_gpu("0000:03:00.0")
        self.add_nodes(capture, "0000:03:00.0", 128)
        capture.add_gpu("0000:04:00.0")
        self.start_on(capture, "--switcheroo")
        (only,) = self.get("GPUs")
        self.assertTrue(only["Default"])
        self.assertFalse(self.get("HasDualGpu"))

    def test_is_there_when_it_is_asked_for_only(self):
        self.start_on(self.machine())
        with self.assertRaisesRegex(GLib.Error, "ServiceUnknown"):
            self.get("NumGPUs")

    def test_is_asked_for_by_the_drop_in(self):
        text = (bus_case.SOURCE / "systemd/switcheroo-dropin.conf").read_text(encoding="utf-8")
        name, value = text.split("Environment=")[1].strip().split("=")
        os.environ[name] = value
        self.addCleanup(os.environ.pop, name)
        self.start_on(self.machine())
        self.assertEqual(self.get("NumGPUs"), 2)

    def test_leaves_the_name_to_who_has_it(self):
        owner = self.bus.connect()
        owner.call_sync("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "RequestName",
                        GLib.Variant("(su)", (NAME, 0)), None, 0, 5000, None)
        self.start_on(self.machine(), "--switcheroo")
        self.assertEqual(len(self.gpus()), 2)
        self.assert_same_daemon()

    def test_serves_the_packaged_client(self):
        if not pathlib.Path(CLIENT).exists():
            self.skipTest("switcherooctl is not installed: tools/install-dependencies --engines")
        self.start_on(self.machine(), "--switcheroo")
        listed = self.client("list").stdout
        self.assertIn("Device: 0", listed)
        self.assertRegex(listed, r"Default: +yes\n +Environment: DRI_PRIME=pci-0000_00_02_0")
        self.assertRegex(listed, r"Device: 1\n(.*\n)+ +Environment: __GLX_VENDOR_LIBRARY_NAME=nvidia")
        # By default, switcherooctl starts the program on the GPU that is not the default GPU.
        self.assertIn("__NV_PRIME_RENDER_OFFLOAD=1", self.client("launch", shutil.which("env")).stdout)


class UnderThePolicy(Switcheroo):
    """Tests that the installed bus policy is sufficient on a bus that forbids everything else."""

    POLICY = bus_case.SYSTEM_POLICY
    INCLUDES = [bus_case.BIN.parent / "dbus" / f"{name}.conf" for name in (NAME, bus_case.NAME)]

    def test_activation_leads_to_our_unit(self):
        activation = (bus_case.BIN.parent / "dbus" / f"{NAME}.service").read_text()
        unit = (bus_case.BIN.parent / "systemd/gpuprobed.service").read_text()
        self.assertIn(f"Name={NAME}\n", activation)
        (alias,) = [line.removeprefix("SystemdService=") for line in activation.splitlines() if "Systemd" in line]
        self.assertIn(f"\nAlias={alias}\n", unit)


if __name__ == "__main__":
    import unittest

    unittest.main()
