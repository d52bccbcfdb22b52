# SPDX-License-Identifier: Apache-2.0
"""Restores sysfs trees from `rocm-smi --json`, which prints the content of amdgpu's sysfs files."""

import json
import os

from .machine import Machine, case_source, copy_stated, gpu

SYSFS = {
    "VRAM Total Memory (B)": "mem_info_vram_total", "VRAM Total Used Memory (B)": "mem_info_vram_used",
    "VIS_VRAM Total Memory (B)": "mem_info_vis_vram_total", "VIS_VRAM Total Used Memory (B)": "mem_info_vis_vram_used",
    "GTT Total Memory (B)": "mem_info_gtt_total", "GTT Total Used Memory (B)": "mem_info_gtt_used",
    "GPU memory vendor": "mem_info_vram_vendor", "Card SKU": "product_number",
}


def convert(corpus, cases):
    for case in cases:
        if case["id"].startswith("telegraf/rocm/"):
            yield convert_answer(os.path.join(corpus, case["path"]), case)


def convert_answer(path, case):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    name = case["id"].split("/")[2].removesuffix(".json").replace("_", "-").lower()
    machine = Machine("rocm-smi-" + name, case_source(case))
    copy_stated(machine, case)
    machine.host["kernel"] = None
    gpus, names = [], []
    for key, card in sorted(document.items()):
        if key.startswith("card"):
            gpus.append(add_card(machine, key, card, names))
    if names:
        machine.probe("pci", names)
    machine.expected = {"gpus": gpus, "software": [], "accelerators": []}
    machine.converted("rocm-smi prints mem_info_*, unique_id, device, revision and the slot from sysfs; they are put back. "
                      "The class is not printed: 0x030000, and 0x038000 for the MI100. `Card SKU` is put in product_number "
                      "only to be read as a board's mark.")
    return machine


def add_card(machine, key, card, names):
    address = card["PCI Bus"].lower()
    device = (card.get("Device ID") or card["GPU ID"])[2:].zfill(4)
    series = card.get("Card series") or card.get("Card Series")
    path = machine.pci_device(address)
    revision = card["Device Rev"][2:].zfill(2) if "Device Rev" in card else None
    machine.pci_ids(address, "038000" if device == "738c" else "030000", "1002", device, None, revision)
    machine.driver(address, "amdgpu")
    machine.drm_node(address, key)
    for label, file_name in SYSFS.items():
        if label in card:
            machine.text(f"{path}/{file_name}", card[label] + "\n")
    expected = gpu(address, kind="discrete", vendor="amd", pci={"address": address, "vendor_id": "1002", "device_id": device},
                   driver={"name": "amdgpu"},
                   memory={"kind": "dedicated", "physical": int(card["VRAM Total Memory (B)"]),
                           "free": int(card["VRAM Total Memory (B)"]) - int(card["VRAM Total Used Memory (B)"])})
    if card["Unique ID"] != "N/A":
        unique = f"{int(card['Unique ID'], 16):016x}"
        machine.text(f"{path}/unique_id", unique + "\n")
        expected["identity"] = {"hip_unique_id": unique}
    if series:
        names.append({"index": len(names), "name": series, "vendor_id": "1002", "device_id": device, "pci": address,
                      "vendor_name": card.get("Card vendor") or card.get("Card Vendor")})
        expected["name"] = f"{names[-1]['vendor_name']} {series}"
    return expected
