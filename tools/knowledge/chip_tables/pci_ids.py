# SPDX-License-Identifier: Apache-2.0
"""Reads the names of vendors and devices from pci.ids."""

import re


def read(text):
    """Returns {vendor: (name, {device: name})}. Ids are numbers. Reading stops at the list of classes."""
    vendors, devices = {}, None
    for line in text.splitlines():
        if line.startswith("C "):
            break
        if not line or line.startswith(("#", "\t\t")):
            continue
        if line.startswith("\t"):
            devices[int(line[1:5], 16)] = line[5:].strip()
        else:
            devices = {}
            vendors[int(line[:4], 16)] = (line[4:].strip(), devices)
    return vendors


def version(text):
    found = re.search(r"Version:\s*([\d.]+)", text[:4096])
    return found.group(1) if found else "unknown"
