# SPDX-License-Identifier: Apache-2.0
"""Reads AMD's and ATI's GPUs from amdgpu and radeon. For GPUs that amdgpu finds by IP discovery, reads AMD's own list and pci.ids."""

import re

from . import kernel

VENDOR = 0x1002
# Code names in the kernel that differ from the usual code name of a chip.
RENAMED = {"SIENNA_CICHLID": "navi21", "NAVY_FLOUNDER": "navi22", "DIMGREY_CAVEFISH": "navi23", "BEIGE_GOBY": "navi24",
           "YELLOW_CARP": "rembrandt", "CYAN_SKILLFISH": "cyan-skillfish"}
# Targets of chips that the kernel's compute driver does not support. Source: LLVM's table of
# processors.
LLVM_GFX = {"tahiti": "gfx600", "pitcairn": "gfx601", "verde": "gfx601", "oland": "gfx602", "hainan": "gfx602",
            "bonaire": "gfx704", "kabini": "gfx703", "mullins": "gfx703", "topaz": "gfx802", "stoney": "gfx810"}
# Chips that the kernel finds by IP discovery: the beginning of the name in pci.ids → (chip, target). The
# longest match is used.
BY_NAME = {
    "VanGogh": ("vangogh", "gfx1033"), "Sephiroth": ("vangogh", "gfx1033"), "Mendocino": ("mendocino", "gfx1036"),
    "Raphael": ("raphael", "gfx1036"), "Granite Ridge": ("granite-ridge", "gfx1036"),
    "Phoenix": ("phoenix", "gfx1103"), "HawkPoint": ("hawk-point", "gfx1103"), "Strix": ("strix-point", "gfx1150"),
    "Strix Halo": ("strix-halo", "gfx1151"),
    "Krackan": ("krackan", "gfx1152"), "Krackan2": ("krackan2", "gfx1153"), "Navi 10": ("navi10", "gfx1010"),
    "Navi 12": ("navi12", "gfx1011"), "Navi 14": ("navi14", "gfx1012"), "Navi 21": ("navi21", "gfx1030"),
    "Navi 22": ("navi22", "gfx1031"), "Navi 23": ("navi23", "gfx1032"), "Navi 24": ("navi24", "gfx1034"),
    "Navi 31": ("navi31", "gfx1100"), "Navi 32": ("navi32", "gfx1101"), "Navi 33": ("navi33", "gfx1102"),
    "Navi 44": ("navi44", "gfx1200"), "Navi 48": ("navi48", "gfx1201"), "Aqua Vanjaram": ("mi300", "gfx942"),
    "Oland": ("oland", "gfx602"), "Bonaire": ("bonaire", "gfx704"), "Ellesmere": ("polaris10", "gfx803"),
    "Lexa": ("polaris12", "gfx803"), "Tonga": ("tonga", "gfx802"),
}
# Targets that only AMD's device list contains → (chip, target) in the kernel.
BY_TARGET = {"gfx804": ("polaris12", "gfx803"), "gfx902": ("raven", "gfx902"), "gfx950": ("mi350", "gfx950")}
UNIFIED = {0x74a0}  # MI300A: processors and GPU share one memory
DISPLAY_ONLY = {0x515e, 0x5969}  # ES1000, a display chip in servers; radeon is its driver, but it is not used for rendering
APUS = {"vangogh", "mendocino", "raphael", "granite-ridge", "phoenix", "hawk-point", "strix-point", "strix-halo",
        "krackan", "krackan2", "rembrandt", "renoir", "raven"}
NO_GPU = re.compile(r"Audio|USB|Bridge|Port of|HDMI|Controller \[|Switch")
VIRTUAL = re.compile(r"\bVF\b|MxGPU|\bXTV\b")
SECOND_HEAD = re.compile(r"\(Secondary\)")
DISCOVERED = re.compile(r"\{GDT_\w+, 0x([0-9A-Fa-f]{4}), 0x\w+, \w+, (true|false), \"(\w[^\"]*)\", \"([^\"]*)\"\}")


def chip_word(name):
    return RENAMED.get(name, name.lower().replace("_", "-"))


def device_list(text):
    """Returns {device id: (architecture as spelled in the list, whether it is an APU, first name)} from AMD's device list."""
    found = {}
    for device, is_apu, architecture, name in DISCOVERED.findall(text):
        found.setdefault(int(device, 16), (architecture, is_apu == "true", name))
    return found


