#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long the first report about a real machine takes, and compares the times with the times that the drivers need without gpuprobe.

Usage: tests/hardware/cold.py --bin FOLDER --bare PROGRAM [--rounds N]

FOLDER contains gpuprobed, gpuprobectl and gpuprobe-worker; PROGRAM is bench_bare_driver. Prints medians of N rounds (9):
- the initialization of each bare driver alone: with its cache, and in a home folder without a cache, as on a first start; and the
  initialization of all drivers at the same time without caches, which shows how much the drivers delay one another in the kernel. Each
  time is measured until the driver has answered, and until its process has ended;
- a daemon without a cache: its first answer, its first useful answer (each GPU with name, memory and architecture), the first
  selection that is equal to the final selection, and the last answer of a driver;
- `gpuprobectl --direct --no-cache describe`.
Before each measurement, the script waits a second, because a driver may need that long to shut down. At the end, it prints the ratios
and their goals: 30 ms for the useful answer, and for all answers 1.15 × the slowest bare driver alone on one GPU, or 1.25 × on several.
The daemon's drivers start without a cache, so the important ratio compares their answers with those of bare drivers without a cache. A
slow result is not a failure.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time

DRIVERS = ("nvml", "cuda", "vulkan", "opencl")
GIVE_UP = 60  # seconds
NO_USE = 1  # seconds: if no driver names the GPUs, there is no useful answer
PAUSE = 1  # seconds: the longest time that a driver needs to shut down


def seconds_of(command):
    time.sleep(PAUSE)
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def environment(home):
    """Returns the environment of the current process, or of a user without a cache."""
    places = ("HOME", "XDG_CACHE_HOME", "CUDA_CACHE_PATH", "__GL_SHADER_DISK_CACHE_PATH")
    return None if home is None else {"HOME": home} | {name: value for name, value in os.environ.items() if name not in places}


def times_of(process, start):
    """Returns the times until the driver has answered and until the process that called it has ended; None if the driver is missing."""
    answer = process.stdout.readline()
    answered = time.monotonic() - start
    process.wait()
    process.stdout.close()
    return {"answered": answered, "ended": time.monotonic() - start} if answer else None


def started(bare, driver, home):
    return subprocess.Popen([bare, driver], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(home))


def alone(bare, driver, home=None):
    time.sleep(PAUSE)
    start = time.monotonic()
    return times_of(started(bare, driver, home), start)


def without_cache(bare, driver):
    with tempfile.TemporaryDirectory(prefix="gpuprobe-home-") as home:
        return alone(bare, driver, home)


def together(bare, drivers):
    """Returns the times of drivers that are started at the same time, without a cache."""
    time.sleep(PAUSE)
    with (tempfile.TemporaryDirectory(prefix="gpuprobe-home-") as home,
          concurrent.futures.ThreadPoolExecutor(len(drivers)) as waiting):
        start = time.monotonic()
        times = {driver: waiting.submit(times_of, started(bare, driver, home), start) for driver in drivers}
        return {driver: each.result() for driver, each in times.items()}


class Daemon:
    """A daemon without a cache. The script calls the daemon through its socket until all drivers have answered."""

    def __init__(self, binaries, options=()):
        self.folder = tempfile.TemporaryDirectory(prefix="gpuprobe-cold-")
        self.path = f"{self.folder.name}/socket"
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            [f"{binaries}/gpuprobed", "--bus=none", f"--socket={self.path}", "--no-cache",
             f"--state-dir={self.folder.name}/state", *options],
            env={**os.environ, "HOME": self.folder.name}, stderr=subprocess.DEVNULL)
        self.socket = None

    def __enter__(self):
        while time.monotonic() - self.start < GIVE_UP:
            self.socket = socket.socket(socket.AF_UNIX)
            try:
                self.socket.connect(self.path)
                return self
            except OSError:
                self.socket.close()
                time.sleep(0.0005)
        raise RuntimeError("gpuprobed does not listen")

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, method, **parameters):
        self.socket.sendall(json.dumps({"method": f"org.gpuprobe.{method}", "parameters": parameters}).encode() + b"\0")
        answer = b""
        while not answer.endswith(b"\0"):
            answer += self.socket.recv(1 << 20)
        return json.loads(answer[:-1]).get("parameters", {})

    def elapsed(self):
        return time.monotonic() - self.start


