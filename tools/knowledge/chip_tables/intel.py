# SPDX-License-Identifier: Apache-2.0
"""Reads Intel's GPUs: groups of ids from the kernel, and architectures and names from Intel's compute runtime."""

import re

from . import c_tables, kernel

HEADER = "include/drm/intel/pciids.h"
PLATFORMS = "third_party/aot_config_headers/platforms.h"
CONFIGS = "shared/source/dll/devices/product_config_base.inl"
NAMES = "shared/source/dll/devices/devices_base.inl"
# Groups in the header that are variants of the same chip, for example with more units, another display or another package.
VARIANT = re.compile(r"_(ULT|ULX|GT\d|RSVD|PORT|F|D|M|E|U|Q|G)(?=_|$)")
DISCRETE = ("dg1", "dg2", "ats", "pvc", "bmg", "cri")


def chip_of_group(group):
    """Returns the chip of a group, for example dg2-g10 for INTEL_DG2_G10_M_IDS and skl for INTEL_SKL_ULT_GT2_IDS."""
    name = group.removeprefix("INTEL_").removesuffix("_IDS")
    if name.startswith(("I8", "I9", "G33", "G45", "GM45")):
        return name.lower()
    if name.startswith("ARL_"):
        return name.lower().replace("_", "-")
    while VARIANT.search(name):
        name = VARIANT.sub("", name)
    name = re.sub(r"^CFL_[SH]$", "CFL", name.removeprefix("AML_"))
    return re.sub(r"^(adl|rpl)([spnu])$", r"\1-\2", name.lower().replace("_", "-"))


def groups(header):
    """Returns {device id: chip}. The chip of an id is the smallest group in the kernel's header that contains the id directly."""
    found = {}
    for name, (parameters, body) in c_tables.macros_in(header).items():
        if parameters and name.startswith("INTEL_") and name.endswith("_IDS"):
            for word in re.findall(r"MACRO__\(\s*0x([0-9A-Fa-f]+)", body):
                found.setdefault(int(word, 16), chip_of_group(name))
    return found


def ip_of_configs(text):
    """Returns {configuration: IP version}, for example "12.55.8"."""
    return dict(re.findall(r"^\s*(\w+) = 0x[0-9a-f]+, // ([\d.]+)$", text, re.M))


def id_lists(runtime):
    """Returns {list name: ids} from the runtime's device_ids_configs files."""
    paths = [path for path in runtime.files("shared/source/", "") if "/device_ids_configs_" in path]
    text = "\n".join(c_tables.without_comments(runtime.read(path)) for path in paths)
    lists = {}
    for name, body in re.findall(r"std::vector<unsigned short> (\w+)\{([^}]*)\}", text):
        lists[name] = [int(word, 16) for word in re.findall(r"0x([0-9A-Fa-f]+)", body)]
    return lists


def architectures(runtime):
    """Returns {device id: (configuration without its stepping, IP version of the last stepping)}."""
    versions, lists, found = ip_of_configs(runtime.read(PLATFORMS)), id_lists(runtime), {}
    for config, name in re.findall(r"DEVICE_CONFIG\((\w+), \w+, (\w+),", runtime.read(CONFIGS)):
        chip = re.sub(r"_[ABC]\d\w*$", "", config).lower().replace("_", "-")
        for device in lists.get(name, ()):
            found[device] = (chip, versions[config])
    return found


def names(runtime):
    """Returns {device id: name}, for names in the runtime that are more specific than "Graphics"."""
    text = runtime.read(NAMES)
    pairs = re.findall(r"NAMEDDEVICE\(0x([0-9A-Fa-f]+), \w+, \"([^\"]+)\"\)", text)
    plain = {int(device, 16): re.sub(r"\((R|TM)\)", "", name) for device, name in pairs}
    return {device: name for device, name in plain.items() if name not in ("Intel Graphics", "Intel UHD Graphics")}


def integrated(linux):
    """Returns {device id: whether the device is integrated according to the kernel's drivers}."""
    found = {}
    for driver in ("i915", "xe"):
        discrete = kernel.discrete_descriptions(linux.read(kernel.DRIVERS[driver][0]))
        for row in kernel.rows_of(linux, driver):
            found[row.device] = kernel.is_integrated_intel(row, discrete)
    return found


# The chip's name. If the kernel treats a configuration as a separate board, the kernel's name for the board is kept.
def chip_word(kernel_chip, runtime_chip):
    if kernel_chip.startswith(("ats-m", "adl-", "rpl-", "arl-", "tgl", "rkl", "dg1", "pvc")):
        return kernel_chip
    return runtime_chip or kernel_chip


def mesa_chips(mesa):
    """Returns {device id: chip} from Mesa's lists, for a few ids that the kernel has removed."""
    text = "\n".join(mesa.read(f"include/pci_ids/{name}_pci_ids.h") for name in ("iris", "crocus"))
    return {int(device, 16): family.split("_")[0] for device, family in re.findall(r"CHIPSET\(0x(\w+),\s*(\w+),", text)}


def facts(linux, runtime, mesa):
    """Returns {device id: record} of every Intel GPU that the kernel's drivers, the runtime or Mesa know."""
    chips, known, forms, called = groups(linux.read(HEADER)), architectures(runtime), integrated(linux), names(runtime)
    by_mesa, records = mesa_chips(mesa), {}
    for device in sorted(set(forms) | set(known) | set(by_mesa)):
        runtime_chip, version = known.get(device, ("", None))
        chip = chip_word(chips.get(device, ""), runtime_chip) or runtime_chip or by_mesa.get(device)
        is_integrated = forms.get(device, chip.split("-")[0] not in DISCRETE)
        sources = [word for word, there in (("kernel", device in forms), ("intel-runtime", device in known)) if there]
        sources = sources or ["mesa"]
        records[device] = {"chip": chip, "role": "gpu", "form": "integrated" if is_integrated else "discrete",
                           "memory": "shared" if is_integrated else "dedicated", "architecture": version,
                           "called": called.get(device), "source": sources}
    fill_versions(records)
    return records


def fill_versions(records):
    """Adds the IP version to ids that the runtime does not contain, if all other ids of the chip have the same version."""
    versions = {}
    for record in records.values():
        if record["architecture"]:
            versions.setdefault(record["chip"], set()).add(record["architecture"])
    for record in records.values():
        if not record["architecture"] and len(versions.get(record["chip"], ())) == 1:
            record["architecture"] = next(iter(versions[record["chip"]]))
            record["source"].append("intel-runtime")


def without_driver(linux):
    """Returns {device id: record} of graphics devices that only have a frame-buffer or display driver: i810, i815, gma500."""
    display = {"role": "display", "form": "integrated", "memory": "shared", "source": ["kernel"]}
    chips = groups(linux.read(HEADER))
    records = {device: display | {"chip": chip} for device, chip in chips.items() if chip in ("i810", "i815")}
    for row in kernel.rows_of(linux, "gma500"):
        chip = re.sub(r"\W|_chip_ops|long", "", row.driver_data)
        records[row.device] = display | {"chip": {"psb": "poulsbo", "cdv": "cedartrail"}.get(chip, chip)}
    return records
