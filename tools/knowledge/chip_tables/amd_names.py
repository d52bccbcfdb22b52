# SPDX-License-Identifier: Apache-2.0
"""Reads AMD's marketing names by device and revision from libdrm's amdgpu.ids."""

import re

from . import document

SCHEMA = "gpuprobe.amd-names/1"
SOURCE = {"repository": "sailfishos-mirror/drm", "path": "data/amdgpu.ids"}
ROW = re.compile(r"^([0-9A-F]{4}),\s*([0-9A-F]{1,2}),\s*(\S.*?)\s*$", re.MULTILINE | re.IGNORECASE)
NO_NAMES = {"AMD Radeon Graphics", "Radeon Graphics"}  # AMD's names for GPUs without an individual name


def rows_of(text):
    """Returns one row for each device and revision with a name, sorted. If several lines have the same device and revision, uses the first line, as
    libdrm does."""
    found = {}
    for device, revision, name in ROW.findall(text):
        found.setdefault((device.lower(), revision.lower().zfill(2)), name)
    return [{"device": device, "revision": revision, "name": name} for (device, revision), name in sorted(found.items()) if name not in NO_NAMES]


def text_of(source):
    head = {"schema": SCHEMA, "version": document.VERSION, "issued": document.ISSUED, "expires": document.EXPIRES}
    stated = {"libdrm": {"repository": SOURCE["repository"], "commit": source.commit, "path": SOURCE["path"]}}
    return document.text_of(head, {"$source": stated}, {"names": rows_of(source.read(SOURCE["path"]))})
