# SPDX-License-Identifier: Apache-2.0
"""Converts recordings of NVIDIA GPUs: text and XML of nvidia-smi, NVIDIA's own NVML mock, and another project's detector."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree

import yaml

from .machine import NVIDIA_MAJOR, Machine, answered, case_source, copy_stated, gpu

MIB = 1024 * 1024
ZERO_UUID = "GPU-00000000-0000-0000-0000-000000000000"
# PCI classes, for sources that do not contain a class: NVIDIA's data center boards are 3D controllers, and all other boards are VGA controllers.
DATA_CENTRE = re.compile(r"Tesla|A100|H100|L40S|GB200")


def convert(corpus, cases):
    readers = {"nvsmi/": read_text, "telegraf/nvidia/": read_xml, "nvml-mock/": read_mock, "gpustack/": read_gpustack}
    for case in cases:
        for prefix, reader in readers.items():
            if case["id"].startswith(prefix):
                yield convert_answer(os.path.join(corpus, case["path"]), case, reader)


def convert_answer(path, case, reader):
    machine = Machine(folder_name(case["id"]), case_source(case))
    copy_stated(machine, case)
    if case["id"].startswith("nvml-mock/"):
        machine.converted("NVIDIA wrote this answer set as a mock; it is not a capture of a machine.")
    with open(path, encoding="utf-8", errors="replace") as file:
        system, devices = reader(file.read(), machine)
    if devices[0].get("device_id") and not system.get("windows"):
        build_tree(machine, system, devices)
    else:
        machine.converted("The source states no PCI ids (or was no Linux): no tree is made up, NVML alone knows the GPU.")
    machine.probe("nvml", [facts_of(index, device) for index, device in enumerate(devices)],
                  runtime={"version": system.get("nvml"), "driver_version": system.get("driver"),
                           "cuda_version": system.get("cuda")})
    machine.expected = {"gpus": [expect(device, system, bool(machine.files)) for device in devices],
                        "software": [], "accelerators": []}
    return machine


def folder_name(identifier):
    name = identifier.split("/", 1)[1] if not identifier.startswith("telegraf/") else identifier.split("/")[2]
    for waste in (".xml", "linux-x86_64__nvidia-", "geforce-"):
        name = name.replace(waste, "")
    prefix = {"nvsmi": "nvidia-smi-", "telegraf": "nvidia-smi-", "nvml-mock": "nvml-mock-", "gpustack": "gpustack-"}
    return prefix[identifier.split("/")[0]] + name.replace("__", "-").replace("_", "-").replace(".", "-")


# -- readers: (system, devices) with ids as four hexadecimal digits and sizes in bytes


def read_text(text, machine):
    header = dict(re.findall(r"^(\w+): +(.*)$", text.split("####", 3)[-1][:1200], re.M))
    machine.host["arch"] = header.get("arch")
    machine.host["kernel"] = header.get("kernel")
    machine.converted("Read from the idle section of `nvidia-smi -q`; sizes there are whole MiB.")
    section = text.split(":: query (-q)", 1)[1].split("\n# ", 2)[1]
    field = lambda name: re.search(rf"^ *{name} *: (.*)$", section, re.M)[1].split(" [")[0].strip()
    memory = re.search(r"FB Memory Usage(.*?)BAR1", section, re.S)[1]
    size = lambda name: int(re.search(rf"{name} *: (\d+) MiB", memory)[1]) * MIB
    application, vendor = split_id(field("Device Id"))
    sub_device, sub_vendor = split_id(field("Sub System Id"))
    device = {"name": field("Application Name"), "uuid": field("GPU UUID"), "pci": field("Bus Id"), "minor": field("Minor Number"),
              "vendor_id": vendor, "device_id": application, "subsystem": (sub_vendor, sub_device),
              "class": f"{int(field('Base Classcode'), 16):02x}{int(field('Sub Classcode'), 16):02x}",
              "total": size("Total"), "free": size("Free"), "reserved": size("Reserved"), "used": size("Used")}
    device["compute_capability"] = compute_capability(text)
    return {"driver": field("Driver Version"), "cuda": cuda_version(section)}, [device]


def compute_capability(text):
    """Returns the compute capability, from the CSV that the exporter parses."""
    csv = text.split("idle :: query-gpu", 1)[1].splitlines()
    names = next(line for line in csv if line.startswith("timestamp, ")).split(", ")
    values = next(line for line in csv if re.match(r"20\d\d/", line)).split(", ")
    return values[names.index("compute_cap")]


def cuda_version(section):
    found = re.search(r"^CUDA (?:UMD )?Version *: ([\d.]+)", section, re.M)
    return found[1] if found else None


def read_xml(text, machine):
    root = ElementTree.fromstring(text)
    devices = []
    for element in root.findall("gpu"):
        usage = element.find("fb_memory_usage")
        size = lambda name, usage=usage: int(usage.findtext(name).split()[0]) * MIB if usage.findtext(name) else None
        device = {"name": element.findtext("product_name"), "uuid": element.findtext("uuid"), "pci": element.get("id"),
                  "minor": element.findtext("minor_number"), "total": size("total"), "free": size("free"),
                  "reserved": size("reserved"), "used": size("used"), "class": None}
        if element.findtext("pci/pci_device_id"):
            device["device_id"], device["vendor_id"] = split_id(element.findtext("pci/pci_device_id"))
            device["subsystem"] = tuple(reversed(split_id(element.findtext("pci/pci_sub_system_id"))))
        devices.append(device)
    windows = (root.findtext("gpu/driver_model/current_dm") or root.findtext("gpu/driver_model/driver_model_current") or "N/A")
    machine.converted("Sizes in nvidia-smi's XML are whole MiB.")
    return {"driver": root.findtext("driver_version"), "cuda": root.findtext("cuda_version"),
            "windows": windows.startswith(("WDDM", "TCC"))}, devices


def read_mock(text, _machine):
    document = yaml.safe_load(text)
    defaults = document["device_defaults"]
    pci, memory, capability = defaults["pci"], defaults["memory"], defaults["compute_capability"]
    application, vendor = split_id(f"{pci['device_id']:08x}")
    sub_device, sub_vendor = split_id(f"{pci['subsystem_id']:08x}")
    devices = [{"name": defaults["name"], "uuid": entry["uuid"], "pci": entry["pci"]["bus_id"], "minor": str(entry["minor_number"]),
                "vendor_id": vendor, "device_id": application, "subsystem": (sub_vendor, sub_device), "class": None,
                "total": memory["total_bytes"], "free": memory["free_bytes"], "reserved": memory["reserved_bytes"],
                "used": memory["used_bytes"], "compute_capability": f"{capability['major']}.{capability['minor']}"}
               for entry in document["devices"]]
    system = document["system"]
    return {"driver": system["driver_version"], "cuda": system["cuda_version"], "nvml": system["nvml_version"]}, devices


def read_gpustack(text, machine):
    entry = json.loads(text)[0]
    machine.converted("`memory` of the detector is in MiB; `bdf` and `minor_number` are in its appendix.")
    device = {"name": entry["name"], "uuid": entry["uuid"], "pci": entry["appendix"]["bdf"],
              "minor": str(entry["appendix"]["minor_number"]), "total": entry["memory"] * MIB, "free": None, "reserved": None,
              "used": entry["memory_used"] * MIB, "compute_capability": entry["compute_capability"], "class": None}
    return {"driver": entry["driver_version"], "cuda": entry["runtime_version"]}, [device]


def split_id(text):
    """Returns the device id and the vendor id in a number from nvidia-smi such as 0x1E8110DE."""
    digits = text.lower().removeprefix("0x").zfill(8)
    return digits[:4], digits[4:]


# -- conversion to machines


def address_of(device):
    domain, rest = device["pci"].lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def build_tree(machine, system, devices):
    """Adds the files in /sys and /proc whose content follows from NVML's answers."""
    for device in devices:
        address = address_of(device)
        machine.pci_device(address)
        pci_class = class_of(device)
        machine.pci_ids(address, pci_class + "00", device["vendor_id"], device["device_id"], device["subsystem"])
        machine.driver(address, "nvidia")
        if device["minor"] is not None and device["minor"].isdigit():
            machine.node(f"/dev/nvidia{device['minor']}", NVIDIA_MAJOR, int(device["minor"]), 0o666, "root", True)
            machine.text(f"proc/driver/nvidia/gpus/{address}/information",
                         f"Model: \t\t {device['name']}\nGPU UUID: \t {device['uuid']}\n"
                         f"Bus Location: \t {address}\nDevice Minor: \t {device['minor']}\n")
    machine.nvidia_nodes(0o666, "root", True)
    if system.get("driver"):
        machine.text("sys/module/nvidia/version", system["driver"] + "\n")
    machine.converted("The tree is built from the stated bus ids, PCI ids, minors and driver version: an NVML that answers "
                      "needs the nvidia module bound and its nodes open to the caller. Bridges are not known.")
    if devices[0]["class"] is None:
        machine.converted(f"The class is not stated: 0x{class_of(devices[0])}00, as boards of this line have it.")


