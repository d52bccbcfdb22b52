# SPDX-License-Identifier: Apache-2.0
"""Runs the vendors' providers of wheel variants with fake drivers that report given facts.

$GPUPROBE_WHEELNEXT is a folder with checkouts of wheelnext's variantlib, nvidia-, amd- and intel-variant-provider. The providers run unchanged, with
the fakes of NVML, rocminfo and Level Zero in this file.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = os.environ.get("GPUPROBE_WHEELNEXT")
CODE = {
    "nvidia": """
import nvidia_variant_provider.detect_cuda as detect
from nvidia_variant_provider.plugin import NvidiaVariantPlugin as plugin
nvml = detect._pynvml
nvml.nvmlInit = nvml.nvmlShutdown = lambda: None
nvml.nvmlSystemGetDriverVersion = lambda: "1.0"
major, minor = told["cuda"].split(".")
nvml.nvmlSystemGetCudaDriverVersion_v2 = lambda: int(major) * 1000 + int(minor) * 10
nvml.nvmlDeviceGetCount = lambda: len(told["capabilities"])
nvml.nvmlDeviceGetHandleByIndex = lambda index: index
nvml.nvmlDeviceGetCudaComputeCapability = lambda handle: tuple(map(int, told["capabilities"][handle].split(".")))
""",
    "amd": """
import os, pathlib
folder = pathlib.Path(os.environ["TOLD"])
for name, lines in (("rocminfo", [f"  Name:                    {word}" for word in told["targets"]]),
                    ("rocm_agent_enumerator", ["gfx000", *told["targets"]])):
    (folder / name).write_text("#!/bin/sh\\ncat <<END\\n" + "\\n".join(lines) + "\\nEND\\n")
    (folder / name).chmod(0o755)
(folder / ".info").mkdir()
if told["rocm"]:
    (folder / ".info/version").write_text(told["rocm"] + "\\n")
os.environ.update(PATH=f"{folder}:/usr/bin:/bin", ROCM_PATH=str(folder))
from amd_variant_provider.plugin import AMDVariantPlugin as plugin
""",
    "intel": """
import types
import intel_variant_provider.plugin as module
plugin = module.IntelVariantPlugin
module.zeInitDrivers = lambda about: ["driver"]
module.zeDeviceGet = lambda driver: range(len(told["versions"]))
def properties(device, extensions):
    architecture, release, revision = map(int, told["versions"][device].split("."))
    extensions[0].ipVersion = architecture << 22 | release << 14 | revision
    return types.SimpleNamespace(vendorId=0x8086)
module.zeDeviceGetProperties = properties
""",
}
TELL = """
import json, sys
told = json.load(sys.stdin)
%s
configs = plugin.get_all_configs() if told["all"] else plugin.get_supported_configs()
print(json.dumps({config.name: config.values for config in configs}))
"""


def nvidia_path(folder):
    """Makes a folder with NVIDIA's provider and Debian's packaging, which the provider has as a submodule that a plain checkout lacks."""
    import packaging  # from the package python3-packaging
    package = pathlib.Path(folder, "nvidia_variant_provider")
    package.mkdir()
    for path in pathlib.Path(FOLDER, "nvidia-variant-provider/nvidia_variant_provider").glob("*.py"):
        (package / path.name).symlink_to(path)
    vendor = package / "vendor/packaging/src"
    vendor.mkdir(parents=True)
    (vendor / "packaging").symlink_to(pathlib.Path(packaging.__file__).parent)
    return folder


def answer(namespace, told):
    """Returns {feature: values that the provider supports for the facts in `told`}, or all known values if `told` contains "all"."""
    with tempfile.TemporaryDirectory() as folder:
        path = nvidia_path(folder) if namespace == "nvidia" else f"{FOLDER}/{namespace}-variant-provider"
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", TELL % CODE[namespace]], input=json.dumps({"all": False, **told}),
                              capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PYTHONPATH": path, "TOLD": folder, "AMD_VARIANT_PROVIDER_LOGLEVEL": "ERROR"})
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout)
