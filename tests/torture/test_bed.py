# SPDX-License-Identifier: Apache-2.0
"""Runs umockdev's test bed in a separate process. hardware.py runs this program under umockdev-wrapper.

First prints the folder of the test bed, then runs the commands on its standard input, each of which is a JSON list in one line, and prints "done"
after each:

["plug", ADDRESS, CARD, DEVICE]   adds a PCI GPU with a DRM node
["unplug", ADDRESS]               removes the GPU
["set", ADDRESS, NAME, VALUE]     sets an attribute
["other", NAME]                   adds a device of another subsystem
["events", [[NAME, ACTION], …]]   sends uevents; NAME is an address, or the name of a card or another device

The test bed ends its process if a reader is too slow (net.unix.max_dgram_qlen). For this reason, a child process sends each list of events, and is
started again until it succeeds, so that an event may be sent twice.
"""
import json
import os
import sys
import time

import gi

gi.require_version("UMockdev", "1.0")
from gi.repository import UMockdev  # noqa: E402

MALFORMED = {
    "long": ["PCI_SLOT_NAME", "x" * 1500], "empty": ["PCI_SLOT_NAME", ""], "no address": ["PCI_SLOT_NAME", "zz:zz.z"],
    "control characters": ["PCI_SLOT_NAME", "0000:\x01\x1b[2J:00.0", "DEVNAME", "/dev/../../\x07"], "no number": ["MAJOR", "-1", "MINOR", "x"],
    "no text": ["DEVNAME", b"\xff\xfe".decode("latin-1")], "many": [word for number in range(40) for word in (f"KEY{number}", "=" * 20)],
}


class Bed:
    def __init__(self):
        self.bed, self.paths, self.sent_again = UMockdev.Testbed.new(), {}, 0

    def plug(self, address, card, device):
        self.paths[address] = gpu = self.bed.add_device(
            "pci", address, None, ["vendor", "0x1002", "device", device, "class", "0x030000", "revision", "0x00"],
            ["PCI_CLASS", "30000", "PCI_ID", f"1002:{device[2:].upper()}", "PCI_SLOT_NAME", address])
        self.paths[card] = self.bed.add_device("drm", card, gpu, ["dev", f"226:{card[4:]}"],
                                               ["DEVNAME", f"/dev/dri/{card}", "DEVTYPE", "drm_minor"])

    def unplug(self, *names):
        for name in names:
            self.bed.remove_device(self.paths.pop(name))

    def set(self, address, name, value):
        self.bed.set_attribute(self.paths[address], name, value)

    def other(self, name, subsystem):
        self.paths[name] = self.bed.add_device(subsystem, name, None, ["size", "1"], ["DEVNAME", f"/dev/{name}"])

    def malformed(self, name, subsystem, kind):
        self.paths[name] = self.bed.add_device(subsystem, name, None, ["class", "0x020000"], MALFORMED[kind])

    def events(self, events):
        while True:
            child = os.fork()
            if child == 0:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 2)
                for name, action in events:
                    self.bed.uevent(self.paths[name], action)
                os._exit(0)
            if os.waitpid(child, 0)[1] == 0:
                return
            self.sent_again += 1
            time.sleep(0.02)


def main():
    bed = Bed()
    print(bed.bed.get_root_dir(), flush=True)
    for line in sys.stdin:
        order, *arguments = json.loads(line)
        getattr(bed, order)(*arguments)
        print(f"done {bed.sent_again}", flush=True)


if __name__ == "__main__":
    main()
