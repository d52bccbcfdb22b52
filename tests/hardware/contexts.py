#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how much memory a context of each API needs on a real NVIDIA GPU, with `gpuprobectl bench` and with nvidia-smi, and compares the
results.

Usage: tests/hardware/contexts.py --bin FOLDER [--rounds N]

FOLDER contains gpuprobectl, gpuprobed and gpuprobe-worker. For each of CUDA, OpenCL and Vulkan, a small program only creates a context, and
nvidia-smi reports the used memory before and during this program. Then `bench` measures the context, and `plan` on the same machine must
use the measured size. Prints a line for each API and a row for data/knowledge/contexts.json. Ends with "N right, N wrong".
"""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "data/models/llama-3.1-8b.header.gguf"
MIB = 1 << 20
MAY_DIFFER = 8  # MiB: NVML rounds up to an even number, and a driver may use a few pages more or less


# Runs a process that only creates a context.

def check(call, code):
    if code != 0:
        sys.exit(f"{call}: {code}")


def take_cuda():
    cuda = ctypes.CDLL("libcuda.so.1")
    check("cuInit", cuda.cuInit(0))
    context = ctypes.c_void_p()
    check("cuDevicePrimaryCtxRetain", cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))


def take_opencl():
    opencl = ctypes.CDLL("libOpenCL.so.1")
    count, platforms, error = ctypes.c_uint(), (ctypes.c_void_p * 16)(), ctypes.c_int()
    check("clGetPlatformIDs", opencl.clGetPlatformIDs(16, platforms, ctypes.byref(count)))
    device = ctypes.c_void_p()
    for platform in platforms[:count.value]:
        name = ctypes.create_string_buffer(256)
        opencl.clGetPlatformInfo(ctypes.c_void_p(platform), 0x0902, 255, name, None)
        if b"NVIDIA" in name.value:
            check("clGetDeviceIDs", opencl.clGetDeviceIDs(ctypes.c_void_p(platform), ctypes.c_uint64(4), 1, ctypes.byref(device), None))
    if not device:
        sys.exit("clGetPlatformIDs: no platform of NVIDIA's")
    opencl.clCreateContext.restype = opencl.clCreateCommandQueue.restype = ctypes.c_void_p
    context = opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error))
    check("clCreateContext", error.value)
    opencl.clCreateCommandQueue(ctypes.c_void_p(context), device, ctypes.c_uint64(0), ctypes.byref(error))
    check("clCreateCommandQueue", error.value)


def take_vulkan():
    vulkan = ctypes.CDLL("libvulkan.so.1")
    instance, device = ctypes.c_void_p(), ctypes.c_void_p()
    kept = []

    def block(form, *values):
        kept.append(ctypes.create_string_buffer(struct.pack(form, *values)))
        return ctypes.addressof(kept[-1])

    # VkApplicationInfo and VkInstanceCreateInfo.
    application = block("@iPPIPII", 0, 0, 0, 0, 0, 0, 1 << 22 | 2 << 12)
    check("vkCreateInstance", vulkan.vkCreateInstance(
        ctypes.c_void_p(block("@iPIPIPIP", 1, 0, 0, application, 0, 0, 0, 0)), None, ctypes.byref(instance)))
    count, devices = ctypes.c_uint32(16), (ctypes.c_void_p * 16)()
    check("vkEnumeratePhysicalDevices", vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), devices))
    chosen = None
    for physical in devices[:count.value]:
        properties = ctypes.create_string_buffer(1024)
        vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(physical), properties)
        if struct.unpack_from("<I", properties, 8)[0] == 0x10de:
            chosen = chosen or physical
    if not chosen:
        sys.exit("vkEnumeratePhysicalDevices: no GPU of NVIDIA's")
    # VkDeviceQueueCreateInfo and VkDeviceCreateInfo: one queue of the first queue family, which supports compute.
    priority = block("@f", 1.0)
    queue = block("@iPIIIP", 2, 0, 0, 0, 1, priority)
    check("vkCreateDevice", vulkan.vkCreateDevice(
        ctypes.c_void_p(chosen), ctypes.c_void_p(block("@iPIIPIPIPP", 3, 0, 0, 1, queue, 0, 0, 0, 0, 0)), None, ctypes.byref(device)))


TAKERS = {"cuda": take_cuda, "opencl": take_opencl, "vulkan": take_vulkan}


# The following functions run on the machine with the GPU.

def used_mib(index):
    done = subprocess.run(["nvidia-smi", "-i", index, "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, check=True)
    return int(done.stdout)


def taken(api, address):
    """Returns the size of a context in MiB according to nvidia-smi, or the reason why the size is unknown."""
    before = used_mib(address)
    child = subprocess.Popen([sys.executable, __file__, "--take", api], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0"})
    line = child.stdout.readline()
    time.sleep(1)
    more = used_mib(address) - before
    _, errors = child.communicate("", timeout=60)
    return more if line else (errors.strip().splitlines() or ["it ended"])[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--take", choices=TAKERS)
    options = parser.parse_args()
    if options.take:
        TAKERS[options.take]()
        print("ready", flush=True)
        sys.stdin.read()
        os._exit(0)
    right = wrong = 0
    with tempfile.TemporaryDirectory(prefix="contexts-") as folder:
        ctl = [str(options.bin / "gpuprobectl"), f"--socket={folder}/socket"]
        daemon = subprocess.Popen([str(options.bin / "gpuprobed"), "--bus=none", f"--socket={folder}/socket", "--no-cache",
                                   f"--state-dir={folder}", f"--worker={options.bin}/gpuprobe-worker"], stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(f"{folder}/socket"):
                time.sleep(0.1)

            def ask(*words):
                return subprocess.run([*ctl, *words], capture_output=True, text=True, timeout=180, check=False).stdout

            ask("probe")
            gpu = next(each for each in json.loads(ask("describe", "-j"))["gpus"] if each["vendor"] == "nvidia")
            print(f"{gpu['name']}, driver {gpu['driver']['version']}; MiB")
            real = {api: [taken(api, gpu["pci"]["address"]) for _ in range(options.rounds)] for api in TAKERS}
            found = {api: [] for api in TAKERS}
            for _ in range(options.rounds):
                time.sleep(2)  # NVML reports the load of the last second, which this test caused
                print(ask("probe", "--stage=measure", "--no-legend", gpu["id"]), end="")
                gpu = next(each for each in json.loads(ask("describe", "-j"))["gpus"] if each["id"] == gpu["id"])
                for api, figures in found.items():
                    measurement = (gpu["backends"].get(api) or {}).get("measurement") or {}
                    if not measurement.get("context"):
                        print(f"none   {api:7} measured: {measurement.get('outcome')}", *(each["code"] for each in measurement.get("reasons", [])))
                    figures.append((measurement.get("context") or 0) / MIB)
            for api in TAKERS:
                problem = next((each for each in real[api] if isinstance(each, str)), None)
                if problem:
                    print(f"none   {api:7} nvidia-smi's figure is missing: {problem}; bench {found[api]}")
                    continue
                error = statistics.median(found[api]) - statistics.median(real[api])
                holds = abs(error) <= MAY_DIFFER and min(found[api]) > 0
                right, wrong = right + holds, wrong + (not holds)
                print(f"{'right' if holds else 'WRONG'}  {api:7} nvidia-smi {real[api]}  bench {found[api]}  {error:+.0f}")
            plan = json.loads(ask("plan", "-j", "--beginning", f"--gguf={MODEL}", f"--gpu={gpu['id']}"))
            counted = plan["gpus"][0]["overhead"] / MIB
            holds = 0 <= counted - found["cuda"][-1] <= 64
            right, wrong = right + holds, wrong + (not holds)
            print(f"{'right' if holds else 'WRONG'}  plan counts {counted:.0f} for the context of CUDA and llama.cpp's kernels")
        finally:
            daemon.terminate()
            daemon.wait(30)
    print(f"{right} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
