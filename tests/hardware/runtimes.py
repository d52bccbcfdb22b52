#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the published llama.cpp builds for CUDA and Vulkan on a machine with a real NVIDIA GPU, and checks the answers of plan, select and
run.

Usage: tests/hardware/runtimes.py --prepare FOLDER
       tests/hardware/runtimes.py --bin BIN --runtimes FOLDER [--size small] [--rounds N]

--prepare needs npm and its registry, but no GPU. It writes cuda.tar.xz and vulkan.tar.xz to FOLDER, with the necessary libraries of
node-llama-cpp's packages. In the CUDA library, the kernels for compute capabilities other than 9.0 are replaced by zeros, so that the
archive is small; the headers stay the same. The second command runs on the machine with the GPU, which needs neither npm nor a network.
BIN contains gpuprobectl and gpuprobe-worker; libcudart.so.13, libcublas.so.13 and libvulkan.so.1 must be installed on the machine.

Prints three tables: the memory that a model needs, according to nvidia-smi and to plan; what `run` reported with the GPU present, hidden
and broken; and whether the build computes if `select --installed` selected it. Ends with "N right, N wrong". All allocated memory is freed
when its program ends.
"""
import argparse
import json
import lzma
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RUNTIMES = HERE.parent / "runtimes"
sys.path.insert(0, str(RUNTIMES))
PROGRAM = RUNTIMES / "programs/llama_run.py"
BACKENDS = ("cuda", "vulkan")  # if FOLDER contains no archive for a backend, the backend is not tested
MIB = 1 << 20
CASES = {"small": [("llama-3.1-8b", 8192)],
         "all": [("llama-3.1-8b", 8192), ("llama-3.1-8b", 65536), ("gemma-3-27b", 32768), ("qwen3-32b", 40960)]}
LEAST, MOST = -1.0, 4.0  # allowed error of plan in percent
HELD = {"cuda": 100, "vulkan": 30}  # MiB that a computing program uses at least; a Vulkan instance without a model uses 17
PLAN_OVERHEAD = {"cuda": [], "vulkan": ["--context-memory=50MiB"]}  # docs/plan.md: memory for the driver's context


# The following functions create the archives for the machine with the GPU.

def without_other_code(data, keep=90):
    """Returns the library, with zeros instead of the CUDA kernels for other GPUs. src/inventory/gpu_code.cpp describes the layout of the library."""
    data = bytearray(data)
    kept = dropped = 0
    at = data.find(b"\x50\xed\x55\xba")
    while at >= 0:
        version, head, images = struct.unpack_from("<HHQ", data, at + 4)
        begin, end = at + head, at + head + images
        if version != 1 or head < 16 or end > len(data):
            at = data.find(b"\x50\xed\x55\xba", at + 4)
            continue
        while begin + 48 <= end:
            length, payload = struct.unpack_from("<IQ", data, begin + 4)
            if struct.unpack_from("<I", data, begin + 28)[0] == keep:
                kept += payload
            else:
                data[begin + length:begin + length + payload] = bytes(payload)
                dropped += payload
            begin += length + payload
        at = data.find(b"\x50\xed\x55\xba", end)
    return bytes(data), kept, dropped


def prepare(folder):
    os.environ.setdefault("GPUPROBE_BIN", str(folder / "npm"))  # npm.py keeps packages next to it
    import llama
    import npm

    folder.mkdir(parents=True, exist_ok=True)
    for backend in BACKENDS:
        package = npm.package(f"@node-llama-cpp/linux-x64-{backend}", llama.VERSION) / f"bins/linux-x64-{backend}"
        wanted = [f"libggml-{backend}.so", "libggml-base.so", "libggml-cpu-x64.so", "libggml-cpu-haswell.so"]
        files = [package / name for name in wanted] + list(package.glob("libggml.*.so")) + list(package.glob("libllama.*.so"))
        target = folder / f"{backend}.tar.xz"
        with lzma.open(target, "w", preset=6) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            for path in files:
                data = path.read_bytes()
                if path.name == "libggml-cuda.so":
                    data, kept, dropped = without_other_code(data)
                    print(f"{path.name}: {kept / MIB:.1f} MiB of code kept, {dropped / MIB:.1f} MiB are zeros now")
                with tempfile.NamedTemporaryFile() as copy:
                    copy.write(data)
                    copy.flush()
                    archive.add(copy.name, arcname=path.name)
        print(f"{target}: {target.stat().st_size / MIB:.1f} MiB")


# The following functions run on the machine with the GPU.

class Tally:
    def __init__(self):
        self.right = self.wrong = 0

    def note(self, holds, *cells):
        self.right, self.wrong = self.right + bool(holds), self.wrong + (not holds)
        print(f"{'right' if holds else 'WRONG'}  " + "  ".join(cells), flush=True)


def used_mib():
    done = subprocess.run(["nvidia-smi", "-i", "0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, check=True)
    return int(done.stdout)


class Machine:
    def __init__(self, binaries, runtimes, folder):
        self.ctl = str(binaries / "gpuprobectl")
        self.folder = folder
        self.libraries = {}
        for backend in BACKENDS:
            if not (runtimes / f"{backend}.tar.xz").exists():
                continue
            self.libraries[backend] = folder / backend
            with tarfile.open(runtimes / f"{backend}.tar.xz") as archive:
                archive.extractall(folder / backend)
        empty = folder / "empty"
        empty.mkdir()
        for name in ("libcuda.so.1", "libvulkan.so.1"):
            (empty / name).write_bytes(b"no library")
        self.broken = {"LD_LIBRARY_PATH": f"{empty}:{os.environ.get('LD_LIBRARY_PATH', '')}"}

    def ask(self, *words):
        """Runs gpuprobectl with a separate home folder, because an outcome that a run reports would change the next choice."""
        return subprocess.run([self.ctl, "--direct", *words], capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "HOME": tempfile.mkdtemp(dir=self.folder)})

    def variables(self, backend):
        return dict(word.split("=", 1) for word in shlex.split(self.ask("env", "-q", "llama.cpp", f"--backend={backend}").stdout))

    def program(self, backend, model, context=256, tokens=0):
        return [sys.executable, str(PROGRAM), str(self.libraries[backend]), str(model), str(context), str(tokens)]

    def held(self, command, variables, seconds=2.0):
        """Returns the program's output, exit status and errors, and the additional GPU memory that was used while it was running."""
        before = used_mib()
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, **variables})
        line = child.stdout.readline()
        time.sleep(seconds)
        more = used_mib() - before
        _, errors = child.communicate("", timeout=60)
        return line, child.returncode, errors, more


