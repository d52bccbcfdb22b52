# SPDX-License-Identifier: Apache-2.0
"""Converts sysfs trees of cards that LACT has recorded. A .snap file next to each tree contains LACT's results."""

import json
import os

from .machine import HWMON_FILES, PCI_FILES, Machine, answered, case_source, copy_stated, gpu

# GPUs that are in the CPU package. All other recorded GPUs are add-in cards or separate chips in laptops.
INTEGRATED = {"amd/phoenix", "intel/cometlake"}


def convert(corpus, cases):
    for case in cases:
        if case["id"].startswith("lact/"):
            yield convert_card(os.path.join(corpus, case["path"]), corpus, case)


def convert_card(folder, corpus, case):
    card_name = case["id"][len("lact/"):]
    machine = Machine("lact-" + card_name.replace("/", "-"), case_source(case))
    copy_stated(machine, case)
    card = next(name for name in sorted(os.listdir(folder)) if name.startswith("card"))
    device = f"{folder}/{card}/device"
    uevent = parse_uevent(read(f"{device}/uevent").decode())
    address = uevent["PCI_SLOT_NAME"].lower()
    path = machine.pci_device(address)
    machine.converted("LACT keeps only cardN/ and cardN/device/; they are put back where the kernel has them, below "
                      "the address in uevent. The bridges above the function are not recorded. Where LACT thinned a tree out, "
                      "id files are missing and only uevent has the ids.")
    copy_files(machine, device, path)
    machine.driver(address, uevent["DRIVER"])
    if uevent["DRIVER"] == "nvidia":
        machine.nvidia_nodes()
    add_card_node(machine, f"{folder}/{card}", address, card)
    add_kfd(machine, f"{folder}/kfd", address)
    snap = read_snap(corpus, card_name)
    expect(machine, card_name, address, uevent, snap)
    add_opencl(machine, folder)
    return machine


def copy_files(machine, device, path):
    for name in PCI_FILES:
        if os.path.isfile(f"{device}/{name}"):
            machine.text(f"{path}/{name}", read(f"{device}/{name}"))
    hwmon = f"{device}/hwmon"
    for monitor in sorted(os.listdir(hwmon)) if os.path.isdir(hwmon) else []:
        for name in HWMON_FILES:
            if os.path.isfile(f"{hwmon}/{monitor}/{name}"):
                machine.text(f"{path}/hwmon/{monitor}/{name}", read(f"{hwmon}/{monitor}/{name}"))


def add_card_node(machine, card_folder, address, card):
    dev = f"{card_folder}/dev"
    uevent = f"{card_folder}/uevent"
    machine.drm_node(address, card, read(dev) if os.path.exists(dev) else None,
                     read(uevent) if os.path.exists(uevent) else None)
    machine.converted("LACT records the primary DRM node only: no render node is in the tree unless KFD names its minor.")


def add_kfd(machine, kfd, address):
    if not os.path.isdir(kfd):
        return
    machine.kfd_link()
    base = "sys/devices/virtual/kfd/kfd"
    for folder, _, names in os.walk(kfd):
        inside = os.path.relpath(folder, kfd)
        if "caches" in inside or "links" in inside or inside == "power":
            continue
        for name in names:
            machine.text(os.path.normpath(f"{base}/{inside}/{name}"), read(f"{folder}/{name}"))
    major, minor = read(f"{kfd}/dev").decode().strip().split(":")
    machine.node("/dev/kfd", int(major), int(minor))
    for node in sorted(os.listdir(f"{kfd}/topology/nodes")):
        properties = dict(line.split() for line in read(f"{kfd}/topology/nodes/{node}/properties").decode().splitlines())
        if properties["drm_render_minor"] != "0":
            machine.drm_node(address, "renderD" + properties["drm_render_minor"])
            machine.converted("The render node is put below the function because KFD names its minor.")


def read_snap(corpus, card_name):
    vendor, card = card_name.split("/")
    path = f"{corpus}/lact/lact-daemon/src/tests/snapshots/lact_daemon__tests__{vendor}__{card}.snap"
    return json.loads(read(path).decode().split("---\n", 2)[2])


