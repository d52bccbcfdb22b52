# SPDX-License-Identifier: Apache-2.0
"""Starts a daemon on a private bus, and measures its speed and its memory."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests/torture"))
from peer import BUS, Peer  # noqa: E402

CALL = ["org.gpuprobe.GpuProbe1", "/org/gpuprobe/GpuProbe1", "org.gpuprobe.GpuProbe1.Manager"]


@contextlib.contextmanager
def undisturbed():
    """Gives real-time priority to programs that are started within the context, so that other programs do not delay these measurements. Prints a
    warning if the process has no permission to set its priority."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except PermissionError:
        print("round trips: measured without real-time priority, so other programs may slow them down", file=sys.stderr)
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextlib.contextmanager
def private_bus(folder):
    process = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--print-address=1", f"--address=unix:path={folder}/bus"],
        stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def socket_beside(address):
    """Returns the path of the daemon's socket, which is in the same folder as the socket of the bus."""
    return address.removeprefix("unix:path=").split(",")[0] + ".socket"


def ask(address):
    return subprocess.run(
        ["busctl", f"--address={address}", "call", *CALL, "SelectBackend", "sa{sv}", "default", "0"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def daemon(binaries, address, *options):
    process = subprocess.Popen([f"{binaries}/gpuprobed", f"--bus={address}", f"--socket={socket_beside(address)}",
                                *options])
    try:
        give_up = time.monotonic() + 10
        while (answer := ask(address)).returncode != 0:
            if process.poll() is not None:
                raise RuntimeError("gpuprobed ended")
            if time.monotonic() > give_up:
                raise RuntimeError(f"gpuprobed does not answer: {answer.stderr.strip()}")
        yield process
    finally:
        process.terminate()
        process.wait()


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return None


def private_kib(pid):
    """Returns the memory that only the daemon uses: its resident memory without the pages of files, which other processes share."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1])
    return None


def round_trips(bench, address, which="."):
    environment = {**os.environ, "DBUS_BENCH_ADDRESS": address, "GPUPROBE_SOCKET": socket_beside(address)}
    bare = subprocess.Popen([f"{bench}/bench_bare_answer"], env=environment, stdout=subprocess.PIPE)
    try:
        bare.stdout.readline()  # the program prints a line after it has acquired its name on the bus
        output = subprocess.run(
            # The repetitions of the measurements are interleaved, so that other programs slow down all measurements equally.
            [f"{bench}/bench_bus_round_trip", "--benchmark_format=json", "--benchmark_repetitions=25",
             "--benchmark_enable_random_interleaving=true", "--benchmark_report_aggregates_only=true",
             "--benchmark_min_time=0.02", f"--benchmark_filter={which}"],
            check=True, capture_output=True, text=True, env=environment).stdout
    finally:
        bare.terminate()
        bare.wait()
    return {item["run_name"]: item["real_time"] / 1e9 for item in json.loads(output)["benchmarks"]
            if item.get("aggregate_name") == "median"}


def crowd(bench, address, clients=500):
    """Returns the median and the 99th percentile of the latency when `clients` clients make 100 calls each."""
    environment = {**os.environ, "GPUPROBE_SOCKET": socket_beside(address)}
    told = subprocess.run([f"{bench}/bench_crowd", str(clients), "100"], check=True, capture_output=True, text=True, env=environment)
    return [float(word) for word in told.stdout.split()]


def quick_start(binaries, address, options):
    """Returns the seconds from exec to the first correct answer. The connection to the bus is opened before the measurement."""
    peer = Peer(address.removeprefix("unix:path=").split(",")[0])
    start = time.monotonic()
    process = subprocess.Popen([f"{binaries}/gpuprobed", f"--bus={address}", *options])
    try:
        while not peer.call(BUS, "/org/freedesktop/DBus", BUS, "NameHasOwner", "s", [CALL[0]])[0]:
            time.sleep(0.0002)
        backend = peer.call(*CALL, "SelectBackend", "sa{sv}", ["default", {}])[0]
        assert backend["Backend"]
        return time.monotonic() - start
    finally:
        process.terminate()
        process.wait()
        peer.close()
