#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that `gpuprobectl run` and `watch` correctly report whether a CUDA program used a real NVIDIA GPU.

Usage: tests/hardware/took.py --bin FOLDER [--rounds N]

FOLDER contains gpuprobectl and gpuprobe-worker. A short program (took.c, built with gcc) opens libcuda.so.1 and creates a
context or allocates memory, with CUDA present, hidden, and broken in three ways. Each situation is run N times (10). Programs that
have a context of CUDA, OpenCL or Vulkan for 0 to 300 ms, and then end successfully, with an error or by a signal, are run twice; for
these, the report "no GPU was used" is wrong. Prints a table of situations with the reported results, and ends with "N runs, N wrong,
N not told". The last number counts the runs for which `run` reports that the use is unknown. All allocated memory is freed when its
program ends.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
GIB = 1 << 30
CRASHES = 'int cuInit(unsigned flags) { (void)flags; *(volatile int *)0 = 1; return 0; }'
REFUSES = 'int cuInit(unsigned flags) { (void)flags; return 999; }'
CPU_AFTER_CRASH = 'if [ -n "$CUDA_VISIBLE_DEVICES" ]; then exec "$0" context 0 0; else echo on the processor; fi'


def build(folder, name, text=None, *options):
    source = HERE / "took.c"
    if text:
        source = folder / f"{name}.c"
        source.write_text(text, encoding="utf-8")
    target = folder / name
    target.parent.mkdir(exist_ok=True)
    subprocess.run(["gcc", "-w", "-O1", str(source), "-o", str(target), *options, "-ldl"], check=True)
    return target


class Machine:
    def __init__(self, binaries, folder):
        self.ctl = str(pathlib.Path(binaries) / "gpuprobectl")
        self.folder = folder
        self.program = str(build(folder, "took"))
        for name, text in (("crashes", CRASHES), ("refuses", REFUSES), ("empty", "int nothing;")):
            (folder / name).mkdir()
            build(folder / name, "libcuda.so.1", text, "-shared", "-fPIC")
        self.wrong = []
        self.untold = []
        self.told = collections.defaultdict(collections.Counter)

    def new_home(self):
        """Returns a new home folder. Each run needs a new home folder, because `run` stores the outcome in the home folder, which would change the
        next choice."""
        return tempfile.mkdtemp(dir=self.folder)

    def run(self, *words, program, **variables):
        began = time.monotonic()
        done = subprocess.run([self.ctl, "--direct", "run", "default", *words, "--", *program],
                              env={**os.environ, "HOME": self.new_home(), **variables}, capture_output=True, text=True,
                              timeout=120, check=False)
        return done, time.monotonic() - began

    def expect(self, situation, status, pattern, *words, program, **variables):
        done, _ = self.run(*words, program=program, **variables)
        # With several GPUs, drivers may take a long time before the program starts.
        line = "\n".join(line for line in done.stderr.splitlines() if " has not answered yet" not in line)
        self.told[situation][re.sub(r"\d+ ms|\d\.\d s", "… ms", line)] += 1
        if "unknown whether" in line:
            self.untold.append((situation, line))
        elif done.returncode != status or not re.fullmatch(pattern, line):
            self.wrong.append((situation, done.returncode, line))

    def library(self, name):
        return {"LD_LIBRARY_PATH": str(self.folder / name)}