def sizes(machine, tally, cases):
    import shapes
    print("\nMiB of one GPU: what nvidia-smi counts while llama.cpp holds the model, and what plan said before")
    for name, context in cases:
        model = machine.folder / f"{name}.gguf"
        if not model.exists():
            shapes.published(name).write(model)
        for backend in machine.libraries:
            words = ["plan", "-j", f"--gguf={model}", f"--ctx={context}", *PLAN_OVERHEAD[backend]]
            plan = json.loads(machine.ask(*words).stdout)
            said = plan["gpus"][0]["need"] / MIB
            line, status, errors, real = machine.held(machine.program(backend, model, context), machine.variables(backend))
            error = 100 * (said - real) / real if real > 0 else float("nan")
            tally.note(status == 0 and LEAST <= error <= MOST, f"{backend:7} {name:14} {context:6}  real {real:8}  plan {said:9.0f}"
                       f"  {error:+6.2f} %", line.strip() if status == 0 else f"ended with {status}: {errors[-200:]}")


def told(machine, tally, model, rounds):
    print(f"\nWhat `gpuprobectl run llama.cpp` told, each situation {rounds} times")
    for backend in [backend for _ in range(rounds) for backend in machine.libraries]:
        api = {"cuda": "CUDA", "vulkan": "Vulkan"}[backend]
        program = machine.program(backend, model)
        hide = "CUDA_VISIBLE_DEVICES=" if backend == "cuda" else "GGML_VK_VISIBLE_DEVICES="
        for situation, words, command, variables, wanted in (
                ("present", [f"--backend={backend}"], program, {}, rf"used .*{api}.*"),
                ("hidden by the choice", ["--backend=none"], program, {}, "used no GPU, as chosen"),
                ("hidden behind our back", [f"--backend={backend}"], ["env", hide, *program], {},
                 f"used no GPU, although {backend} was chosen"),
                ("broken", [f"--backend={backend}"], ["env", *(f"{k}={v}" for k, v in machine.broken.items()), *program], {},
                 f"used no GPU, although {backend} was chosen")):
            line, status, errors, more = machine.held(
                [machine.ctl, "--direct", "run", "llama.cpp", *words, "--", *command],
                {"HOME": tempfile.mkdtemp(dir=machine.folder), **variables})
            said = (errors.strip().splitlines() or [""])[-1].removeprefix("gpuprobectl: ")
            holds = re.fullmatch(wanted, said) and (more > HELD[backend]) == (situation == "present")
            tally.note(holds, f"{backend:7} {situation:24} status {status}, {more:5} MiB: {said}", "" if holds else line[:200])


def computes(machine, tally, model):
    print("\nWhether the build computes where `select node-llama-cpp --installed` chose it")
    for backend in machine.libraries:
        done = machine.ask("select", "node-llama-cpp", "-j", f"--installed={machine.libraries[backend]}")
        answer = json.loads(done.stdout)
        candidate = next((each for each in answer["candidates"] if each["backend"] == backend), {})
        reasons = [reason["code"] for reason in candidate.get("reasons", [])]
        line, status, errors, _ = machine.held(machine.program(backend, model, 256, 1), machine.variables(backend), 0.1)
        did = status == 0 and f"{backend}0" in line.lower()
        last = (errors.strip().splitlines() or [""])[-1][:160]
        tally.note(did == (answer["backend"] == backend), f"{backend:7} chosen {answer['backend']}, {candidate.get('verdict')} "
                   f"{reasons}; the build {'computed' if did else f'ended with {status}'} {'' if did else last}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prepare", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--runtimes", type=pathlib.Path)
    parser.add_argument("--size", choices=CASES, default="all")
    parser.add_argument("--rounds", type=int, default=1, help="rounds of the table of `run`")
    options = parser.parse_args()
    if options.prepare:
        return prepare(options.prepare.resolve())
    import shapes
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="runtimes-") as folder:
        machine = Machine(options.bin.resolve(), options.runtimes.resolve(), pathlib.Path(folder))
        model = pathlib.Path(folder) / "smallest.gguf"
        shapes.smallest().write(model)
        before = used_mib()
        sizes(machine, tally, CASES[options.size])
        told(machine, tally, model, options.rounds)
        computes(machine, tally, model)
        tally.note(abs(used_mib() - before) <= 8, f"memory in use: {before} MiB before, {used_mib()} MiB after")
    print(f"{tally.right} right, {tally.wrong} wrong")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