def class_of(device):
    return device["class"] or ("0302" if DATA_CENTRE.search(device["name"]) else "0300")


def facts_of(index, device):
    minor = device["minor"]
    return {"index": index, "name": device["name"], "vendor_id": device.get("vendor_id"), "device_id": device.get("device_id"),
            "pci": device["pci"], "uuid": device["uuid"], "drm": None, "type": None,
            "memory": {"total": device["total"], "free": device["free"]},
            "memory_reserved": device["reserved"],
            "minor_number": int(minor) if minor is not None and minor.isdigit() else None,
            "compute_capability": device.get("compute_capability")}


def expect(device, system, has_tree):
    address = address_of(device)
    masked = device["uuid"] == ZERO_UUID
    pci = {"address": address}
    if has_tree:
        pci.update({"vendor_id": device["vendor_id"], "device_id": device["device_id"],
                    "subsystem_vendor_id": device["subsystem"][0], "subsystem_device_id": device["subsystem"][1]})
    free = device["free"]
    if free is not None and device["reserved"] is not None:
        free = min(free, device["total"] - device["reserved"])  # sizes in whole MiB do not always add up
    expected = gpu(address, kind="discrete", vendor="nvidia", name=device["name"], pci=pci,
                   memory={"kind": "dedicated", "physical": device["total"], "free": free},
                   identity={"nvidia_uuid": None if masked else device["uuid"]},
                   apis={"nvml": answered(name=device["name"])})
    if has_tree:
        expected["driver"] = {"name": "nvidia", "version": system["driver"]}
    if device.get("compute_capability"):
        expected["architecture"] = {"cuda_compute_capability": device["compute_capability"]}
    return expected
