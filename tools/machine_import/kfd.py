# SPDX-License-Identifier: Apache-2.0
"""Converts KFD topologies from ROCm's Kubernetes device plugin: the AMD GPUs as the driver amdkfd lists them."""

import os
import tarfile

from .machine import DRM_MAJOR, Machine, case_source, copy_stated, gpu

BASE = "sys/devices/virtual/kfd/kfd/topology"


def convert(corpus, cases):
    for case in cases:
        if case["id"].startswith("rocm/"):
            yield convert_topology(os.path.join(corpus, case["path"]), case)


def convert_topology(path, case):
    machine = Machine(case["id"].replace("/", "-"), case_source(case))
    copy_stated(machine, case)
    machine.kfd_link()
    for name, content in sorted(topology_files(path)):
        machine.text(f"{BASE}/{name}", content)
    nodes = sorted(n for n in machine.files if n.startswith(f"{BASE}/nodes/") and n.count("/") == BASE.count("/") + 3
                   and n.endswith("/properties"))
    seen = {}
    for name in nodes:
        properties = dict(line.split() for line in machine.files[name].decode().splitlines())
        if properties.get("simd_count", "0") != "0":
            add_gpu(machine, properties, name, seen)
    machine.expected = {"gpus": list(seen.values()), "software": [], "accelerators": []}
    machine.converted("The PCI function, its driver link and its render node follow from KFD's properties (vendor_id, "
                      "device_id, location_id, drm_render_minor). KFD does not state the class: 0x038000, as AMD's "
                      "accelerators have it. No cardN is recorded, so none is in the tree.")
    return machine


def topology_files(path):
    """Yields {name below topology/: content} for the properties of nodes and of memory banks, without caches and links."""
    if os.path.isfile(path):
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                name = member.name.split("/", 2)[-1]
                if member.isfile() and wanted(name):
                    yield name, archive.extractfile(member).read()
        return
    for folder, _, names in os.walk(f"{path}/topology"):
        for file_name in names:
            name = os.path.relpath(f"{folder}/{file_name}", f"{path}/topology")
            if wanted(name):
                with open(f"{folder}/{file_name}", "rb") as file:
                    yield name, file.read()


def wanted(name):
    return "caches" not in name and "_links" not in name and not name.endswith("README.md")


def add_gpu(machine, properties, name, seen):
    location = int(properties["location_id"])
    address = f"{int(properties.get('domain', '0')):04x}:{location >> 8 & 0xff:02x}:{location >> 3 & 0x1f:02x}.{location & 7}"
    if address in seen:
        machine.converted(f"{name} is a copy of the node before it (README.md of the source: the captured machine has one "
                          "GPU): it names the same PCI function, so it is not a second GPU.")
        return
    vendor, device = f"{int(properties['vendor_id']):04x}", f"{int(properties['device_id']):04x}"
    machine.pci_device(address)
    machine.pci_ids(address, "038000", vendor, device)
    machine.driver(address, "amdgpu")
    render = "renderD" + properties["drm_render_minor"]
    machine.drm_node(address, render)
    expected = gpu(address, kind="discrete", vendor="amd", pci={"address": address, "vendor_id": vendor, "device_id": device},
                   driver={"name": "amdgpu"},
                   identity={"drm": {"render": f"{DRM_MAJOR}:{properties['drm_render_minor']}"}})
    if int(properties.get("unique_id", "0")):
        expected["identity"]["hip_unique_id"] = f"{int(properties['unique_id']):016x}"
    version = int(properties.get("gfx_target_version", "0"))
    if version:
        major, minor, stepping = version // 10000, version // 100 % 100, version % 100
        expected["architecture"] = {"gfx_target": f"gfx{major}{minor}{stepping:x}"}
    bank = machine.files.get(os.path.dirname(name) + "/mem_banks/0/properties")
    if bank:
        size = dict(line.split() for line in bank.decode().splitlines())["size_in_bytes"]
        expected["memory"] = {"kind": "dedicated", "physical": int(size)}
    seen[address] = expected
