# SPDX-License-Identifier: Apache-2.0
"""Lists the facts that each source states about its ids, for a comparison with chips.json.

This module reads no hand-written table and no merged rows, because they would make the comparison meaningless. The exceptions in
tests/data/chips/claimed.json list the facts for which chips.json deliberately differs from a source, with the reason for each difference.
"""

import json
import re

from . import amd, intel, kernel, nvidia, pci_ids
from .ids import hex_id, id_list

VENDORS = {0x1002: "amd", 0x1022: "amd", 0x8086: "intel", 0x10de: "nvidia"}
CHIPSET = re.compile(r"CHIPSET\(0x([0-9A-Fa-f]+),")
MESA_TABLES = {"r300": 0x1002, "r600": 0x1002, "radeonsi": 0x1002, "iris": 0x8086, "crocus": 0x8086, "i915": 0x8086,
               "virtio_gpu": None, "vmwgfx": None}
DISPLAY = re.compile(r"\b(VGA|graphics|GPU|display|SVGA|GUI accelerator|Radeon|GeForce|\dD)\b", re.I)
# A person has checked that these vendors make no display adapter: their devices are a tuner, boards whose subsystem ids are listed as devices, video
# capture cards, and network capture cards.
NO_DISPLAY_MAKERS = {0x12ab, 0x1458, 0x1da2, 0xbdbd, 0xeace}
NO_DISPLAY = re.compile(r"audio|bridge|host|capture|tuner|codec|root|port\b|pcie|usb|sata|mpeg|crypto|ethernet|camera|"
                        r"network|memory|SSD|NVMe|register|DSP|storage|compression|Toroidal|_DMA|video card", re.I)
EXCEPTIONS = [
    {"by": "radeon", "vendor_id": "1002", "ids": "515e 5969", "member": "role",
     "why": "ES1000: the VGA of server boards; radeon gives it a render node that has nothing to render with"},
    {"by": "loongson", "vendor_id": "0014", "ids": "7a06 7a36", "member": "role",
     "why": "display controllers: the driver registers a render node for buffers only"},
    {"by": "mesa-nouveau", "vendor_id": "10de", "ids": "*", "chips": "mcp77 mcp78 mcp79 mcp7a", "member": "architecture",
     "why": "Mesa derives 1.2 from the chipset's number, NVIDIA lists 1.1: chips.json says nothing"},
]


class Claims:
    """Collects rows of (source, vendor, facts), each with the ids to which the facts apply."""

    def __init__(self):
        self.groups = {}

    def add(self, by, vendor, device, **says):
        says = {name: value for name, value in says.items() if value is not None}
        if vendor in VENDORS:
            says = {"vendor": VENDORS[vendor]} | says
        key = json.dumps([by, hex_id(vendor), says])
        self.groups.setdefault(key, []).append(device)

    def rows(self):
        found = []
        for key, devices in self.groups.items():
            by, vendor, says = json.loads(key)
            found.append({"by": by, "vendor_id": vendor, "ids": id_list(devices)} | says)
        return sorted(found, key=lambda row: (row["by"], row["vendor_id"], row["ids"]))


def integrated_by_driver(linux, driver):
    """Returns a function that returns whether a row is integrated according to the driver's table; None if this is unknown."""
    if driver == "amdgpu":
        return lambda row: "AMD_IS_APU" in row.driver_data
    if driver == "radeon":
        return lambda row: "RADEON_IS_IGP" in row.driver_data
    if driver in ("i915", "xe"):
        discrete = kernel.discrete_descriptions(linux.read(kernel.DRIVERS[driver][0]))
        return lambda row: kernel.is_integrated_intel(row, discrete)
    return lambda row: None


def claim_kernel(claims, linux):
    targets = kernel.gfx_of_chips(linux)
    for driver in kernel.DRIVERS:
        role, integrated = kernel.role_of(linux, driver), integrated_by_driver(linux, driver)
        for row in kernel.rows_of(linux, driver):
            if row.device is None:
                continue
            gfx = targets.get(amd.flags_of(row)[0]) if driver in ("amdgpu", "radeon") else None
            claims.add(driver, row.vendor, row.device, role=role, integrated=integrated(row), architecture=gfx)
    claims.add("virtio_gpu", kernel.VIRTIO_VENDOR, kernel.virtio_gpu_id(linux), role="gpu")


def claim_nvidia(claims, names, readme, linux, mesa):
    """Adds the facts about NVIDIA's GPUs. nouveau accepts all devices of NVIDIA by class, so the ids come from pci.ids and from NVIDIA's
    open modules."""
    rules = nvidia.capability_by_chipset(mesa.read("src/nouveau/winsys/nouveau_device.c"))
    # The last chipset that the rules in this version of Mesa distinguish.
    newest = max(number for _, number, _ in rules) + 0x10
    for chip, number in kernel.nouveau_chipsets(linux).items():
        pattern = re.compile(rf"{chip}(G?L?M?|BM|C|CM|CGL)\b.*\[")
        architecture = nvidia.capability(number, rules) if number < newest else None
        for device, name in names.items():
            if pattern.match(name) and not nvidia.NO_GPU.search(name):
                claims.add("mesa-nouveau", nvidia.VENDOR, device, role="gpu", chip=chip.lower(),
                           architecture=architecture)
    for device in nvidia.products(readme):
        claims.add("nvidia", nvidia.VENDOR, device, role="gpu")


def claim_mesa(claims, mesa):
    for name, vendor in MESA_TABLES.items():
        for word in CHIPSET.findall(mesa.read(f"include/pci_ids/{name}_pci_ids.h")):
            if vendor:
                claims.add(f"mesa-{name}", vendor, int(word, 16), role="gpu")


def display_vendors(vendors):
    """Returns the vendors that have a device with the name of a display adapter. The function uses a heuristic, so a person must check each of these
    vendors."""
    found = [vendor for vendor, (_, devices) in vendors.items()
             if vendor not in NO_DISPLAY_MAKERS
             and any(DISPLAY.search(name) and not NO_DISPLAY.search(name) for name in devices.values())]
    return [hex_id(vendor) for vendor in sorted(found)]


def claims_of(sources):
    """Returns the rows of claimed.json, and the vendors of pci.ids that have a display adapter."""
    claims, vendors = Claims(), pci_ids.read(sources["pci_ids"].read("pci.ids"))
    claim_kernel(claims, sources["linux"])
    claim_nvidia(claims, vendors[nvidia.VENDOR][1], sources["nvidia_open"].read("README.md"), sources["linux"],
                 sources["mesa"])
    claim_mesa(claims, sources["mesa"])
    for device, (_, version) in intel.architectures(sources["intel_runtime"]).items():
        claims.add("intel-runtime", 0x8086, device, role="gpu", architecture=version)
    return claims.rows(), display_vendors(vendors)
