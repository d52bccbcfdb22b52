#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gpuprobe's report about a machine with real NVIDIA GPUs with the output of the vendor's own tools.

Usage: tests/hardware/check.py --bin FOLDER [--bench FOLDER] [--out FOLDER]

--bin is the folder of gpuprobectl and gpuprobe-worker. --bench is the folder of bench_bare_driver, which is needed for some of the
measurements. The capture of this machine is written to --out. The script prints one line per fact and ends with "N passed, N failed,
N skipped". It does not configure or reset GPUs, and frees all memory that it allocates.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 7
TOOLS = (["vulkaninfo", "--summary"], ["clinfo"], ["nvidia-smi"])


class Tally:
    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def note(self, result, what, detail=""):
        self.counts[result] += 1
        print(f"{result:8}{what}" + (f": {detail}" if detail else ""), flush=True)

    def equal(self, what, got, wanted):
        same = got == wanted
        self.note("passed" if same else "failed", what, str(got) if same else f"{got!r} is not {wanted!r}")

    def true(self, what, holds, detail=""):
        self.note("passed" if holds else "failed", what, detail)


class Program:
    def __init__(self, binaries):
        self.ctl = str(pathlib.Path(binaries) / "gpuprobectl")

    def run(self, *words):
        return subprocess.run([self.ctl, *words], capture_output=True, text=True, timeout=300)

    def json(self, *words):
        done = self.run(*words, "-j")
        if not done.stdout:
            raise RuntimeError(f"{words}: {done.stderr}")
        return json.loads(done.stdout)


def smi(fields):
    """Returns one dictionary for each GPU, whose keys are nvidia-smi's names of fields."""
    lines = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
                           capture_output=True, text=True, check=True).stdout.strip().splitlines()
    return [dict(zip(fields, (cell.strip() for cell in line.split(",")))) for line in lines]


def address_of(smi_bus_id):
    domain, rest = smi_bus_id.lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


# Prints the PCI addresses of the GPUs that CUDA lists. Runs in a child process.
SEEN = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) in (0, 100)
count = ctypes.c_int()
cuda.cuDeviceGetCount(ctypes.byref(count))
for index in range(count.value):
    text = ctypes.create_string_buffer(32)
    cuda.cuDeviceGetPCIBusId(text, 32, index)
    print(text.value.decode().lower())
