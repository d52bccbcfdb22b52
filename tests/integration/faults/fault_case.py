# SPDX-License-Identifier: Apache-2.0
"""Shared code for the tests of faults: starts a daemon with only fake drivers, one of which is faulty."""
import json
import os
import pathlib
import shutil
import statistics
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent / "bus"))
from bus_case import BIN, DEADLINE, MANAGER, NAME, ROOT, BusCase  # noqa: E402
from gi.repository import Gio, GLib  # noqa: E402

FAKES = pathlib.Path(os.environ["GPUPROBE_FAKES"])
LIBRARIES = [FAKES / "nvidia/healthy", FAKES / "intel/healthy"]
# The time that a cached answer may take while a driver misbehaves, in seconds. The goal is 50 ms. The tests compare
# the median, because a single answer may be late on a busy machine.
SLOWEST = 0.25
# Limits the address space of a worker to twice as much as the fake drivers need, so that a driver
# that never stops allocating memory is stopped early.
ADDRESS_SPACE_KIB = 2_000_000
MARK = "GPUPROBE_FAULT_CASE"

WORKER = """#!/bin/sh
echo "$1" >> {folder}/launches
read -r api fault library < {folder}/fault
export {mark}={folder} LD_LIBRARY_PATH={libraries}
if [ "$1" = "$api" ]; then
    export FAULT="$fault"
    if [ -n "$library" ]; then export LD_LIBRARY_PATH="$library:$LD_LIBRARY_PATH"; fi
    if [ -e {folder}/group ]; then echo $$ > "$(cat {folder}/group)"
    else case $fault in eat-memory*) ulimit -v {memory};; esac; fi
fi
exec {bin}/gpuprobe-worker "$@"
"""


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def files_below(folder):
    """Returns all paths below the folder. Unlike Path.rglob(), does not fail if a folder is removed in the meantime."""
    return [os.path.join(place, name) for place, folders, files in os.walk(folder) for name in folders + files]


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[1])


