# SPDX-License-Identifier: Apache-2.0
"""Reads NVIDIA's GPUs: names of chips from pci.ids, chip numbers from nouveau, compute capabilities by chip number from Mesa, and
chips without video engines from NVIDIA's kernel modules and nouveau."""

import re

VENDOR = 0x10de
CODE = re.compile(r"^(GK11x|GB6|NV\w+?|(?:C|G)\d\d[a-z]?|MCP\w+|G[A-Z]\d\w+?|AD\d+|TU\d+)"
                  r"(GLM|GL|BM|BGL|CM|CGL|C|M|PV|G)?\b")
NO_GPU = re.compile(r"Audio|USB|UCSI|SMBus|SMU|Bridge|Co-?processor|Memory|Ethernet|Switch|IDE|SATA|AHCI|RAID|"
                    r"Controller|PCIe host|PCI bridge|PCI Express|LPC|Host|System Management|FPGA|PEATRANS|Modem|"
                    r"Serial|FireWire", re.I)
PRODUCT = re.compile(r"^\| (.+?)\s*\| ([0-9A-F]{4})(?: [0-9A-F]{4})*\s*\|$", re.M)
SM = re.compile(r"chipset (>=|==) (0x[0-9a-fA-F]+)\)\s*return (\d+);")
INTEGRATED = {"c51", "c61", "c67", "c68", "c73", "c77", "c78", "c79", "mcp79", "mcp89", "nv1a", "nv1f", "nv0a", "nv2a",
              "gb20b", "gb10b"}
# Chip names in pci.ids → chip names in nouveau.
CHIPSETS = {"c51": "C51", "c61": "C61", "c67": "C67", "c68": "C68", "c73": "C73", "c77": "MCP77", "c78": "MCP78",
            "c79": "MCP79", "gt200b": "GT200", "gk180": "GK110B", "nv48": "NV45", "nv37": "NV36", "nv38": "NV35",
            "nv39": "NV36", "nv19": "NV18"}
# Compute capabilities of chips that nouveau or this Mesa version does not contain. Source: NVIDIA's list of CUDA GPUs.
CAPABILITY = {"gk210": "3.7", "gb100": "10.0", "gb102": "10.0", "gb110": "10.3", "gb112": "10.3", "gb202": "12.0",
              "gb203": "12.0", "gb205": "12.0", "gb206": "12.0", "gb207": "12.0", "gb20b": "12.1", "gb10b": "11.0"}
# For these chips, NVIDIA's list contains compute capability 1.1 and Mesa contains 1.2, so chips.json contains no compute capability.
DISPUTED = {"c77", "c78", "c79", "mcp79"}
SUPERCHIP = re.compile(r"GH200|GB200|GB300")
NO_DRIVER = re.compile(r"^NV[1-3]$")
CLASS_LIST = "src/nvidia/generated/g_gpu_class_list.c"
CLASSES = re.compile(r"^gpuGetEngClassDescriptorList_(\w+)\(.*?^\}", re.M | re.S)
# For these systems on a chip, the lists contain only display engines, because all other engines have other drivers.
DISPLAY_LISTS = {"T234D", "T264D"}


def capability_by_chipset(text):
    """Returns Mesa's sm_for_chipset as a list of (operator, number, sm), in Mesa's order."""
    body = text[text.find("sm_for_chipset(uint16_t"):]
    return [(how, int(number, 16), int(sm)) for how, number, sm in SM.findall(body[:body.find("\n}")])]


def capability(chipset, rules):
    """Returns the compute capability of a chip, for example "8.6" for 0x172; None for a chip that cannot be used for compute."""
    for how, number, sm in rules:
        if chipset == number if how == "==" else chipset >= number:
            return f"{sm // 10}.{sm % 10}"
    return None