def flags_of(row):
    words = [word.strip() for word in row.driver_data.split("|")]
    return words[0], words[1:]


def record_of(chip, is_integrated, gfx, sources, role="gpu"):
    return {"chip": chip, "role": role, "form": "integrated" if is_integrated else "discrete",
            "memory": "shared" if is_integrated else "dedicated", "architecture": gfx, "source": sources}


def by_kernel(linux):
    """Returns records of the ids that the tables of radeon and amdgpu contain. If both tables contain an id, uses amdgpu's row."""
    targets, records = kernel.gfx_of_chips(linux), {}
    for driver, flag in (("radeon", "RADEON_IS_IGP"), ("amdgpu", "AMD_IS_APU")):
        for row in kernel.rows_of(linux, driver):
            if row.device is None:
                continue
            name, flags = flags_of(row)
            chip = chip_word(name.removeprefix("CHIP_"))
            gfx = targets.get(name) or LLVM_GFX.get(chip)
            sources = [driver] + (["kernel"] if name in targets else ["llvm"] if gfx else [])
            records[row.device] = record_of(chip, flag in flags, gfx, sources)
    return records


def by_name(name):
    found = [prefix for prefix in BY_NAME if name.startswith(prefix)]
    return BY_NAME[max(found, key=len)] if found and not NO_GPU.search(name) else None


def chip_of_target(gfx):
    """Returns the first chip in the table with a given gfx target, for ids that only AMD's device list contains."""
    return BY_TARGET.get(gfx) or next((pair for pair in BY_NAME.values() if pair[1] == gfx), (None, gfx))


def discovered(names, listed):
    """Returns records of the ids that no kernel table contains, from pci.ids and AMD's device list, and the disagreements between these two
    sources."""
    records, doubts = {}, []
    for device in sorted(set(names) | set(listed)):
        named, (gfx, is_apu, _) = by_name(names.get(device, "")), listed.get(device, (None, None, None))
        if gfx and not gfx.startswith("gfx"):
            gfx = None
        if not named and not gfx:
            continue
        chip, target = named or chip_of_target(gfx)
        if chip == "mi300" and "MI35" in names.get(device, ""):
            chip, target = BY_TARGET["gfx950"]
        if gfx and gfx != target:
            doubts.append(f"1002:{device:04x}: {target} by its chip, {gfx} by AMD's device list")
        integrated = is_apu if is_apu is not None else chip in APUS
        others = ["amd-device-info"] if gfx else ["rocm-matrix"] if target == "gfx950" else []
        sources = (["pci.ids"] if named else []) + others
        records[device] = record_of(chip, integrated, target, sources)
    for device in UNIFIED & set(records):
        records[device] |= {"form": "integrated", "memory": "unified"}
    return records, doubts


def facts(linux, names, listed):
    """Returns {device id: record} of every GPU of vendor 1002, and the disagreements between the sources."""
    listed_by_kernel = by_kernel(linux)
    others = [{device: says for device, says in table.items() if device not in listed_by_kernel}
              for table in (names, listed)]
    records, doubts = discovered(*others)
    for device, record in listed_by_kernel.items():
        other = listed.get(device)
        if other and other[1] != (record["form"] == "integrated"):
            doubts.append(f"1002:{device:04x}: the kernel says {record['form']}, AMD's device list otherwise")
        if other and other[0].startswith("gfx") and other[0] != record["architecture"]:
            doubts.append(f"1002:{device:04x}: {record['architecture']} by the kernel, {other[0]} by AMD's device list")
        records[device] = record
    for device in kernel.unsupported_amd(linux) - set(records):
        second = SECOND_HEAD.search(names.get(device, ""))
        records[device] = {"chip": None if second else "rage", "role": "neither" if second else "display",
                           "source": ["pci.ids"] if second else ["amdgpu"]}
    for device in DISPLAY_ONLY & set(records):
        records[device] = {"chip": "es1000", "role": "display", "source": ["radeon", "pci.ids"]}
    for device, name in names.items():
        if SECOND_HEAD.search(name) and device not in listed_by_kernel:
            records[device] = {"chip": None, "role": "neither", "source": ["pci.ids"]}
        elif VIRTUAL.search(name) and device in records:
            records[device] |= {"form": "virtual-function"}
            records[device]["source"] = [*records[device]["source"], "pci.ids"]
    return records, doubts