class FaultCase(BusCase):
    """Base class of the tests of faults. A test calls start_healthy() once, then fault() for each fault."""

    OPTIONS = ()

    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(self.folder)
        self.launched = self.home / "launches"
        self.launched.touch()
        self.set_fault("none", "none")
        for name in ("tmp", "vulkan", "opencl"):
            (self.home / name).mkdir()
        shutil.copy(FAKES / "vulkan/gpu/gpu.json", self.home / "vulkan")
        shutil.copy(FAKES / "opencl/gpu/gpu.icd", self.home / "opencl")
        self.worker = self.home / "worker"
        self.worker.write_text(WORKER.format(
            folder=self.folder, mark=MARK, libraries=":".join(map(str, LIBRARIES)), bin=BIN,
            memory=ADDRESS_SPACE_KIB), encoding="utf-8")
        self.worker.chmod(0o755)
        self.waits = []

    def environment(self):
        return {**super().environment(), "TMPDIR": f"{self.folder}/tmp"}

    def start_among_drivers(self):
        self.start(f"--worker={self.worker}", f"--state-dir={self.folder}/state",
                   f"--vulkan-drivers={self.folder}/vulkan", f"--opencl-vendors={self.folder}/opencl",
                   *self.OPTIONS)
        self.wait_until(lambda: self.property(ROOT, MANAGER, "State") in ("ready", "degraded"), "the first probes")

    def start_healthy(self):
        self.start_among_drivers()
        self.healthy = self.outcomes()
        for api in ("vulkan", "opencl", "cuda", "nvml", "level_zero"):
            self.assertEqual(self.healthy[api], "answered", api)
        self.wait_until(lambda: not self.strays(self.daemon.pid), "the end of the first workers")
        self.calm = self.lasting_remains()

    # Answers from the daemon.

    def report(self):
        return json.loads(self.text())

    def text(self):
        """Reads the report from a file descriptor and returns it, because the daemon limits how much text it sends in messages in a short time."""
        _, descriptors = self.connection.call_with_unix_fd_list_sync(
            NAME, ROOT, MANAGER, "DescribeFd", None, None, Gio.DBusCallFlags.NONE, DEADLINE * 1000, None, None)
        with os.fdopen(descriptors.get(0), "rb") as file:
            return file.read().decode()

    def probe_of(self, api):
        found, = [probe for probe in self.report()["probes"] if probe["api"] == api]
        return found

    def outcomes(self):
        return {probe["api"]: probe["outcome"] for probe in self.report()["probes"]}

    # Processes and files that a worker leaves behind.

    def remains(self):
        """Returns the resources whose use must not grow with another probe."""
        pid = self.daemon.pid
        files = set(files_below(self.home / "tmp"))
        return {"descriptors": len(os.listdir(f"/proc/{pid}/fd")), "files": files, "processes": self.strays(pid)}

    def lasting_remains(self):
        """Waits until the result of remains() no longer changes, and returns the result. The daemon closes a worker's descriptors only a moment after
        the worker has ended."""
        seen = []

        def is_as_before():
            seen.append(self.remains())
            time.sleep(0.1)
            return len(seen) > 2 and seen[-1] == seen[-2] == seen[-3]

        self.wait_until(is_as_before, "an end of changes")
        return seen[-1]

    def strays(self, daemon):
        """Returns the daemon's children, and all processes that have the environment of the daemon's worker."""
        found = set()
        for pid in processes():
            try:
                is_child = parent_of(pid) == daemon
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue  # the process has ended
            if is_child or f"{MARK}={self.folder}\0".encode() in environment + b"\0":
                found.add(pid)
        return found

    def assert_nothing_is_left(self):
        seen = []

        def is_calm():
            seen[:] = [self.remains()]
            return seen[0] == self.calm

        try:
            self.wait_until(is_calm, "nothing left")
        except AssertionError:
            self.fail(f"left behind: {seen[0]}, instead of {self.calm}")

    # Setting faults.

    def set_fault(self, api, fault, library=""):
        (self.home / "fault").write_text(f"{api} {fault} {library}\n", encoding="utf-8")

    def need_plain_memory(self):
        if os.environ.get("GPUPROBE_SANITIZE"):
            self.skipTest("a sanitizer needs more memory than the limit allows")

    def need_plain_forks(self):
        if os.environ.get("GPUPROBE_SANITIZE"):
            self.skipTest("with a sanitizer, vfork() is a fork(), and a fork takes up to 170 ms")

    def join_group(self, controller, limits):
        """Puts faulty workers into a control group. Skips the test if no control group can be created.

        `limits` contains (file, value) pairs for both versions of control groups; files that do not exist are skipped.
        """
        root = pathlib.Path("/sys/fs/cgroup")
        if (root / controller).is_dir():
            root /= controller
        group = root / f"gpuprobe-test-{os.getpid()}"
        try:
            group.mkdir()
            self.addCleanup(group.rmdir)
            for name, value in limits:
                if (group / name).exists():
                    (group / name).write_text(str(value), encoding="ascii")
            members = (group / "cgroup.procs").read_text(encoding="ascii")
        except OSError as error:
            self.skipTest(f"no control group can be created: {error}")
        if not any((group / name).exists() for name, _ in limits):
            self.skipTest(f"{group} does not have the controller {controller}")
        self.assertEqual(members, "")
        (self.home / "group").write_text(f"{group}/cgroup.procs", encoding="ascii")
        return group

    def launches(self, api):
        return self.launched.read_text(encoding="utf-8").split().count(api)

    def ask(self, *apis):
        """Probes the APIs. During the probe, requests the cached report again and again."""
        answers = []

        def answered(connection, result):
            answers.append(connection.call_finish(result).unpack()[0])

        self.connection.call(NAME, ROOT, MANAGER, "Probe", GLib.Variant("(aoasa{sv})", ([], list(apis), {})), None,
                             Gio.DBusCallFlags.NONE, 6 * DEADLINE * 1000, None, answered)
        tick = GLib.timeout_add(20, lambda: True)
        while not answers:
            started = time.monotonic()
            self.text()
            self.waits.append(time.monotonic() - started)
            GLib.MainContext.default().iteration(True)
        GLib.source_remove(tick)
        return answers[0]

    def fault(self, api, fault, library=""):
        """Probes an API with a faulty driver and returns the probe. After a probe, checks that nothing else has changed, and that the daemon still
        runs."""
        if fault.startswith(("vfork", "family")):
            self.need_plain_forks()
        self.heal(api)
        before = self.launches(api)
        self.set_fault(api, fault, library)
        self.ask(api)
        probe = self.probe_of(api)
        does_harm = probe["outcome"] in ("crashed", "timed-out")
        again = (2,) if does_harm else (1, 2)
        self.assertIn(self.launches(api) - before, again, "a driver is probed a second time only if it did harm or reported something new")
        others = {other: outcome for other, outcome in self.outcomes().items() if other != api}
        self.assertEqual(others, {other: outcome for other, outcome in self.healthy.items() if other != api})
        self.assert_nothing_is_left()
        if does_harm:
            self.assert_is_held_back(api)
        self.assert_same_daemon()
        self.assertLess(statistics.median(self.waits), SLOWEST, "the median time of cached answers is too long")
        return probe

    def heal(self, api):
        self.set_fault("none", "none")
        self.manager("ClearQuarantine", GLib.Variant("(a{sv})", ({"all": GLib.Variant("b", True)},)))
        unwell = [other for other, outcome in self.outcomes().items() if outcome != self.healthy[other]]
        self.ask(api, *unwell)
        self.assertEqual(self.outcomes(), self.healthy)

    def assert_is_held_back(self, api):
        before = self.launches(api)
        self.ask(api)
        self.assertEqual(self.launches(api), before, "the driver was probed although it is in quarantine")
        held, = self.report()["quarantine"]
        self.assertEqual(held["api"], api)

    def assert_row(self, api, fault, outcome, phase, note, library=""):
        probe = self.fault(api, fault, library)
        self.assertEqual((probe["outcome"], probe["phase"]), (outcome, phase), probe)
        self.assertRegex(probe["note"] or "", note)
        return probe

    def tearDown(self):
        if self.waits:
            print(f"{len(self.waits)} cached answers meanwhile: {statistics.median(self.waits) * 1000:.1f} ms, "
                  f"the slowest {max(self.waits) * 1000:.1f} ms")
        super().tearDown()