def chip_of(name):
    """Returns the chip in a device's name, for example ga102 for "GA102GL [RTX A6000]"; None if the device is not a GPU."""
    if name.startswith("nForce") and "NV1A" in name:
        return "nv1a"
    if name.startswith("nForce2 IGP"):
        return "nv1f"
    found = CODE.match(name)
    if not found or NO_GPU.search(name) or (name.startswith("MCP") and "[" not in name):
        return None
    chip = found.group(1).lower()
    if found.group(2) == "BGL":  # GK110BGL is a GK110B, but GP107BM is a GP107
        return chip + "b"
    return {"mcp7a": "mcp79", "g96c": "g96"}.get(chip, chip)


def chipset_of(chip, chipsets):
    known = {name.lower(): number for name, number in chipsets.items()}
    return known.get(CHIPSETS.get(chip, chip).lower())


def products(readme):
    """Returns {device id: name} of the GPUs that the open kernel modules support."""
    found = {}
    for name, device in PRODUCT.findall(readme):
        found.setdefault(int(device, 16), name)
    return found


def is_integrated(chip):
    return chip in INTEGRATED


def architecture_of(chip, chipsets, rules):
    """Returns the compute capability of a chip, and its sources."""
    if chip in CAPABILITY:
        return CAPABILITY[chip], ["nvidia-list"]
    number = chipset_of(chip, chipsets)
    if number is None or chip in DISPUTED:
        return None, []
    found = capability(number, rules)
    return found, ["nouveau", "mesa"] if found else []


def memory_of(chip, name):
    if chip == "gb20b" or SUPERCHIP.search(name):
        return "unified"
    return "shared" if is_integrated(chip) else "dedicated"


def engines_by_class(text):
    """Returns {chip: directions} from the classes that the kernel modules offer on each chip: NVDEC and NVENC each have a class."""
    return {chip.lower(): {word for word, name in (("decode", "_VIDEO_DECODER"), ("encode", "_VIDEO_ENCODER"))
                           if name in body}
            for chip, body in ((found.group(1), found.group()) for found in CLASSES.finditer(text))
            if chip not in DISPLAY_LISTS}


def engines_by_nouveau(members):
    """Returns {chip: directions} from nouveau's members. Leaves out families in which no chip has NVDEC, because nouveau does not know the video
    engines of these families, and also systems on a chip, whose video engines have another driver."""
    engines = {name.lower(): {word for word, member in (("decode", "nvdec"), ("encode", "nvenc")) if member in found}
               for name, found in members.items() if "pci" in found}
    known = {chip[:2] for chip, directions in engines.items() if directions}
    return {chip: directions for chip, directions in engines.items() if chip[:2] in known}


def video_rows(class_list, members):
    """Returns the chips without an engine for decoding or encoding. NVIDIA's own list has precedence for the chips that it contains."""
    listed = engines_by_class(class_list)
    by_nouveau = engines_by_nouveau(members)
    rows = []
    for source, engines in (("nvidia-classes", listed),
                            ("nouveau", {chip: found for chip, found in by_nouveau.items() if chip not in listed})):
        lacking = {}
        for chip, found in sorted(engines.items()):
            lacking.setdefault(" ".join(word for word in ("decode", "encode") if word not in found), []).append(chip)
        rows += [{"vendor": "nvidia", "chips": " ".join(chips), "lacks": lacks, "source": source}
                 for lacks, chips in sorted(lacking.items()) if lacks]
    return rows


def facts(names, readme, chipsets, rules):
    """Returns {device id: record} of every GPU of vendor 10de."""
    records, supported = {}, products(readme)
    for device in sorted(set(names) | set(supported)):
        name = names.get(device, "")
        chip = chip_of(name)
        if not chip and device not in supported:
            continue
        version, sources = architecture_of(chip, chipsets, rules)
        role = "display" if NO_DRIVER.match((chip or "").upper()) else "gpu"
        records[device] = {"chip": chip, "role": role, "form": "integrated" if is_integrated(chip) else "discrete",
                           "memory": memory_of(chip, name), "architecture": version,
                           "called": supported.get(device) if not name else None,
                           "source": (["pci.ids"] if name else ["nvidia-open"]) + sources}
    return records
