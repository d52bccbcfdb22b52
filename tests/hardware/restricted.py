#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the variables from `gpuprobectl env` restrict real programs to the chosen NVIDIA GPUs.

Usage: tests/hardware/restricted.py --bin FOLDER [--python PROGRAM]

FOLDER contains gpuprobectl and gpuprobe-worker. The test uses those of PyTorch, JAX, CuPy and ONNX Runtime that PROGRAM (python3) can
import, and that use a GPU without these variables. Each is started with the environment for each GPU, for all GPUs in reverse order, and
for no GPU, and prints its GPUs: their UUIDs if the library reports them, otherwise their number. OpenCL is tested with its driver in
OCL_ICD_FILENAMES, which `env` has to hide. Prints a table, and ends with "N of M as chosen".
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

PROGRAMS = {
    "torch": "import torch\nprint(*(str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())))",
    "jax": "import jax\nprint(*('?' for device in jax.devices() if device.platform == 'gpu'))",
    "cupy": "import cupy\ntry:\n    count = cupy.cuda.runtime.getDeviceCount()\nexcept Exception:\n    count = 0\n"
            "print(*('?' for _ in range(count)))",
    # ONNX Runtime uses the CPU for a session on a device that does not exist. MODEL is an ONNX graph with one Identity node.
    "onnxruntime": "import onnxruntime\nmodel = bytes.fromhex('MODEL')\ncount = 0\n"
                   "while 'CUDAExecutionProvider' in onnxruntime.InferenceSession(\n"
                   "        model, providers=[('CUDAExecutionProvider', {'device_id': count}), 'CPUExecutionProvider']).get_providers():\n"
                   "    count += 1\nprint(*('?' for _ in range(count)))".replace(
                       "MODEL", "08083a370a100a017812017922084964656e746974791201675a0f0a0178120a0a08080112040a020801620f0a0179120a0a080801"
                       "12040a0208014202100d"),
}
OPENCL = """
import ctypes
opencl, count = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_uint(0)
opencl.clGetPlatformIDs(0, None, ctypes.byref(count))
platforms = (ctypes.c_void_p * count.value)()
opencl.clGetPlatformIDs(count, platforms, None)
for platform in platforms:
    name, devices = ctypes.create_string_buffer(256), ctypes.c_uint(0)
    opencl.clGetPlatformInfo(ctypes.c_void_p(platform), 0x0902, 256, name, None)
    opencl.clGetDeviceIDs(ctypes.c_void_p(platform), ctypes.c_uint64(4), 0, None, ctypes.byref(devices))
    print(*["?"] * devices.value if b"NVIDIA" in name.value else "")
"""


def printed(python, text, variables):
    done = subprocess.run([python, "-c", text], env={**os.environ, **variables}, capture_output=True, text=True, timeout=300, check=False)
    return done.stdout.split() if done.returncode == 0 else [f"status {done.returncode}: {done.stderr.strip()[-200:]}"]


def variables_of(ctl, home, *words, **environment):
    done = subprocess.run([ctl, "--direct", "env", *words], env={**os.environ, "HOME": home, **environment}, capture_output=True,
                          text=True, timeout=120, check=False)
    return dict(line.split("=", 1) for line in shlex.split(done.stdout))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", default="python3")
    options = parser.parse_args()
    ctl, home = str(pathlib.Path(options.bin) / "gpuprobectl"), tempfile.mkdtemp()
    report = json.loads(subprocess.run([ctl, "--direct", "describe", "-j"], env={**os.environ, "HOME": home}, capture_output=True,
                                       text=True, check=True).stdout)
    uuids = [gpu["identity"]["nvidia_uuid"].removeprefix("GPU-") for gpu in report["gpus"] if gpu["vendor"] == "nvidia"]
    numbers = [str(number) for number, gpu in enumerate(report["gpus"]) if gpu["vendor"] == "nvidia"]
    choices = [(["--gpu=" + number], [uuid]) for number, uuid in zip(numbers, uuids)]
    choices += [(["--gpu=" + ",".join(reversed(numbers))], uuids[::-1]), (["--backend=none"], [])]
    right = total = 0
    for name, text in PROGRAMS.items():
        if subprocess.run([options.python, "-c", f"import {name}"], capture_output=True, check=False).returncode:
            print(f"{name}: cannot be imported here")
            continue
        if not printed(options.python, text, {}):
            print(f"{name}: this build uses no GPU, with or without variables")
            continue
        for words, wanted in choices:
            have = printed(options.python, text, variables_of(ctl, home, name, "--own-build", *words))
            is_right = have in (wanted, ["?"] * len(wanted))
            right, total = right + is_right, total + 1
            print(f"{name:8} {' '.join(words):20} {'as chosen' if is_right else 'WRONG'}: {' '.join(have) or 'none'}")
    added = {"OCL_ICD_FILENAMES": "libnvidia-opencl.so.1"}
    for words, wanted in ((["default", "--backend=cuda"], 0), (["default", "--backend=none"], 0), (None, len(uuids))):
        have = printed(options.python, OPENCL, {**added, **(variables_of(ctl, home, *words, **added) if words else {})})
        is_right = have == ["?"] * wanted
        right, total = right + is_right, total + 1
        print(f"opencl   {' '.join(words or ['without env']):20} {'as chosen' if is_right else 'WRONG'}: {' '.join(have) or 'none'}")
    print(f"{right} of {total} as chosen")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
