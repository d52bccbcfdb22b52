# SPDX-License-Identifier: Apache-2.0
"""Converts reports from gpuinfo.org, which are Vulkan profiles. Each report contains the whole answer of a driver about one GPU."""

import json
import os
import re
import uuid

from .machine import Machine, answered, case_source, copy_stated, gpu

LABEL = re.compile(r"(.*) driver [\d.]+ on (.*)$")
VENDORS = {0x1002: "amd", 0x8086: "intel"}
NAMES = {"rx_5700_xt": "rx-5700-xt", "rx_570_series": "rx-570", "rx_7800_xt": "rx-7800-xt", "a380": "arc-a380",
         "iris": "iris-xe"}
MANIFESTS = {"radv": "radeon_icd.x86_64", "Intel open-source Mesa driver": "intel_icd.x86_64"}


def convert(corpus, cases):
    for case in cases:
        if case["id"].startswith("vulkan/"):
            yield convert_profile(os.path.join(corpus, case["path"]), case)


def convert_profile(path, case):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    profile = next(iter(document["profiles"].values()))
    properties = document["capabilities"]["device"]["properties"]
    short = next(short for part, short in NAMES.items() if part in case["id"])
    machine = Machine("vulkan-" + short, case_source(case))
    copy_stated(machine, case)
    name = LABEL.match(profile["label"])[1]
    facts = facts_of(name, profile, document["capabilities"]["device"])
    machine.probe("vulkan", [facts], driver=MANIFESTS[facts["driver_name"]])
    machine.stated(f"name {name}", "profiles.*.label")
    machine.expected = {"gpus": [gpu(
        facts["pci"], vendor=VENDORS[properties["VkPhysicalDeviceProperties"]["vendorID"]], name=name.split(" (RADV")[0],
        pci={"address": facts["pci"], "vendor_id": facts["vendor_id"]},
        identity={"vulkan_device_uuid": facts["uuid"], "drm": facts["drm"]},
        apis={"vulkan": {**answered(driver_id=facts["driver_id"], driver_info=facts["driver_info"]),
                         "version": profile["api-version"]}})], "software": [], "accelerators": []}
    machine.converted("A profile has neither deviceName (taken from its label), deviceID, deviceType nor memory heaps: those "
                      "are null. It says nothing of sysfs, so root/ is empty: Vulkan alone knows this GPU, by PCI address.")
    return machine


def facts_of(name, profile, device):
    properties = device["properties"]
    base = properties["VkPhysicalDeviceProperties"]
    v11, v12 = properties["VkPhysicalDeviceVulkan11Properties"], properties["VkPhysicalDeviceVulkan12Properties"]
    pci, drm = properties["VkPhysicalDevicePCIBusInfoPropertiesEXT"], properties["VkPhysicalDeviceDrmPropertiesEXT"]
    conformance = v12["conformanceVersion"]
    return {
        "index": 0, "name": name, "vendor_id": f"{base['vendorID']:04x}", "device_id": None,
        "pci": f"{pci['pciDomain']:04x}:{pci['pciBus']:02x}:{pci['pciDevice']:02x}.{pci['pciFunction']:x}",
        "uuid": str(uuid.UUID(bytes=bytes(v11["deviceUUID"]))),
        "drm": {"primary": f"{drm['primaryMajor']}:{drm['primaryMinor']}" if drm["hasPrimary"] else None,
                "render": f"{drm['renderMajor']}:{drm['renderMinor']}" if drm["hasRender"] else None},
        "type": None, "memory": None,
        "api_version": profile["api-version"], "driver_id": driver_word(v12["driverID"]),
        "driver_name": v12["driverName"], "driver_info": v12["driverInfo"],
        "driver_uuid": str(uuid.UUID(bytes=bytes(v11["driverUUID"]))),
        "conformance_version": ".".join(str(conformance[k]) for k in ("major", "minor", "subminor", "patch")),
        **limits_of(properties), **features_of(device["features"]), **queues_of(device["queueFamiliesProperties"]),
        "extensions": sorted(device["extensions"]),
    }


def driver_word(driver_id):
    """Returns the driver's name, for example mesa-radv for VK_DRIVER_ID_MESA_RADV."""
    return driver_id.removeprefix("VK_DRIVER_ID_").lower().replace("_", "-")


def limits_of(properties):
    limits = properties["VkPhysicalDeviceProperties"]["limits"]
    v11, v13 = properties["VkPhysicalDeviceVulkan11Properties"], properties["VkPhysicalDeviceVulkan13Properties"]
    return {
        "max_compute_shared_memory_size": limits["maxComputeSharedMemorySize"],
        "max_compute_workgroup_invocations": limits["maxComputeWorkGroupInvocations"],
        "max_storage_buffer_range": limits["maxStorageBufferRange"],
        "max_memory_allocation_size": v11["maxMemoryAllocationSize"],
        "max_buffer_size": v13["maxBufferSize"],
        "subgroup_size": v11["subgroupSize"], "subgroup_size_min": v13["minSubgroupSize"],
        "subgroup_size_max": v13["maxSubgroupSize"],
        "integer_dot_product_accelerated": v13["integerDotProduct4x8BitPackedSignedAccelerated"],
    }


def features_of(features):
    base = features["VkPhysicalDeviceFeatures"]
    v11, v12, v13 = (features[f"VkPhysicalDeviceVulkan1{n}Features"] for n in (1, 2, 3))
    flags = {"shader_float16": v12["shaderFloat16"], "shader_int8": v12["shaderInt8"],
             "storage_buffer_16bit": v11["storageBuffer16BitAccess"], "storage_buffer_8bit": v12["storageBuffer8BitAccess"],
             "integer_dot_product": v13["shaderIntegerDotProduct"]}
    return {**flags, "features": {name: base[name] for name in ("shaderInt16", "shaderInt64", "shaderFloat64")}}


def queues_of(families):
    queues = [family["VkQueueFamilyProperties"] for family in families]
    words = [[flag.removeprefix("VK_QUEUE_").removesuffix("_BIT").lower().replace("_", "-") for flag in queue["queueFlags"]]
             for queue in queues]
    return {
        "async_compute_queue": any("compute" in flags and "graphics" not in flags for flags in words),
        "queues": [{"flags": flags, "count": queue["queueCount"], "timestamp_bits": queue["timestampValidBits"]}
                   for flags, queue in zip(words, queues)],
    }
