# SPDX-License-Identifier: Apache-2.0
"""Converts hwloc topologies: these are PCI trees to which hwloc has already added the devices of each API."""

import os
import re
import xml.etree.ElementTree as ElementTree

from .machine import Machine, answered, case_source, copy_stated, gap, gpu

PCI_TYPE = re.compile(r"(\w{4}) \[(\w{4}):(\w{4})\] \[(\w{4}):(\w{4})\] (\w{2})")
GPU_CLASSES = ("03", "0b40", "12")
API_NAME = re.compile(r"(cuda|nvml|rsmi)(\d+)$|(opencl)(\d+)d(\d+)$")
VENDORS = {"10de": "nvidia", "1002": "amd", "1a03": "aspeed", "102b": "matrox"}
# This PCI id contains AMD's vendor id, but belongs to a 2D chip in servers ("ES1000" in pci.ids). According to the corpus of recordings, this chip
# cannot be used for compute.
DISPLAY_CHIPS = {("1002", "515e")}


def convert(corpus, cases):
    for case in cases:
        if case["id"].startswith("mpibind/") or case["id"].startswith("hwloc-xml/"):
            yield convert_topology(os.path.join(corpus, case["path"]), case)


def convert_topology(path, case):
    machine = Machine("hwloc-" + case["id"].split("/")[1], case_source(case))
    copy_stated(machine, case)
    root = ElementTree.parse(path).getroot()
    read_host(machine, root.find("object"))
    functions = []
    for top in root.iter("object"):
        if top.get("type") == "Machine":
            walk(top, (), None, functions)
    facts = {}
    expected = []
    for function in sorted(functions, key=lambda f: f["address"]):
        add_function(machine, function)
        expected.append(expect(machine, function, facts))
    for api, devices in sorted(facts.items()):
        machine.probe(api, sorted(devices, key=lambda d: d["index"]))
    add_pci_names(machine, functions)
    if "nvml" in facts or "cuda" in facts:
        machine.nvidia_nodes()
    machine.expected = {"gpus": expected, "software": [], "accelerators": []}
    machine.converted("The tree holds display, co-processor and accelerator functions only; hwloc's XML gives class, ids, "
                      "revision and the bridges above them. The last two digits of `class` (programming interface) are 00.")
    if facts:
        machine.converted("hwloc placed each API's object by the PCI address that the API itself reports, so the facts "
                          "carry that address (NVML with its 8-digit domain), and the expectation is the placement.")
    return machine


def read_host(machine, top):
    infos = infos_of(top)
    machine.host["arch"] = infos.get("Architecture")
    machine.host["kernel"] = infos.get("OSRelease")


def infos_of(element):
    return {info.get("name"): info.get("value") for info in element.findall("info")}


def walk(element, bridges, root, functions):
    """Collects GPU-like functions, with the bridges above them and the API objects below them."""
    for child in element.findall("object"):
        kind = child.get("type")
        if kind == "Bridge" and child.get("bridge_pci") and not child.get("pci_busid"):
            domain, bus = re.match(r"(\w+):\[(\w+)-", child.get("bridge_pci")).groups()
            walk(child, (), f"pci{domain}:{bus}", functions)
        elif kind == "Bridge":
            walk(child, bridges + (child.get("pci_busid"),), root, functions)
        elif kind == "PCIDev":
            if child.get("pci_type").startswith(GPU_CLASSES):
                functions.append({"address": child.get("pci_busid"), "type": child.get("pci_type"), "bridges": bridges,
                                  "root": root, "infos": infos_of(child),
                                  "objects": [o for o in child.findall("object") if o.get("type") == "OSDev"]})
        else:
            walk(child, bridges, root, functions)


def ids_of(function):
    return PCI_TYPE.match(function["type"]).groups()