def situations(machine, gpu):
    took, none = machine.program, "gpuprobectl: used no GPU, although cuda was chosen"
    memory = [took, "memory", str(4 * GIB), "700"]
    machine.expect("present", 0, rf"gpuprobectl: used {gpu}, 4\.[4-7] GiB through CUDA", "--expect=cuda", program=memory)
    machine.expect("present, a context alone", 0, rf"gpuprobectl: used {gpu}(, \d+ MiB)? through CUDA", "--expect=cuda",
                   program=[took, "context", "0", "300"])
    machine.expect("present, from a child of a child", 0, rf"gpuprobectl: used {gpu}, 4\.[4-7] GiB through CUDA",
                   "--expect=cuda", program=["sh", "-c", f"(setsid {' '.join(memory)} &) ; sleep 2.5"])
    machine.expect("present, not used", 124, none, "--expect=cuda", program=["sleep", "0.3"])
    machine.expect("present, devices listed alone", 124, none, "--expect=cuda", program=[took, "init", "0", "900"])
    machine.expect("hidden by the choice", 1, "gpuprobectl: used no GPU, as chosen", "--backend=none", program=memory)
    machine.expect("hidden behind our back", 1, none, "--expect=cuda", program=["env", "CUDA_VISIBLE_DEVICES=", *memory])
    machine.expect("broken, cuInit crashes", -signal.SIGSEGV, none, program=memory, **machine.library("crashes"))
    machine.expect("broken, cuInit refuses", 1, none, program=memory, **machine.library("refuses"))
    machine.expect("broken, functions missing", 1, none, program=memory, **machine.library("empty"))
    machine.expect("broken, with --fallback", 0,
                   rf"gpuprobectl: cuda on {gpu}(,? (and )?{gpu})* was ended by SIGSEGV after .*; trying .*\n(.*\n)*gpuprobectl: used no GPU.*",
                   "--fallback", program=["sh", "-c", CPU_AFTER_CRASH, took], **machine.library("crashes"))


def short_programs(machine, gpu):
    """Runs programs whose contexts exist only for a moment. If `run` did not notice that the program used a GPU, it must report "unknown", never "no
    use"."""
    wrong = untold = 0
    for _ in range(2):
        for api, taken in (("cuda", "context"), ("opencl", "opencl"), ("vulkan", "vulkan")):
            for hold in (0, 20, 100, 300):
                for end in ("ok", "error", "signal"):
                    program = [machine.program, taken, "0", str(hold), end]
                    line = machine.run(f"--backend={api}", program=program)[0].stderr
                    is_taken = re.search(rf"used {gpu}", line) is not None
                    wrong += not is_taken and "unknown whether" not in line
                    untold += not is_taken and "unknown whether" in line
                    machine.told[f"short, {api}, {hold} ms, {end}"][re.sub(r"\d+ ms|\d\.\d s", "… ms", line.strip())] += 1
    print(f"short programs: 72 runs, {wrong} wrong, {untold} not known")
    if wrong:
        machine.wrong.append(("short programs", wrong))


def watch(machine, gpu):
    child = subprocess.Popen([machine.program, "memory", str(2 * GIB), "20000"], stdout=subprocess.PIPE, text=True)
    try:
        child.stdout.readline()
        for user in ({}, {"user": 65534, "group": 65534, "extra_groups": []}):
            done = subprocess.run([machine.ctl, "--direct", "watch", str(child.pid), "--once", "-j"],
                                  env={**os.environ, "HOME": "/nonexistent"}, capture_output=True, text=True, timeout=60,
                                  check=False, **(user if os.geteuid() == 0 else {}))
            uses = json.loads(done.stdout)["uses"] if done.returncode == 0 else []
            right = len(uses) == 1 and re.fullmatch(gpu, uses[0]["name"]) and 2 * GIB < uses[0]["memory"] < 3 * GIB
            machine.told["watch" + (" as another user" if user else "")][json.dumps(uses) or done.stderr] += 1
            if not right:
                machine.wrong.append(("watch", user, done.stdout + done.stderr))
    finally:
        child.kill()
        child.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="took-") as folder:
        os.chmod(folder, 0o755)
        machine = Machine(options.bin, pathlib.Path(folder))
        report = json.loads(subprocess.run([machine.ctl, "--direct", "describe", "-j"], capture_output=True, text=True,
                                           env={**os.environ, "HOME": folder}, check=True).stdout)
        # If several GPUs have the same name, gpuprobe adds the address of a GPU to its name.
        gpu = re.escape(next(each["name"] for each in report["gpus"] if each["vendor"] == "nvidia")) + r"( \(pci:[0-9a-f:.]+\))?"
        for _ in range(options.rounds):
            situations(machine, gpu)
        short_programs(machine, gpu)
        watch(machine, gpu)
    runs = sum(sum(lines.values()) for lines in machine.told.values())
    for situation, lines in machine.told.items():
        for line, count in lines.items():
            print(f"{count:4}  {situation:34}  {line}")
    for wrong in machine.wrong:
        print("wrong:", wrong)
    print(f"{runs} runs, {len(machine.wrong)} wrong, {len(machine.untold)} not told")
    return 1 if machine.wrong or machine.untold else 0


if __name__ == "__main__":
    sys.exit(main())
