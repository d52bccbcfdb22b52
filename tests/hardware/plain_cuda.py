#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the speed of a CUDA GPU independently of gpuprobe. This program and gpuprobe share only the driver.

Usage: tests/hardware/plain_cuda.py [INDEX]

Prints one JSON object. `copy`: bytes read and written per second by the driver's device-to-device copy. `host_to_device` and
`device_to_host`: bytes per second with pinned host memory. `fp32` and `fp16`: operations per second of kernels that this script
contains. Each value is the best of seven runs, timed with the driver's events.
"""
import ctypes
import json
import sys

MIB = 1 << 20
BUFFER = 512 * MIB
BLOCKS, THREADS, LOOPS, UNROLL, LANES = 2112, 256, 4096, 4, 16

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"


def kernel(name, register, step, start, end):
    """Returns a kernel in which every lane multiplies and adds independently. The kernel stores its results, so that the compiler cannot remove the
    computation."""
    lanes = range(LANES)
    lines = [f".visible .entry {name}(.param .u64 out, .param .f32 scale) {{",
             f".reg .{register} v<{LANES}>, m, n; .reg .b32 i, t; .reg .b64 p, o; .reg .pred go; .reg .b16 h;",
             ".reg .b16 k; .reg .f32 f, g;", "ld.param.f32 f, [scale];", "mul.f32 g, f, f;"]
    lines += start
    lines += [f"mov.b32 v{lane}, m;" for lane in lanes]
    lines += [f"mov.u32 i, {LOOPS};", "Again:"]
    lines += [f"{step} v{lane}, v{lane}, m, n;" for _ in range(UNROLL) for lane in lanes]
    lines += ["sub.u32 i, i, 1;", "setp.ne.u32 go, i, 0;", "@go bra Again;"]
    lines += [f"{end} v0, v0, v{lane};" for lane in lanes[1:]]
    lines += ["mov.u32 t, %ctaid.x;", f"mul.lo.u32 t, t, {THREADS};", "mov.u32 i, %tid.x;", "add.u32 t, t, i;",
              "ld.param.u64 p, [out];", "mul.wide.u32 o, t, 4;", "add.u64 p, p, o;", "st.global.b32 [p], v0;",
              "ret;", "}"]
    return "\n".join(lines) + "\n"


def module():
    fp32 = kernel("plain_fp32", "f32", "fma.rn.f32", ["mov.f32 m, f;", "mov.f32 n, g;"], "add.f32")
    fp16 = kernel("plain_fp16", "b32", "fma.rn.f16x2",
                  ["cvt.rn.f16.f32 h, f;", "cvt.rn.f16.f32 k, g;", "mov.b32 m, {h, k};", "mov.b32 n, {k, h};"], "add.f16x2")
    return (HEAD + fp32 + fp16).encode() + b"\0"


class Cuda:
    def __init__(self, index):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), index)
        self.context = ctypes.c_void_p()
        self.call("cuCtxCreate_v2", ctypes.byref(self.context), 0, device)
        self.events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self.events:
            self.call("cuEventCreate", ctypes.byref(event), 0)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: {code}")

    def memory(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def pinned(self, size):
        pointer = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(pointer), ctypes.c_size_t(size), 0)
        return pointer

    def best(self, work, times):
        """Returns the seconds for one run of the kernel, which is the best of seven rounds after two warm-up rounds."""
        seconds = []
        for _ in range(9):
            self.call("cuEventRecord", self.events[0], None)
            for _ in range(times):
                work()
            self.call("cuEventRecord", self.events[1], None)
            self.call("cuEventSynchronize", self.events[1])
            elapsed = ctypes.c_float()
            self.call("cuEventElapsedTime", ctypes.byref(elapsed), *self.events)
            seconds.append(elapsed.value / 1000 / times)
        return min(seconds[2:])


def measure(index):
    cuda = Cuda(index)
    loaded = ctypes.c_void_p()
    cuda.call("cuModuleLoadData", ctypes.byref(loaded), module())
    one, two = cuda.memory(BUFFER), cuda.memory(BUFFER)
    host = cuda.pinned(64 * MIB)
    size = ctypes.c_size_t(BUFFER)
    part = ctypes.c_size_t(64 * MIB)

    def rate(name, operations):
        function = ctypes.c_void_p()
        cuda.call("cuModuleGetFunction", ctypes.byref(function), loaded, name)
        scale = ctypes.c_float(0.5)
        parameters = (ctypes.c_void_p * 2)(ctypes.addressof(one), ctypes.addressof(scale))
        seconds = cuda.best(lambda: cuda.call("cuLaunchKernel", function, BLOCKS, 1, 1, THREADS, 1, 1, 0, None,
                                              parameters, None), 1)
        return operations * BLOCKS * THREADS * LOOPS * UNROLL * LANES / seconds

    figures = {
        "copy": 2 * BUFFER / cuda.best(lambda: cuda.call("cuMemcpyDtoDAsync_v2", two, one, size, None), 20),
        "host_to_device": part.value / cuda.best(
            lambda: cuda.call("cuMemcpyHtoDAsync_v2", one, host, part, None), 4),
        "device_to_host": part.value / cuda.best(
            lambda: cuda.call("cuMemcpyDtoHAsync_v2", host, one, part, None), 4),
        "fp32": rate(b"plain_fp32", 2),
        "fp16": rate(b"plain_fp16", 4),
    }
    cuda.call("cuCtxDestroy_v2", cuda.context)
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 0)))