def is_told(gpu):
    return gpu["name"] and gpu["memory"]["physical"] and any(gpu["architecture"].values())


def first_look(binaries, options=()):
    """Returns the seconds from the start of a daemon to its first answers, and the daemon's last answer."""
    time.sleep(PAUSE)
    told, choices = {}, []
    with Daemon(binaries, options) as daemon:
        while daemon.elapsed() < GIVE_UP:
            report = daemon.ask("Describe")
            at = daemon.elapsed()
            told.setdefault("first answer", at)
            if report["gpus"] and all(map(is_told, report["gpus"])):
                told.setdefault("first useful answer", at)
            # A selection before that moment would only delay the daemon's other work.
            if "first useful answer" in told or at > NO_USE:
                choices.append((daemon.elapsed(), daemon.ask("Select", application="default").get("backend")))
            if choices and report["state"] in ("ready", "degraded"):
                last = choices[-1][1]
                other = max((at for at, backend in choices if backend != last), default=0)
                told["backend of the end"] = next(at for at, backend in choices if at > other and backend == last)
                told["all probes"] = at
                return told, report
            time.sleep(0.001)
    raise RuntimeError("the probes do not end")


def medians_of_drivers(rounds):
    """Returns the median times of each driver: the time until it has answered, and the time until its process has ended."""
    return {driver: {what: statistics.median(one[driver][what] for one in rounds) for what in ("answered", "ended")}
            for driver in rounds[0]}


def medians(rounds):
    """Returns the median of each value that all rounds contain."""
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0] if all(name in one for one in rounds)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--bare", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    binaries = pathlib.Path(options.bin)

    def show(what, value, goal=""):
        print(f"{what:52} {value * 1000:8.1f} ms  {goal}".rstrip(), flush=True)

    drivers = [driver for driver in DRIVERS if alone(options.bare, driver)]

    def rounds_of(measured):
        return medians_of_drivers([{driver: measured(options.bare, driver) for driver in drivers} for _ in range(options.rounds)])

    cached, first = rounds_of(alone), rounds_of(without_cache)
    at_once = medians_of_drivers([together(options.bare, drivers) for _ in range(options.rounds)])

    def slowest_of(drivers_times):
        return max(times["answered"] for times in drivers_times.values())

    for what, times in (("alone, with what it has cached", cached), ("alone, without a cache", first), ("beside the others", at_once)):
        for driver in drivers:
            show(f"bare {driver}, {what}", times[driver]["answered"], f"its end {times[driver]['ended'] * 1000:.1f}")
    looks = [first_look(binaries) for _ in range(options.rounds)]
    report = looks[-1][1]
    told = medians([look for look, _ in looks])
    direct = statistics.median(seconds_of([f"{binaries}/gpuprobectl", "--direct", "--no-cache", "describe", "-j"])
                               for _ in range(options.rounds))
    slowest, limit = slowest_of(first), 1.15 if len(report["gpus"]) == 1 else 1.25
    show("daemon: first answer", told["first answer"])
    if "first useful answer" in told:
        show("daemon: first useful answer", told["first useful answer"], "goal 30 ms")
    show("daemon: the backend that it names at the end", told["backend of the end"])
    ours = {"daemon: all probes": told["all probes"], "gpuprobectl --direct describe": direct}
    for what, value in ours.items():
        show(what, value, f"{value / slowest:.2f} × the slowest bare driver alone (goal {limit} ×), "
                          f"{value / slowest_of(cached):.2f} × with what it has cached, "
                          f"{value / slowest_of(at_once):.2f} × all of them at once, "
                          f"{value / max(times['ended'] for times in first.values()):.2f} × its end")
    for probe in sorted(report["probes"], key=lambda probe: probe["duration_usec"] or 0, reverse=True)[:8]:
        show(f"  {probe['api']} {pathlib.Path(probe['driver']).name} ({probe['outcome']})", (probe["duration_usec"] or 0) / 1e6)
    print(f"{len(report['gpus'])} GPUs, {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
