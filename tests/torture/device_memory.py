# SPDX-License-Identifier: Apache-2.0
"""Reads the memory that is in use on NVIDIA GPUs from NVML. Source: nvml.h, nvmlMemory_t."""
import ctypes
import time


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def used():
    """Returns the used bytes of all GPUs together; None if unknown."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    if nvml.nvmlInit_v2() != 0:
        return None
    try:
        count, total = ctypes.c_uint(), 0
        if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return None
        for index in range(count.value):
            device, memory = ctypes.c_void_p(), _Memory()
            if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
                return None
            if nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) != 0:
                return None
            total += memory.used
        return total
    finally:
        nvml.nvmlShutdown()


def settled(before, within=10):
    """Waits until the number of used bytes is equal to the earlier value, or until the time limit is over. Returns the used bytes."""
    late = time.monotonic() + within
    now = used()
    while now is not None and before is not None and now > before and time.monotonic() < late:
        time.sleep(0.5)
        now = used()
    return now