def expect(machine, card_name, address, uevent, snap):
    model = snap["pci_info"]["device_pci_info"]
    subsystem = snap["pci_info"]["subsystem_pci_info"]
    vendor, device = (part.lower() for part in uevent["PCI_ID"].split(":"))
    integrated = card_name in INTEGRATED
    total = snap["stats"].get("vram", {}).get("total")
    memory = {"physical": total}
    if total:
        memory = {"kind": "carveout" if integrated else "dedicated", "physical": total,
                  "evidence": {"_contains": [{"source": "amdgpu-sysfs", "what": "total", "bytes": total}]}}
    kind = "integrated" if integrated else "discrete"
    machine.expected = {"gpus": [gpu(
        address, kind=kind,
        vendor=card_name.split("/")[0],
        pci={"address": address, "vendor_id": vendor, "device_id": device,
             "subsystem_vendor_id": subsystem["vendor_id"].lower(),
             "subsystem_device_id": subsystem["model_id"].lower(), "class": "0300"},
        driver={"name": snap["info"]["driver"]}, memory=memory)], "software": [], "accelerators": []}
    machine.expected["gpus"][0]["name"] = f"{model['vendor']} {model['model']}"
    machine.probe("pci", [{
        "index": 0, "name": model.get("model"), "vendor_id": vendor, "device_id": device, "pci": address,
        "vendor_name": model.get("vendor"), "subsystem_name": subsystem.get("model")}])
    machine.converted("The names in probes/pci.json are those that LACT read from pci.ids (.snap, pci_info).")
    if card_name == "amd/phoenix":
        machine.expected["gpus"][0]["architecture"] = {"gfx_target": "gfx1103"}
        machine.stated("gfx_target_version 110003", "kfd/topology/nodes/1/properties")
        machine.expected["gpus"][0]["identity"] = {"drm": {"primary": "226:1", "render": "226:128"}}


def add_opencl(machine, folder):
    """Adds the A380's output of clinfo --json. Leaves out the PCI address in this output, because the sysfs tree was recorded after another boot."""
    if not os.path.exists(f"{folder}/clinfo.json"):
        return
    document = json.loads(read(f"{folder}/clinfo.json"))
    for platform, group in zip(document["platforms"], document["devices"]):
        devices = [opencl_facts(index, device, platform) for index, device in enumerate(group["online"])]
        driver = platform["CL_PLATFORM_ICD_SUFFIX_KHR"].lower()
        machine.probe("opencl", devices, driver=driver,
                      runtime={"platform_name": platform["CL_PLATFORM_NAME"], "version": platform["CL_PLATFORM_VERSION"].strip()})
    machine.converted("clinfo.json says 0000:0a:00.0 where the sysfs tree says 0000:0b:00.0 (two boots), so pci and the "
                      "address bytes' carrier (uuid) are null in probes/opencl.intel.json: what is left is vendor, device and name.")
    expected = machine.expected["gpus"][0]
    expected["apis"] = {"opencl": answered(name="Intel(R) Arc(TM) A380 Graphics")}
    expected["name"] = "Intel(R) Arc(TM) A380 Graphics"
    expected["architecture"] = {"intel_ip": "12.56.5"}
    expected["memory"] = {"kind": "dedicated", "evidence": {"_contains": [{"source": "opencl", "bytes": 6064541696}]}}


def opencl_facts(index, device, platform):
    return {
        "index": index, "name": device["CL_DEVICE_NAME"], "vendor_id": f"{device['CL_DEVICE_VENDOR_ID']:04x}",
        "device_id": f"{device['CL_DEVICE_ID_INTEL']:04x}", "pci": None, "uuid": None, "drm": None, "type": None,
        "memory": {"total": device["CL_DEVICE_GLOBAL_MEM_SIZE"], "free": None},
        "platform_name": platform["CL_PLATFORM_NAME"], "version": device["CL_DEVICE_VERSION"].strip(),
        "driver_version": device["CL_DRIVER_VERSION"],
        "compute_units": device["CL_DEVICE_MAX_COMPUTE_UNITS"],
        "max_memory_allocation_size": device["CL_DEVICE_MAX_MEM_ALLOC_SIZE"],
        "host_unified_memory": device["CL_DEVICE_HOST_UNIFIED_MEMORY"],
        "intel_ip": intel_ip(device["CL_DEVICE_IP_VERSION_INTEL"][" raw "]),
    }


def intel_ip(raw):
    """Returns the architecture, release and revision in 10, 8 and 6 bits. Source: cl_intel_device_attribute_query."""
    return f"{raw >> 22}.{raw >> 14 & 0xff}.{raw & 0x3f}"


def parse_uevent(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def read(path):
    with open(path, "rb") as file:
        return file.read()
