# SPDX-License-Identifier: Apache-2.0
"""Compares gpuprobe's facts about WebGPU with Dawn. For each feature and limit of a device that the test changes, gpuprobe and Dawn must give the
same result."""
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import gpus
import npm

VERSION = "0.6.2"  # of the npm package webgpu, which is Dawn for Node.js
PROGRAM = pathlib.Path(__file__).parent / "programs/dawn_levels.mjs"
REGISTRY = "/usr/share/vulkan/registry/vk.xml"
MIB = 1 << 20
HUGE = 1 << 20

# The smallest limits, or the largest alignments, for WebGPU's core and compatibility levels.
LEVELS = {
    **dict.fromkeys(("maxImageDimension1D", "maxImageDimension2D", "maxImageDimensionCube", "maxFramebufferWidth",
                     "maxFramebufferHeight", "maxViewportDimensions[0]", "maxViewportDimensions[1]", "viewportBoundsRange[1]"),
                    (8192, 4096)),
    "maxImageDimension3D": (2048, 2048), "maxImageArrayLayers": (256, 256), "maxBoundDescriptorSets": (4, 4),
    "maxDescriptorSetUniformBuffersDynamic": (8, 8), "maxDescriptorSetStorageBuffersDynamic": (4, 4),
    "maxPerStageDescriptorSampledImages": (16, 16), "maxPerStageDescriptorSamplers": (16, 16),
    "maxPerStageDescriptorStorageBuffers": (8, 8), "maxPerStageDescriptorStorageImages": (4, 4),
    "maxPerStageDescriptorUniformBuffers": (12, 12), "maxStorageBufferRange": (128 * MIB, 128 * MIB),
    "maxColorAttachments": (8, 4), "maxUniformBufferRange": (65536, 16384),
    "minUniformBufferOffsetAlignment": (256, 256), "minStorageBufferOffsetAlignment": (256, 256),
    "maxVertexInputBindings": (8, 8), "maxVertexInputAttributes": (16, 16), "maxVertexInputBindingStride": (2048, 2048),
    "maxVertexInputAttributeOffset": (2047, 2047), "maxVertexOutputComponents": (72, 68),
    "maxFragmentInputComponents": (72, 68), "maxComputeSharedMemorySize": (16384, 16384),
    "maxComputeWorkGroupInvocations": (256, 128), "maxComputeWorkGroupSize[0]": (256, 128),
    "maxComputeWorkGroupSize[1]": (256, 128), "maxComputeWorkGroupSize[2]": (64, 64),
    **{f"maxComputeWorkGroupCount[{i}]": (65535, 65535) for i in range(3)},
    "maxBufferSize": (256 * MIB, 256 * MIB),
}


# In Dawn, Vulkan 1.1 is only an assertion (PhysicalDeviceVk.cpp, InitializeImpl), and release builds have no assertions. Dawn's
# behavior on a device with Vulkan 1.0 is undefined, so gpuprobe reports "no".
ASSERTED = ["Vulkan 1.0"]


def members(structure):
    """Yields the names of a structure's members, each with the length of its array, or 0."""
    found = xml.etree.ElementTree.parse(REGISTRY).getroot().find(f"types/type[@name='{structure}'][@category='struct']")
    for member in found.findall("member"):
        length = "".join(member.itertext()).split("[", 1)[1:]
        yield member.find("name").text, int(length[0].split("]")[0]) if length else 0


def said(name, value):
    """Returns a dictionary with the changed member. If the name contains an index, all other elements of the array stay the same."""
    if "[" not in name:
        return {name: value}
    plain, index = name.rstrip("]").split("[")
    return {plain: [value if i == int(index) else None for i in range(3)]}


def with_features():
    for name, _ in members("VkPhysicalDeviceFeatures"):
        yield f"{name} off", {name: False}
    yield "ETC2 and ASTC for BC", dict(textureCompressionBC=False, textureCompressionETC2=True, textureCompressionASTC_LDR=True)
    yield "ETC2 alone for BC", dict(textureCompressionBC=False, textureCompressionETC2=True, textureCompressionASTC_LDR=False)
    yield "Vulkan 1.1", dict(apiVersion=(1 << 22) | (1 << 12))
    yield "Vulkan 1.0", dict(apiVersion=1 << 22)


