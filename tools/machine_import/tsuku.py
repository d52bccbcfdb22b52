# SPDX-License-Identifier: Apache-2.0
"""Converts tsuku's detection fixtures, whose trees contain only vendor and class files."""

import json
import os

from .machine import Machine, gpu

VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
TREES = "selection/raw/tsuku/internal/platform/testdata/gpu"


def convert(corpus, _cases):
    with open(f"{corpus}/selection/cases.json", encoding="utf-8") as file:
        cases = {case["id"]: case for case in json.load(file)["cases"]}
    for name in sorted(os.listdir(f"{corpus}/{TREES}")):
        yield convert_tree(f"{corpus}/{TREES}/{name}", name, cases[f"tsuku-{name}"])


def convert_tree(folder, name, case):
    stated = case["stated_at"]
    machine = Machine(f"tsuku-{name}", {
        "repo": stated["repo"], "commit": stated["commit"], "licence": stated["licence"],
        "path": f"internal/platform/testdata/gpu/{name}"})
    machine.stated(f"detected GPU: {case['expect']['gpu']}", f"{stated['path']} {stated['line']}")
    gpus = []
    devices = "sys/bus/pci/devices"
    for address in sorted(os.listdir(f"{folder}/{devices}")):
        for file_name in sorted(os.listdir(f"{folder}/{devices}/{address}")):
            with open(f"{folder}/{devices}/{address}/{file_name}", "rb") as file:
                machine.text(f"{devices}/{address}/{file_name}", file.read())
        pci_class = machine.files[f"{devices}/{address}/class"].decode().strip()
        vendor = machine.files[f"{devices}/{address}/vendor"].decode().strip()
        if pci_class.startswith("0x03"):
            gpus.append(gpu(address, vendor=VENDORS[vendor],
                            pci={"address": address, "vendor_id": vendor[2:], "device_id": None, "class": pci_class[2:6]}))
    machine.expected = {"gpus": gpus, "software": [], "accelerators": []}
    machine.converted("Copied as it is: folders instead of links, two files per function, no device id.")
    return machine
