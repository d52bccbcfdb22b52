#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests with more hardware events than the kernel buffers for a reader, on real netlink sockets in a private network namespace."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import unittest

INSIDE = "GPUPROBE_TEST_IN_OWN_NAMESPACES"
APART = ["unshare", "--net", "--mount", "--propagation=private", *(["--map-root-user"] if os.geteuid() else [])]


def can_be_apart():
    return bool(shutil.which("unshare")) and subprocess.run(
        [*APART, "mount", "--bind", "/sys", "/sys"], stderr=subprocess.DEVNULL, check=False).returncode == 0


if INSIDE not in os.environ and can_be_apart():
    os.environ[INSIDE] = "1"
    os.execvp(APART[0], [*APART, *sys.orig_argv])

from bus_case import MANAGER, ROOT, BusCase, Capture  # noqa: E402

# Constants from linux/netlink.h and linux/socket.h.
NETLINK_KOBJECT_UEVENT, NETLINK_LISTENING = 15, 2
# The magic number of libudev's messages. Source: systemd,
# src/libsystemd/sd-device/device-monitor.c.
UDEV_GROUP, MAGIC, HEADER = 2, 0xFEEDCAFE, struct.Struct("=8sIIIIIIII")
ADDRESS = "0000:03:00.0"
PATH = ROOT + "/gpu/pci_0000_03_00_0"


def hash_of(text):
    """Computes the 32-bit MurmurHash2 with seed 0; the kernel uses this hash to filter messages for libudev."""
    data, mix, whole = text.encode(), 0x5BD1E995, 0xFFFFFFFF
    value = len(data)
    for start in range(0, len(data) - 3, 4):
        part = int.from_bytes(data[start:start + 4], "little") * mix & whole
        value = (value * mix & whole) ^ ((part ^ part >> 24) * mix & whole)
    if rest := data[len(data) & ~3:]:
        value = (value ^ int.from_bytes(rest, "little")) * mix & whole
    value = (value ^ value >> 13) * mix & whole
    return value ^ value >> 15


def event(sequence, subsystem, path, **properties):
    text = {"ACTION": "change", "DEVPATH": path, "SUBSYSTEM": subsystem, "SEQNUM": sequence, **properties}
    body = b"".join(f"{key}={value}".encode() + b"\0" for key, value in text.items())
    return HEADER.pack(b"libudev\0", socket.htonl(MAGIC), HEADER.size, HEADER.size, len(body),
                       socket.htonl(hash_of(subsystem)), 0, 0, 0) + body


@unittest.skipUnless(INSIDE in os.environ, "unshare cannot create network and mount namespaces here")
class Overflow(BusCase):
    def setUp(self):
        super().setUp()
        self.machine = Capture(f"{self.folder}/machine")
        self.mount("--bind", f"{self.folder}/machine/root/sys", "/sys")
        # libudev listens only if udev is running.
        self.mount("-t", "tmpfs", "none", "/run")
        pathlib.Path("/run/udev").mkdir()
        pathlib.Path("/run/udev/control").touch()
        self.netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_KOBJECT_UEVENT)
        self.addCleanup(self.netlink.close)
        self.sequence = 0
        worker = pathlib.Path(self.folder) / "worker"
        worker.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        worker.chmod(0o755)
        self.start("--worker", str(worker), "--settle-ms=50")
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") != "probing", "the first probes")

    def mount(self, *words):
        subprocess.run(["mount", *words], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", words[-1]], check=True)

    def send(self, *words, **properties):
        self.sequence += 1
        self.netlink.sendto(event(self.sequence, *words, **properties), (0, UDEV_GROUP))

    def open_files(self):
        """Yields the target of each descriptor of the daemon, except descriptors that the daemon closes in the meantime."""
        for link in pathlib.Path(f"/proc/{self.daemon.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                yield os.readlink(link)

    def drops(self):
        """Returns how many messages the kernel has dropped at the daemon's socket."""
        inodes = {target.strip("socket:[]") for target in self.open_files() if target.startswith("socket:")}
        lines = pathlib.Path(f"/proc/{self.daemon.pid}/net/netlink").read_text(encoding="ascii").splitlines()
        names = lines[0].split()
        rows = [dict(zip(names, line.split())) for line in lines[1:]]
        return sum(int(row["Drops"]) for row in rows if row["Inode"] in inodes)

    def test_an_event_that_is_heard_counts(self):
        self.machine.add_gpu(ADDRESS)
        self.send("pci", f"/devices/pci0000:00/{ADDRESS}", PCI_CLASS="30000")
        self.wait_until(lambda: self.gpus() == [PATH], "the GPU")

    def test_what_is_lost_is_looked_for(self):
        self.assertEqual(self.gpus(), [])
        self.daemon.send_signal(signal.SIGSTOP)
        # Fill the buffer with events about a disk, which never cause a scan.
        while not self.drops():
            self.send("pci", "/devices/pci0000:00/0000:02:00.0", PCI_CLASS="10802", FILLER="x" * 4000)
        self.machine.add_gpu(ADDRESS)
        self.send("pci", f"/devices/pci0000:00/{ADDRESS}", PCI_CLASS="30000")
        print(f"{self.sequence} events, {self.drops()} lost")
        self.assertGreater(self.drops(), 1, "the event about the GPU was not lost")
        self.daemon.send_signal(signal.SIGCONT)
        self.wait_until(lambda: self.gpus() == [PATH], "the GPU that nobody announced")
        self.assert_same_daemon()


if __name__ == "__main__":
    unittest.main()
