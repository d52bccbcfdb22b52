# SPDX-License-Identifier: Apache-2.0
"""Converts complete sysfs snapshots (test tarballs of hwloc and ghw), reduced to the files that the inventory reads."""

import os
import posixpath
import tarfile

from .machine import PCI_FILES, Machine, case_source, copy_stated, gap, gpu

NAMES = {
    "hwloc/32em64t-mic": "hwloc-32em64t-mic",
    "hwloc/pcilocality": "hwloc-pcilocality",
    "ghw/linux-amd64-61797caf7c0b6bca1725ad7975ed4773": "ghw-amd-ryzen-1600",
    "ghw/linux-amd64-415ee03b8c4d1c4f07ae2e9d8b3d3d6d": "ghw-intel-i7-1270p",
    "ghw/linux-amd64-8581cf3a529e5d8b97ea876eade2f60d": "ghw-dell-xeon-l5640",
}
GPU_CLASSES = ("0x03", "0x0b40", "0x12")
# The kind of each chip, which is not in the tree. pci.ids contains the names.
KINDS = {"1a03:2000": "display-only", "102b:0532": "display-only", "1002:6758": "discrete", "8086:46a6": "integrated"}
GAPS = {"1002:6758": "an old snapshot without memory sizes or sensors: nothing tells a card from an APU"}
VENDORS = {"0x1a03": "aspeed", "0x102b": "matrox", "0x1002": "amd", "0x8086": "intel"}


def convert(corpus, cases):
    for case in cases:
        if case["id"] in NAMES:
            yield convert_tarball(os.path.join(corpus, case["path"]), case)


class Tree:
    """The members of a tarball, by their path below the root of the snapshot."""

    def __init__(self, path):
        self.archive = tarfile.open(path)
        names = {member.name: member for member in self.archive.getmembers()}
        prefix = min((n for n in names if n.endswith("sys")), key=len)[: -len("sys")]
        self.members = {name[len(prefix):]: member for name, member in names.items() if name.startswith(prefix)}

    def read(self, path):
        member = self.members.get(path)
        if member is None or not member.isfile():
            return None
        return self.archive.extractfile(member).read()

    def target(self, path):
        member = self.members.get(path)
        if member is None or not member.issym():
            return None
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), member.linkname))

    def below(self, folder):
        return sorted(n[len(folder) + 1:] for n in self.members if n.startswith(folder + "/"))


def convert_tarball(path, case):
    machine = Machine(NAMES[case["id"]], case_source(case))
    copy_stated(machine, case)
    machine.host["arch"] = "x86_64"
    tree = Tree(path)
    for name, reader in (("proc/meminfo", machine.read_meminfo), ("proc/cpuinfo", machine.read_cpuinfo)):
        content = tree.read(name)
        if content:
            reader(content)
    gpus, accelerators, other = [], [], 0
    for address in (n for n in tree.below("sys/bus/pci/devices") if "/" not in n):
        device = tree.target(f"sys/bus/pci/devices/{address}")
        pci_class = (tree.read(f"{device}/class") or b"").decode().strip()
        if not pci_class.startswith(GPU_CLASSES):
            other += 1
            continue
        add_function(machine, tree, address, device)
        record = expect(tree, address, device, pci_class)
        (accelerators if pci_class.startswith(("0x0b40", "0x12")) else gpus).append(record)
    machine.expected = {"gpus": gpus, "software": [], "accelerators": accelerators}
    machine.converted(f"Kept: display, co-processor and accelerator functions; left out: {other} others.")
    return machine


def add_function(machine, tree, address, device):
    parts = device.split("/")
    machine.pci_device(address, tuple(parts[3:-1]), parts[2])
    for name in PCI_FILES:
        content = tree.read(f"{device}/{name}")
        if content is not None:
            machine.text(f"{device}/{name}", content)
    driver = tree.target(f"{device}/driver")
    if driver:
        machine.driver(address, driver.rsplit("/", 1)[1])
    for name in sorted({n.split("/")[0] for n in tree.below(f"{device}/drm")}):
        if name.startswith(("card", "renderD")):
            machine.drm_node(address, name, tree.read(f"{device}/drm/{name}/dev"))
            machine.converted("`dev` of a DRM node follows from its name where the snapshot has none.")


def expect(tree, address, device, pci_class):
    def line(name):
        content = tree.read(f"{device}/{name}")
        return content.decode().strip() if content else None

    vendor, application = line("vendor"), line("device")
    key = f"{vendor[2:]}:{application[2:]}"
    pci = {"address": address, "vendor_id": vendor[2:], "device_id": application[2:], "class": pci_class[2:6]}
    if pci_class.startswith("0x03"):
        kind = gap(GAPS[key], KINDS[key]) if key in GAPS else KINDS[key]
        return gpu(address, kind=kind, vendor=VENDORS[vendor], pci=pci)
    return gpu(address, pci=pci)
