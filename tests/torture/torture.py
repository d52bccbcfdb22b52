# SPDX-License-Identifier: Apache-2.0
"""Tests the daemon with faulty drivers, hostile callers and unusual events, and checks the results."""
import argparse
import importlib
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Option -> module. The tests run in the order of this table.
KINDS = {"runs": "workers", "attacks": "attacks", "kills": "kills", "clock": "clocks", "sleeps": "sleeps", "storm": "hardware",
         "soak": "soak", "gpus": "many_gpus", "calls": "calls", "flood": "floods", "fuzz": "fuzz"}


def arguments(words):
    parser = argparse.ArgumentParser(
        prog="tools/torture", description=__doc__,
        epilog="The exit status is 1 if the daemon died, gave a wrong answer, lost data or used more and more memory. Needs python3 and dbus-daemon.")
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="at least this number of hostile workers")
    parser.add_argument("--calls", type=int, default=0, metavar="N", help="number of hostile calls")
    parser.add_argument("--flood", type=float, default=0, metavar="SECONDS",
                        help="make calls continuously from 200 connections, for this time per kind of call")
    parser.add_argument("--only", action="append", default=[], metavar="FLOOD",
                        help="run only this flood, named as in the table, for example 'select, bus'; repeatable")
    parser.add_argument("--bus", choices=("dbus-daemon", "dbus-broker"), default="dbus-daemon",
                        help="the program that carries the calls of --flood (dbus-daemon)")
    parser.add_argument("--fuzz", type=int, default=0, metavar="N", help="number of calls with random values")
    parser.add_argument("--attacks", type=int, default=0, metavar="N",
                        help="number of attacks from tests/escape; the waiting times of clients are measured during the attacks")
    parser.add_argument("--kills", type=int, default=0, metavar="N",
                        help="number of times that the daemon gets SIGKILL while clients change its state")
    parser.add_argument("--clock", type=int, default=0, metavar="N",
                        help="number of jumps of the wall clock, by seconds up to decades, while clients make calls")
    parser.add_argument("--sleeps", type=int, default=0, metavar="N",
                        help="number of suspends and resumes, some of them incomplete, while probes run and clients wait")
    parser.add_argument("--storm", type=int, default=0, metavar="N",
                        help="at least this number of hardware events: of GPUs, of other devices, and malformed")
    parser.add_argument("--soak", type=float, default=0, metavar="SECONDS",
                        help="for this time, add and remove GPUs, run probes, change overrides and make calls")
    parser.add_argument("--gpus", type=int, default=0, metavar="N",
                        help="calls through each interface on a fake machine with this number of GPUs; --calls then uses this machine")
    parser.add_argument("--questions", type=int, default=60, metavar="N", help="calls of --gpus for each interface (60)")
    parser.add_argument("--real", action="store_true",
                        help="use this machine's drivers for --runs, and kill their workers at random moments")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the random numbers (1)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/test", metavar="DIR",
                        help="the build folder (build/test), or a folder with the programs")
    parser.add_argument("--replay", type=pathlib.Path, default=ROOT / "tests/data/machines/nvidia-h200-1",
                        metavar="DIR", help="the captured machine for --calls, --flood and --fuzz")
    parser.add_argument("--deadline-ms", type=int, metavar="MS", help="time limit of a worker (1000; 15000 with --real)")
    parser.add_argument("-j", "--json", action="store_true", help="print one line of JSON for each test")
    chosen = parser.parse_args(words)
    if not any(getattr(chosen, what) for what in KINDS):
        counted = ", ".join(f"--{what}" for what in KINDS if what not in ("flood", "soak"))
        parser.error(f"say what to do: --flood SECONDS, --soak SECONDS, or N of {counted}")
    if chosen.real and not chosen.runs:
        parser.error("--real is about --runs N")
    if not shutil.which("dbus-daemon"):
        parser.error("there is no dbus-daemon: apt-get install dbus")
    if chosen.bus == "dbus-broker" and not shutil.which("dbus-broker-launch"):
        parser.error("there is no dbus-broker-launch: apt-get install dbus-broker")
    chosen.deadline_ms = chosen.deadline_ms or (15_000 if chosen.real else 1000)
    chosen.daemon = program(parser, chosen.bin, "gpuprobed", "src")
    if chosen.runs and not chosen.real:
        chosen.worker = program(parser, chosen.bin, "hostile_worker", "tests/fakes")
    if (chosen.attacks or chosen.clock) and not shutil.which("cc"):
        parser.error("--attacks and --clock build a library: apt-get install gcc")
    if (chosen.storm or chosen.soak) and not shutil.which("umockdev-wrapper"):
        parser.error("--storm and --soak plug in umockdev's test bed: apt-get install umockdev gir1.2-umockdev-1.0 python3-gi")
    if not 0 <= chosen.gpus <= 224:
        parser.error("--gpus: at most 224")
    if (chosen.calls or chosen.flood or chosen.fuzz) and not chosen.replay.is_dir():
        parser.error(f"--replay: no folder {chosen.replay}")
    return chosen


def program(parser, folder, name, below):
    for path in (folder / below / name, folder / name):
        if path.exists():
            return str(path.resolve())
    return parser.error(f"no {name} in {folder}: build it (tools/build dev), or name its folder with --bin")


def progress(done, wanted):
    if sys.stderr.isatty():
        print(f"\r{min(done, wanted)} of {wanted} ", end="", file=sys.stderr, flush=True)


def main(words=None):
    options = arguments(words)
    options.progress = progress
    is_good = True
    with tempfile.TemporaryDirectory(prefix="gpuprobe-torture-") as folder:
        options.folder = folder
        for what, module in KINDS.items():
            if not getattr(options, what):
                continue
            figures = importlib.import_module(module).run(options)
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr)
            print(figures.json() if options.json else figures.text() + "\n", flush=True)
            is_good = is_good and figures.is_good
    return 0 if is_good else 1