def add_function(machine, function):
    pci_class, vendor, device, sub_vendor, sub_device, revision = ids_of(function)
    address = function["address"]
    machine.pci_device(address, function["bridges"], function["root"])
    machine.pci_ids(address, pci_class + "00", vendor, device, (sub_vendor, sub_device), revision)
    names = [o.get("name") for o in function["objects"]]
    if any(name.startswith(("cuda", "nvml")) for name in names):
        machine.driver(address, "nvidia")
        machine.converted("CUDA or NVML answers only when the nvidia module is bound: the driver link follows from that.")
    elif vendor == "1002" and any(name.startswith("opencl") for name in names):
        machine.driver(address, "amdgpu")
        machine.converted("AMD's OpenCL answers only when amdgpu is bound: the driver link follows from that.")
    for name in names:
        if name.startswith(("card", "renderD")):
            machine.drm_node(address, name)


def expect(machine, function, facts):
    pci_class, vendor, device, sub_vendor, sub_device, revision = ids_of(function)
    address = function["address"]
    apis = {}
    readings = []
    uuid = None
    for element in function["objects"]:
        match = API_NAME.match(element.get("name"))
        if not match:
            continue
        infos = infos_of(element)
        api = {"rsmi": "rocm_smi"}.get(match[1] or match[3], match[1] or match[3])
        index = int(match[2] or match[5])
        device_facts = facts_of(api, index, infos, address)
        facts.setdefault(api, []).append(device_facts)
        apis[api] = {**answered(index=index, name=infos["GPUModel"]), "index": index, "joined_by": "pci"}
        if device_facts["memory"]:
            readings.append({"source": api, "bytes": device_facts["memory"]["total"]})
        uuid = uuid or infos.get("NVIDIAUUID")
    display = vendor in ("1a03", "102b") or (vendor, device) in DISPLAY_CHIPS
    kind = "display-only" if display else "discrete"
    memory_kind = "dedicated"
    if vendor == "1002" and not display:
        kind = gap("class 0300 and OpenCL's size alone do not tell a card from an APU", kind)
        memory_kind = gap("follows the kind", memory_kind)
    expected = gpu(address, kind=kind, vendor=VENDORS[vendor],
                   pci={"address": address, "vendor_id": vendor, "device_id": device,
                        "subsystem_vendor_id": sub_vendor, "subsystem_device_id": sub_device,
                        "class": pci_class, "revision": revision})
    if apis:
        expected["apis"] = apis
    if readings:
        expected["memory"] = {"kind": memory_kind, "evidence": {"_contains": readings}}
    if uuid:
        expected["identity"] = {"nvidia_uuid": uuid}
    return expected


def facts_of(api, index, infos, address):
    """Returns the facts about an API object in the XML, with the same keys as the worker's facts."""
    size = infos.get("CUDAGlobalMemorySize") or infos.get("OpenCLGlobalMemorySize")
    total = int(re.match(r"\d+", size)[0]) * 1024 if size else None
    facts = {"index": index, "name": infos["GPUModel"], "vendor_id": None, "device_id": None, "pci": address,
             "uuid": infos.get("NVIDIAUUID"), "drm": None, "type": None,
             "memory": {"total": total, "free": None} if total else None}
    if api == "nvml":
        facts["pci"] = "0000" + address.upper()
    if api == "opencl":
        facts["platform_name"] = infos["OpenCLPlatformName"]
        facts["compute_units"] = int(infos["OpenCLComputeUnits"])
    if "CUDAMultiProcessors" in infos:
        facts["multiprocessors"] = int(infos["CUDAMultiProcessors"])
    return facts


def add_pci_names(machine, functions):
    named = []
    for function in sorted(functions, key=lambda f: f["address"]):
        _, vendor, device, _, _, _ = ids_of(function)
        if function["infos"].get("PCIDevice"):
            named.append({"index": len(named), "name": function["infos"]["PCIDevice"], "vendor_id": vendor,
                          "device_id": device, "pci": function["address"],
                          "vendor_name": function["infos"].get("PCIVendor")})
    if named:
        machine.probe("pci", named)