"""


def seen_by_cuda(environment):
    done = subprocess.run([sys.executable, "-c", SEEN], env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=120)
    return done.stdout.split() if done.returncode == 0 else [done.stderr.strip()]


def memory_used():
    return {gpu["pci.bus_id"]: int(gpu["memory.used"]) for gpu in smi(["pci.bus_id", "memory.used"])}


def check_gpus(tally, report):
    told = smi(["index", "pci.bus_id", "uuid", "name", "memory.total", "memory.reserved", "compute_cap", "driver_version"])
    by_address = {gpu["pci"]["address"]: gpu for gpu in report["gpus"] if gpu["vendor"] == "nvidia"}
    tally.equal("number of NVIDIA GPUs", len(by_address), len(told))
    for other in told:
        address = address_of(other["pci.bus_id"])
        gpu = by_address.get(address)
        if gpu is None:
            tally.note("failed", address, "not in the report")
            continue
        tally.equal(f"{address} name", gpu["name"], other["name"])
        tally.equal(f"{address} UUID", gpu["identity"]["nvidia_uuid"], other["uuid"])
        tally.equal(f"{address} compute capability", gpu["architecture"]["cuda_compute_capability"], other["compute_cap"])
        tally.equal(f"{address} driver", gpu["driver"]["version"], other["driver_version"])
        physical = gpu["memory"]["physical"]
        tally.equal(f"{address} memory, MiB", physical // 2**20, int(other["memory.total"]))
        reserve = int(other["memory.reserved"]) * 2**20
        allocatable = gpu["memory"]["allocatable"]
        tally.true(f"{address} allocatable within the reserve", physical - reserve - 2**20 <= allocatable <= physical,
                   f"{allocatable} of {physical}, reserve {reserve}")
        tally.equal(f"{address} index in NVML", gpu["apis"]["nvml"]["index"], int(other["index"]))
        for api in ("nvml", "cuda", "vulkan", "opencl"):
            view = gpu["apis"].get(api, {})
            tally.equal(f"{address} {api}", (view.get("outcome"), view.get("joined_by") != "weak"), ("answered", True))


def check_selectors(tally, program, report):
    order = seen_by_cuda({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    for gpu in report["gpus"]:
        if gpu["vendor"] != "nvidia":
            continue
        address = gpu["pci"]["address"]
        done = program.run("--direct", "env", gpu["id"])
        if done.returncode != 0:
            tally.note("failed", f"{address} env", done.stderr.strip())
            continue
        lines = dict(line.split("=", 1) for line in done.stdout.splitlines() if re.match(r"[A-Z_]+=", line))
        environment = {name: value.strip("'\"") for name, value in lines.items()}
        tally.equal(f"{address} selected by {environment.get('CUDA_VISIBLE_DEVICES')}", seen_by_cuda(environment),
                    [order_address for order_address in order if order_address == address])
        chosen = program.json("--direct", "select", "default", "--gpu", gpu["id"])
        tally.equal(f"{address} selected by the environment of select", seen_by_cuda(chosen["environment"]), [address])


def without_moments(report):
    """Returns the report without the values that differ between two reports about the same machine."""
    text = json.dumps(report, sort_keys=True)
    for key in ("created_usec", "generation", "age_usec", "duration_usec", "free", "budget", "usage", "free_at_usec", "available", "source",
                "state"):
        text = re.sub(rf'"{key}": ("[^"]*"|null|-?[0-9]+)', f'"{key}": 0', text)
    document = json.loads(text)
    for gpu in document["gpus"]:
        gpu["memory"]["evidence"] = [entry for entry in gpu["memory"]["evidence"]
                                     if "free" not in entry["what"] and "used" not in entry["what"]]
    for software in document["software"]:
        software["device"].pop("memory", None)  # depends on the host's free memory at that moment
    return document


def differences(left, right, path=""):
    """Returns the differences between two documents, as "path: left / right"."""
    if isinstance(left, dict) and isinstance(right, dict):
        return [found for key in sorted(left.keys() | right.keys())
                for found in differences(left.get(key), right.get(key), f"{path}.{key}")]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [found for index, (one, other) in enumerate(zip(left, right))
                for found in differences(one, other, f"{path}[{index}]")]
    return [] if left == right else [f"{path}: {str(left)[:160]} / {str(right)[:160]}"]


def check_capture(tally, program, out):
    # Both the report and the capture contain the results of earlier verifications and measurements on the machine.
    report = program.json("--direct", "describe")
    folder = pathlib.Path(out) / "capture"
    shutil.rmtree(folder, ignore_errors=True)
    done = program.run("--direct", "capture", str(folder))
    tally.equal("capture", (done.returncode, done.stderr), (0, done.stderr))
    first = program.run("--replay", str(folder), "describe", "-j").stdout
    tally.true("two replays are equal byte by byte", first == program.run("--replay", str(folder), "describe", "-j").stdout)
    unlike = differences(without_moments(report), without_moments(json.loads(first)))
    tally.true("the replay says what the machine said", not unlike, "; ".join(unlike[:8]))
    redacted = pathlib.Path(out) / "redacted"
    shutil.rmtree(redacted, ignore_errors=True)
    program.run("--direct", "capture", "--redact", str(redacted))
    names = [gpu["uuid"].removeprefix("GPU-") for gpu in smi(["uuid"])]
    text = "".join(path.read_text(errors="replace") for path in redacted.rglob("*") if path.is_file() and not path.is_symlink())
    tally.true("no UUID is left in a redacted capture", not any(name in text or name.replace("-", "") in text for name in names))


def headless_vulkan(folder):
    """Returns the variables with which NVIDIA's Vulkan driver works without an X library; empty if the driver's manifest is not installed."""
    try:
        stock = next(pathlib.Path(place) / "nvidia_icd.json"
                     for place in ("/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d")
                     if (pathlib.Path(place) / "nvidia_icd.json").exists())
    except StopIteration:
        return {}
    manifest = json.loads(stock.read_text())
    manifest["ICD"]["library_path"] = "libEGL_nvidia.so.0"
    copy = pathlib.Path(folder) / "nvidia_egl_icd.json"
    copy.write_text(json.dumps(manifest))
    return {"VK_DRIVER_FILES": str(copy), "VK_ICD_FILENAMES": str(copy)}


def wall(command, environment=None):
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})})
    return time.monotonic() - start, done.returncode


def cold_query(program):
    """Returns the wall time that a report without a cache takes, and the time of the slowest worker for this report."""
    start = time.monotonic()
    report = program.json("--direct", "--no-cache", "describe")
    seconds = time.monotonic() - start
    return seconds, max(probe["duration_usec"] or 0 for probe in report["probes"]) / 1e6


def figures(program, bench, vulkan):
    print("\ncold query of all APIs, median of", ROUNDS)
    runs = [cold_query(program) for _ in range(ROUNDS)]
    cold = statistics.median(seconds for seconds, _ in runs)
    own = statistics.median(seconds / slowest for seconds, slowest in runs)
    print(f"  gpuprobectl --direct --no-cache       {cold * 1e3:7.1f} ms, {own:.2f} x its slowest worker")
    slowest = 0
    for driver in ("nvml", "cuda", "vulkan", "opencl") if bench else ():
        times = [wall([str(pathlib.Path(bench) / "bench_bare_driver"), driver], vulkan) for _ in range(ROUNDS)]
        median = statistics.median(seconds for seconds, _ in times)
        print(f"  bare {driver:8} (exit {times[0][1]})              {median * 1e3:7.1f} ms")
        slowest = max(slowest, median)
    if slowest:
        print(f"  ratio to the slowest bare driver      {cold / slowest:7.2f} x   (design: 1.15)")
    tools = [tool for tool in TOOLS if shutil.which(tool[0])]
    in_turn = statistics.median(sum(wall(tool, vulkan)[0] for tool in tools) for _ in range(ROUNDS))
    print(f"  {' + '.join(tool[0] for tool in tools)}  {in_turn * 1e3:7.1f} ms")
    print(f"  ratio to those in turn                {cold / in_turn:7.2f} x   (design: 0.5)")
    probes = program.json("--direct", "--no-cache", "describe")["probes"]
    for probe in sorted(probes, key=lambda entry: -(entry["duration_usec"] or 0)):
        print(f"  worker {probe['api']:12} {probe['outcome']:9} {(probe['duration_usec'] or 0) / 1e3:8.1f} ms  {probe['driver']}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--bench")
    parser.add_argument("--out")
    options = parser.parse_args()
    tally = Tally()
    if not shutil.which("nvidia-smi"):
        tally.note("skipped", "all", "nvidia-smi is not installed: nothing to compare with")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    program = Program(options.bin)
    before = memory_used()
    report = program.json("--direct", "--no-cache", "describe")
    check_gpus(tally, report)
    check_selectors(tally, program, report)
    with tempfile.TemporaryDirectory() as folder:
        check_capture(tally, program, options.out or folder)
    after = memory_used()
    # The driver needs a moment to free the memory of processes that have ended.
    more = {gpu: (before.get(gpu), used) for gpu, used in after.items() if used > before.get(gpu, 0)}
    tally.equal("GPUs with more memory in use afterwards", more, {})
    with tempfile.TemporaryDirectory() as folder:
        figures(program, options.bench, headless_vulkan(folder))
    counts = tally.counts
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