def with_limits():
    """Yields every limit with the worst possible value. Limits in LEVELS are also tested at the values in LEVELS and at the next worse value."""
    for name, length in members("VkPhysicalDeviceLimits"):
        worst = HUGE if name.startswith("min") and "Offset" not in name.replace("OffsetAlignment", "") else 0
        for key in [f"{name}[{i}]" for i in range(length)] or [name]:
            yield f"{key} = {worst}", said(key, worst)
    for name, (core, compatibility) in LEVELS.items():
        step = 1 if name.startswith("min") else -1
        for value in sorted({core, core + step, compatibility, compatibility + step}, reverse=True):
            yield f"{name} = {value}", said(name, value)
    for name in ("framebufferColorSampleCounts", "framebufferDepthSampleCounts"):
        for value in (1, 3, 4, 5, 7):
            yield f"{name} = {value}", {name: value}


class WebGpu(unittest.TestCase):
    """The base class of both tests, which test many devices at once, with several devices for each driver, so that Dawn and the daemon start only a
    few times."""

    AT_ONCE, OF_A_DRIVER = 64, 16

    @classmethod
    def setUpClass(cls):
        if not gpus.DRIVER.exists() or not gpus.LAVAPIPE.exists():
            raise unittest.SkipTest("needs Mesa's software Vulkan")
        cls.package = npm.package("webgpu", VERSION)

    def verdicts(self, changes):
        """Yields (words, Dawn's result, gpuprobe's result, the missing features and limits according to gpuprobe) for each change."""
        devices = [gpus.gpu(f"{i}", f"GPU {i:03} of the table", 0x10de, 0x2684, gpus.DISCRETE, f"{i // 32 + 1:x}:{i % 32:x}", **more)
                   for i, (_, more) in enumerate(changes)]
        drivers = {f"driver-{i}": devices[i:i + self.OF_A_DRIVER] for i in range(0, len(devices), self.OF_A_DRIVER)}
        with tempfile.TemporaryDirectory(prefix="gpuprobe-webgpu-") as folder, gpus.Machine(folder, drivers) as machine:
            done, _, _ = machine.run(["node", PROGRAM, self.package, *(each["answers"]["deviceName"] for each in devices)])
            dawn = gpus.json.loads(done.stdout)
            ours = {}
            for gpu in machine.report()["gpus"]:
                facts = gpu["apis"]["vulkan"]["device"]
                ours[facts["name"]] = facts
        for (words, _), device in zip(changes, devices):
            name = device["answers"]["deviceName"]
            facts = ours[name]
            yield words, dawn[name], facts["webgpu"], facts["webgpu_missing"]

    def check(self, changes):
        counts, wrong = {}, []
        for begin in range(0, len(changes), self.AT_ONCE):
            for words, dawn, ours, missing in self.verdicts(changes[begin:begin + self.AT_ONCE]):
                print(f"{words:58} Dawn {dawn:7} ours {ours:7} {', '.join(missing)}", flush=True)
                counts[dawn] = counts.get(dawn, 0) + 1
                wrong += [] if dawn == ours or (words in ASSERTED and ours == "no") else [words]
        print(f"{len(changes)} devices, by Dawn: {counts}; differences: {len(wrong)}")
        self.assertEqual(wrong, [])
        return counts


class WebGpuFeatures(WebGpu):
    def test_decide_as_in_dawn(self):
        counts = self.check(list(with_features()))
        self.assertGreaterEqual(counts["no"], 7)
        self.assertGreaterEqual(counts["compat"], 4)


class WebGpuLimits(WebGpu):
    def test_decide_as_in_dawn(self):
        counts = self.check(list(with_limits()))
        self.assertGreaterEqual(counts["no"], 80)
        self.assertGreaterEqual(counts["compat"], 25)


if __name__ == "__main__":
    unittest.main()
