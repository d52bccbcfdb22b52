# SPDX-License-Identifier: Apache-2.0
"""A real llama.cpp, with the Vulkan backend that node-llama-cpp publishes, is started with what env prints: it must open
no device where no GPU was to be used. Mesa's software Vulkan is the device that it could open.

The package comes from npm, without its scripts, into the build folder; where that can't be reached the test is skipped."""
import json
import os
import pathlib
import subprocess
import unittest

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
MACHINE = SOURCE / "tests/data/machines/nvidia-h200-2"
VERSION = "3.22.1"
PACKAGES = (f"node-llama-cpp@{VERSION}", f"@node-llama-cpp/linux-x64-vulkan@{VERSION}")
SOFTWARE_VULKAN = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
SCRIPT = """import {getLlama} from "node-llama-cpp";
const llama = await getLlama({gpu: "vulkan", build: "never", logLevel: "disabled"});
console.log(JSON.stringify(await llama.getGpuDeviceNames()));
process.exit(0);
"""


def installed():
    """The folder with the packages; None where there are none to be had."""
    folder = BIN.parent / "runtimes" / f"node-llama-cpp-{VERSION}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
        done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional", *PACKAGES],
                              cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=100, check=False)
        if done.returncode != 0:
            return None
        (folder / "complete").touch()
    (folder / "devices.mjs").write_text(SCRIPT)
    return folder


class NodeLlamaCpp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.uname().machine != "x86_64" or not os.path.exists(SOFTWARE_VULKAN):
            raise unittest.SkipTest("needs x86_64 and Mesa's software Vulkan")
        try:
            cls.folder = installed()
        except (OSError, subprocess.TimeoutExpired):
            cls.folder = None
        if not cls.folder:
            raise unittest.SkipTest("npm can't be had, or does not reach its registry")

    def devices(self, environment):
        """The names of the devices that it opened; [] also where it found no Vulkan at all."""
        done = subprocess.run(["node", "devices.mjs"], cwd=self.folder, env={"PATH": os.environ["PATH"], **environment},
                              capture_output=True, text=True, timeout=100, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else []

    @staticmethod
    def told(*words):
        done = subprocess.run([BIN / "gpuprobectl", "--replay", MACHINE, "env", *words], capture_output=True, text=True,
                              timeout=60, check=True, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
        return dict(line.replace("'", "").split("=", 1) for line in done.stdout.splitlines())

    def test_it_opens_a_device_when_it_may(self):
        names = self.devices({"GGML_VK_VISIBLE_DEVICES": "0", "VK_DRIVER_FILES": SOFTWARE_VULKAN})
        self.assertEqual(len(names), 1, "the other tests would show nothing")
        self.assertIn("llvmpipe", names[0])

    def test_it_opens_none_for_the_cpu(self):
        for consumer in ("node-llama-cpp", "default", "ramalama"):
            with self.subTest(consumer):
                self.assertEqual(self.devices(self.told(consumer, "--backend=none")), [])

    def test_it_opens_none_of_an_api_that_was_not_chosen(self):
        told = self.told("llama.cpp", "--backend=cuda")
        self.assertTrue(told["CUDA_VISIBLE_DEVICES"].startswith("GPU-"))
        self.assertEqual(self.devices(told), [])


if __name__ == "__main__":
    unittest.main()
