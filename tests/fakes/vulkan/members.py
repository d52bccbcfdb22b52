#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a C++ table of all members with which a Vulkan driver describes a physical device, from the registry's vk.xml.

Each row is ROW(structure, member). The rows of a structure are between BEGIN(structure, structure type) and END(structure,
structure type).
"""
import sys
import xml.etree.ElementTree

TOLD = ("VkPhysicalDeviceProperties2", "VkPhysicalDeviceFeatures2", "VkPhysicalDeviceMemoryProperties2")
PLAIN = ("VkPhysicalDeviceProperties", "VkPhysicalDeviceLimits", "VkPhysicalDeviceSparseProperties", "VkPhysicalDeviceFeatures")


def elsewhere(registry):
    """Yields the types that are declared only in headers for one platform or in headers of disabled extensions."""
    for extension in registry.iter("extension"):
        if extension.get("platform") or extension.get("supported") == "disabled":
            for kind in extension.iter("type"):
                yield kind.get("name")


def main(path):
    registry = xml.etree.ElementTree.parse(path).getroot()
    left_out = set(elsewhere(registry))
    for kind in registry.iter("type"):
        name, extends = kind.get("name"), (kind.get("structextends") or "").split(",")
        is_told = name in PLAIN or any(each in TOLD for each in extends)
        if kind.get("category") != "struct" or kind.get("alias") or not is_told or name in left_out:
            continue
        members = kind.findall("member")
        value = next((each.get("values") for each in members if each.get("values")), "VK_STRUCTURE_TYPE_MAX_ENUM")
        print(f"BEGIN({name}, {value})")
        for member in members:
            if member.find("name").text not in ("sType", "pNext"):
                print(f"ROW({name}, {member.find('name').text})")
        print(f"END({name}, {value})")


if __name__ == "__main__":
    main(sys.argv[1])
