#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of gpuprobe on a real machine: the time of each driver's worker, the time of a start without a cache, and the measured values.

Usage: tests/hardware/side_by_side.py --bin FOLDER --beside FOLDER [--rounds N]

Both folders contain gpuprobed, gpuprobectl and gpuprobe-worker. The builds alternate, so that other load on the machine affects both
equally. Prints medians of N rounds (9): the first build, the second build, and their ratio. A slow result is not a failure.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

import cold


def name_of(probe):
    return f"worker: {probe['api']} {pathlib.Path(probe['driver']).name}".rstrip()


def cold_start(binaries):
    """Returns the duration of a start without a cache, in milliseconds."""
    told, report = cold.first_look(binaries)
    taken = {f"daemon: {what}": at * 1000 for what, at in told.items()}
    taken |= {name_of(probe): probe["duration_usec"] / 1000 for probe in report["probes"] if probe["duration_usec"]}
    taken["gpuprobectl --direct describe"] = 1000 * cold.seconds_of(
        [f"{binaries}/gpuprobectl", "--direct", "--no-cache", "describe", "-j"])
    return taken, report.get("confinement") or []


def numbers(value, path=()):
    """Yields every number in a JSON value with its path."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        yield " ".join(path), value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from numbers(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            name = "/".join(str(member[key]) for key in ("gpu", "backend") if member.get(key)) if isinstance(member, dict) else ""
            yield from numbers(member, (*path, name or str(index)))


def bench(binaries):
    start = time.monotonic()
    done = subprocess.run([f"{binaries}/gpuprobectl", "--direct", "--no-cache", "bench", "-j"],
                          capture_output=True, text=True, check=True)
    taken = {f"bench: {where}": value for where, value in numbers(json.loads(done.stdout)) if value}
    return {"bench: the whole, ms": 1000 * (time.monotonic() - start)} | taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--beside", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    both = (options.bin, options.beside)
    rounds = {binaries: [] for binaries in both}
    for number in range(options.rounds):
        for binaries in both if number % 2 == 0 else both[::-1]:
            taken, holds = cold_start(binaries)
            if number == 0:
                print(f"{binaries}: held by {', '.join(holds) or 'nothing'}", flush=True)
            if number < 3:  # a computation takes seconds
                taken |= bench(binaries)
            rounds[binaries].append(taken)
    first, second = (
        {what: statistics.median(one[what] for one in rounds[binaries] if what in one)
         for what in dict.fromkeys(what for one in rounds[binaries] for what in one)} for binaries in both)
    for what in first:
        if what in second:
            ratio = f"{first[what] / second[what]:6.2f} ×" if second[what] else ""
            print(f"{what:84} {first[what]:14.6g} {second[what]:14.6g} {ratio}".rstrip())


if __name__ == "__main__":
    main()
