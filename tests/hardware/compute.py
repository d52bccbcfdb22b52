#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Verifies and measures real NVIDIA GPUs with each API, and compares the results with the results of an independent program.

Usage: tests/hardware/compute.py --bin FOLDER [--gpus N]

FOLDER contains gpuprobe-worker. Prints a table, the comparison with plain_cuda.py in the same run, the time of all
workers together, and the GPU's used memory before and after. Ends with "N passed, N failed". The script does not
configure or reset GPUs, and frees all memory that it allocates.
"""
import argparse
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
sys.path.insert(0, str(HERE.parent / "integration"))
FIGURES = (("memory_read", "read GB/s", 1e9), ("memory_copy", "copy GB/s", 1e9), ("host_to_device", "to GPU GB/s", 1e9),
           ("device_to_host", "to host GB/s", 1e9), ("fp32", "fp32 TFLOPS", 1e12), ("fp16", "fp16 TFLOPS", 1e12),
           ("int8", "int8 TOPS", 1e12), ("launch_usec", "launch µs", 1))
LIBRARY = "libnvidia-opencl.so.1"
COPY_TOLERANCE, RATE_TOLERANCE, MOST_SECONDS, MOST_MIB = 0.10, 0.15, 5, 8
failures = []


def check(holds, text):
    print(("passed  " if holds else "FAILED  ") + text, flush=True)
    if not holds:
        failures.append(text)


def used_mib():
    text = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, check=True).stdout
    return [int(line) for line in text.split()]



def manifest_of(folders, name):
    found = [pathlib.Path(folder) / name for folder in folders if (pathlib.Path(folder) / name).exists()]
    return str(found[0]) if found else None


def targets(scratch):
    """Yields the API, options and environment of each worker, as the daemon would start it."""
    yield "cuda", [], {}
    vulkan = manifest_of(["/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/usr/local/nvidia/share/vulkan/icd.d"],
                         "nvidia_icd.json")
    if vulkan:
        # Use NVIDIA's library for machines without X, as the query stage would.
        content = json.loads(pathlib.Path(vulkan).read_text())
        content["ICD"]["library_path"] = "libEGL_nvidia.so.0"
        egl = pathlib.Path(scratch) / "nvidia_icd.json"
        egl.write_text(json.dumps(content))
        for manifest in (vulkan, str(egl)):
            yield "vulkan", ["--driver", manifest], {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest}
    opencl = manifest_of(["/etc/OpenCL/vendors"], "nvidia.icd")
    if opencl:
        # All loaders accept the path of a folder with a slash at its end.
        vendors = pathlib.Path(scratch) / "vendors"
        vendors.mkdir()
        (vendors / "nvidia.icd").write_text(pathlib.Path(opencl).read_text())
        yield "opencl", ["--driver", opencl], {"OCL_ICD_VENDORS": f"{vendors}/"}
    elif LIBRARY in os.environ.get("OCL_ICD_FILENAMES", "").split(":"):
        yield "opencl", ["--driver", LIBRARY], {"OCL_ICD_VENDORS": "/nonexistent/", "OCL_ICD_FILENAMES": LIBRARY}


def read_all(reader):
    """Returns all data from the worker, and (bytes so far, seconds since the start) for each block."""
    begin, data, arrivals = time.monotonic(), b"", []
    while piece := os.read(reader, 65536):
        data += piece
        arrivals.append((len(data), time.monotonic() - begin))
    return data, arrivals


def phase_times(data, arrivals, end):
    """Returns the seconds from each phase frame to the next phase frame, and from the last phase frame to the worker's end."""
    at, starts = 0, [("start", 0.0)]
    while at + 8 <= len(data):
        length, kind = struct.unpack_from("<II", data, at)
        if kind == 1:
            seconds = next(when for size, when in arrivals if size >= at + 8 + length)
            starts.append((json.loads(data[at + 8:at + 8 + length])["name"], seconds))
        at += 8 + length
    return [(name, following - begin) for (name, begin), (_, following) in zip(starts, [*starts[1:], ("", end)])]


