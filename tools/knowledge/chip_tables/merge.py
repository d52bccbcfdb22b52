# SPDX-License-Identifier: Apache-2.0
"""Merges the vendors' records with the hand-written records, and combines ids with equal facts into one row."""

import json
import pathlib

from . import amd, intel, kernel, nvidia, pci_ids
from .ids import hex_id, id_list, ids_in
from .lint import chip_order

HERE = pathlib.Path(__file__).parent
INTEL = 0x8086
NO_NAMES = {"MxGPU", "Radeon Graphics", "Radeon Series"}  # names that many different cards share
FIELDS = ("chip", "role", "kind", "form", "memory", "architecture", "name", "class")


def table(name):
    """Returns one of the hand-written tables."""
    return json.loads((HERE / name).read_text(encoding="utf-8"))["rows"]


def shortest(name):
    """Returns a name in a device list without the words that all names in the list contain."""
    return name.replace("AMD ", "").replace("NVIDIA ", "").replace("(TM)", "").replace("  ", " ").strip()


def with_name(record, device, names):
    """Adds the name to the record if pci.ids contains no name."""
    called = record.pop("called", None)
    if called and device not in names and shortest(called) not in NO_NAMES:
        record["name"] = shortest(called)
    return record


def gathered(sources):
    """Returns ({vendor: {device: record}}, disagreements) from the tables of other projects."""
    names = {vendor: devices for vendor, (_, devices) in pci_ids.read(sources["pci_ids"].read("pci.ids")).items()}
    linux, runtime = sources["linux"], sources["intel_runtime"]
    listed = amd.device_list(sources["amd_devices"].read("DeviceInfo.cpp"))
    of_amd, doubts = amd.facts(linux, names[amd.VENDOR], listed)
    for device in set(of_amd) - set(names[amd.VENDOR]):
        name = listed.get(device, (None, None, ""))[2]
        of_amd[device]["called"] = name if name[4:5] != ":" else None
    rules = nvidia.capability_by_chipset(sources["mesa"].read("src/nouveau/winsys/nouveau_device.c"))
    of_nvidia = nvidia.facts(names[nvidia.VENDOR], sources["nvidia_open"].read("README.md"),
                             kernel.nouveau_chipsets(linux), rules)
    of_intel = intel.facts(linux, runtime, sources["mesa"]) | intel.without_driver(linux)
    found = {amd.VENDOR: of_amd, nvidia.VENDOR: of_nvidia, INTEL: of_intel}
    for vendor, records in found.items():
        for device, record in records.items():
            with_name(record, device, names[vendor])
    return found, doubts


def add_display_drivers(found, linux):
    """Adds ids from the kernel's display-only drivers, for vendors that the other tables do not contain."""
    for driver in kernel.DRIVERS:
        if kernel.role_of(linux, driver) != "display":
            continue
        for row in kernel.rows_of(linux, driver):
            record = {"role": "display", "source": ["kernel"]}
            found.setdefault(row.vendor, {}).setdefault(row.device, record)


def hand_rows(found):
    """Replaces records with hand-written rows. Returns the hand-written rows that apply to all other ids of a vendor."""
    general = []
    for row in table("cards.json"):
        fields = {key: row[key] for key in FIELDS if row.get(key)}
        record = fields | {"source": row["source"].split()}
        if row["ids"] == "*":
            general.append({"vendor_id": row["vendor_id"], "ids": "*"} | record)
            continue
        for device in ids_in(row["ids"]):
            found.setdefault(int(row["vendor_id"], 16), {})[device] = dict(record)
    return general


def as_row(vendor, ids, record):
    row = {"vendor_id": vendor, "ids": ids}
    row.update({key: record[key] for key in FIELDS if record.get(key)})
    return row | {"source": " ".join(dict.fromkeys(record["source"]))}


def grouped(vendor, records):
    """Returns the rows of a vendor. Ids with equal records share a row."""
    groups = {}
    for device, record in records.items():
        key = json.dumps([{name: record.get(name) for name in FIELDS}, list(dict.fromkeys(record["source"]))])
        groups.setdefault(key, ([], record))[0].append(device)
    return [as_row(hex_id(vendor), id_list(devices), record) for devices, record in groups.values()]


def video(sources):
    """Returns all rows of "video": chips without a video engine."""
    return nvidia.video_rows(sources["nvidia_open"].read(nvidia.CLASS_LIST), kernel.nouveau_members(sources["linux"]))


def chips(sources):
    """Returns all rows of "chips", sorted by vendor and first id, and the disagreements between the sources."""
    found, doubts = gathered(sources)
    add_display_drivers(found, sources["linux"])
    general = hand_rows(found)
    rows = [row for vendor, records in found.items() for row in grouped(vendor, records)]
    rows += [as_row(row["vendor_id"], "*", row) for row in general]
    rows.sort(key=chip_order)
    return rows, doubts