def ask(api, options, extra):
    """Runs a worker. worker_process.py parses the worker's frames."""
    from worker_process import Frames
    reader, writer = os.pipe()
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "CUDA_CACHE_PATH": f"{CACHE}/cuda",
                   "__GL_SHADER_DISK_CACHE": "0", "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""), **extra}
    command = ["/bin/sh", "-c", f'exec "$@" 3>&{writer}', "sh", f"{BIN}/gpuprobe-worker", api, *options]
    process = subprocess.Popen(command, pass_fds=[writer], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    begin = time.monotonic()
    data, arrivals = read_all(reader)
    os.close(reader)
    frames = Frames(data, process.wait(60))
    frames.times = phase_times(data, arrivals, time.monotonic() - begin)
    return frames


def stage(name, device, api, options, extra):
    begin = time.monotonic()
    answer = ask(api, [*options, "--stage", name, "--device", device], extra)
    print(f"        {api} {name}, ms: " + ", ".join(f"{phase} {took * 1e3:.0f}" for phase, took in answer.times))
    return answer, time.monotonic() - begin


def row(cells):
    print("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, [22, *[13] * len(FIGURES)])), flush=True)


def figure(measured, key, unit):
    value = measured.get(key)
    if value is None:
        return "-"
    spread = measured["spread"][key]
    return f"{value / unit:.4g} ±{spread:.1%}"


def examine(device, label, api, options, extra):
    """Runs the stage verify, and then the stage measure, which also verifies. Returns the measured values, and the seconds that the stage measure
    took. The first worker of an API reads the driver's libraries from the disk, so the time of verify does not count."""
    verified, _ = stage("verify", device, api, options, extra)
    if verified.done["outcome"] == "absent":
        return None, 0
    result = verified.devices[0]["check"] if verified.devices else {}
    check(result.get("result") == "verified", f"{label} is verified: {json.dumps(result or verified.done)}")
    answer, took = stage("measure", device, api, options, extra)
    found = answer.devices[0] if answer.devices else {}
    result, figures = found.get("check") or {}, found.get("measured")
    check(result.get("result") == "verified", f"{label} is verified before it is measured: {json.dumps(result or answer.done)}")
    check(figures is not None, f"{label} is measured: {answer.done['outcome']} {answer.done['note'] or ''} "
          f"({took:.2f} s, of which {(figures or {}).get('duration_usec', 0) / 1e6:.2f} s measuring)")
    return figures, took


def compare(label, figures, plain):
    for key, mine, tolerance in (("copy", "memory_copy", COPY_TOLERANCE), ("fp32", "fp32", RATE_TOLERANCE),
                                 ("fp16", "fp16", RATE_TOLERANCE)):
        if figures.get(mine) is None:
            print(f"        {label} {mine}: the API has none")
            continue
        ratio = figures[mine] / plain[key]
        check(abs(ratio - 1) <= tolerance, f"{label} {mine}: {ratio:.3f} of the plain program's {plain[key]:.4g}")


def examine_gpu(index, address):
    device = f"pci:{address}"
    print(f"\n== GPU {index}, {address}")
    before = used_mib()[index]
    seconds, all_figures = 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        for api, options, extra in targets(scratch):
            if api in all_figures:
                continue
            figures, took = examine(device, f"{api}", api, options, extra)
            seconds += took
            if figures:
                all_figures[api] = figures
    check(set(all_figures) == {"cuda", "vulkan", "opencl"}, f"APIs with figures: {', '.join(all_figures)}")
    plain = json.loads(subprocess.run([sys.executable, str(HERE / "plain_cuda.py"), str(index)], check=True,
                                      capture_output=True, text=True).stdout)
    row(["", *(title for _, title, _ in FIGURES)])
    for api, figures in all_figures.items():
        row([api, *(figure(figures, key, unit) for key, _, unit in FIGURES)])
    copied = {"memory_copy": plain["copy"], **plain}
    row(["plain program", *(f"{copied[key] / unit:.4g}" if key in copied else "-" for key, _, unit in FIGURES)])
    for api, figures in all_figures.items():
        compare(api, figures, plain)
    check(seconds <= MOST_SECONDS, f"all APIs together took {seconds:.2f} s, of {MOST_SECONDS} s")
    time.sleep(1)  # the driver frees memory a moment after a process has ended
    after = used_mib()[index]
    check(abs(after - before) <= MOST_MIB, f"memory in use: {before} MiB before, {after} MiB after")
    return all_figures


def addresses():
    text = subprocess.run(["nvidia-smi", "--query-gpu=pci.bus_id", "--format=csv,noheader"], capture_output=True,
                          text=True, check=True).stdout.split()
    return [f"{int(line.split(':', 1)[0], 16):04x}:{line.lower().split(':', 1)[1]}" for line in text]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--gpus", type=int, default=8)
    chosen = parser.parse_args()
    BIN = chosen.bin
    cache = tempfile.TemporaryDirectory()
    CACHE = cache.name
    every = [examine_gpu(index, address) for index, address in enumerate(addresses()[: chosen.gpus])]
    for api in every[0] if len(every) > 1 else []:
        for key, title, unit in FIGURES:
            values = [figures[api][key] for figures in every if api in figures and figures[api][key]]
            if len(values) > 1:
                apart = (max(values) - min(values)) / statistics.median(values)
                print(f"        {api} {title}: equal cards lie {apart:.1%} apart")
    cpu, _ = stage("measure", "index:0", "cpu", [], {})
    print("\nthe processor:", json.dumps(cpu.devices[0]["measured"]))
    print(f"\n{len(failures)} failed")
    sys.exit(1 if failures else 0)
