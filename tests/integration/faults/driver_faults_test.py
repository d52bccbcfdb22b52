# SPDX-License-Identifier: Apache-2.0
"""Tests of driver faults, with one row for each fault (tests/fakes/fault.h)."""
import os
import pathlib
import time
import unittest

from fault_case import FAKES, FaultCase
from bus_case import MANAGER, ROOT

# (API, fault, outcome, phase, note). The phase is "instance" even if a Vulkan or OpenCL driver fails to load, because the loaders of Vulkan and
# OpenCL open a driver only when an instance is created.
DEATHS = (
    ("vulkan", "segv@load", "crashed", "instance", "^SIGSEGV in phase instance$"),
    ("vulkan", "segv@negotiate", "crashed", "instance", "^SIGSEGV"),
    ("vulkan", "segv@instance", "crashed", "instance", "^SIGSEGV"),
    ("vulkan", "segv@enumerate", "crashed", "enumerate", "^SIGSEGV"),
    ("vulkan", "segv@query", "crashed", "query", "^SIGSEGV"),
    ("vulkan", "abort@instance", "crashed", "instance", "^SIGABRT"),
    ("cuda", "term@query", "crashed", "query", "^SIGTERM in phase query$"),
    ("vulkan", "overflow@query", "crashed", "query", "^SIGSEGV"),
    ("opencl", "segv@load", "crashed", "instance", "^SIGSEGV"),
    ("opencl", "ill@enumerate", "crashed", "enumerate", "^SIGILL"),
    ("cuda", "segv@load", "crashed", "dlopen", "^SIGSEGV"),
    ("cuda", "segv@instance", "crashed", "instance", "^SIGSEGV"),
    ("nvml", "abort@query", "crashed", "query", "^SIGABRT"),
    ("level_zero", "segv@load", "crashed", "dlopen", "^SIGSEGV"),
    ("level_zero", "segv@instance", "crashed", "instance", "^SIGSEGV"),
    ("opencl", "daemon-segv@enumerate", "crashed", "enumerate", "^SIGSEGV"),
)
SILENCE = (
    ("cuda", "exit@instance", "failed", "instance", "^exited 0 without an answer"),
    ("opencl", "exit-at-once@enumerate", "failed", "enumerate", "^exited 0 without an answer"),
    ("vulkan", "exit-at-once@load", "failed", "instance", "^exited 0 without an answer"),
    ("nvml", "close@instance", "failed", "instance", "^exited 1 without an answer"),
    ("cuda", "forge@query", "failed", "query", "^malformed answer"),
    ("level_zero", "throw@instance", "failed", None, "thrown by a driver"),
    ("level_zero_sysman", "throw@instance", "failed", None, "thrown by a driver"),
    ("cuda", "throw-odd@query", "failed", None, "an exception of unknown type"),
)
HARMLESS = (
    ("vulkan", "babble@instance"),
    ("vulkan", "flood@instance"),
    ("vulkan", "threads@query"),
    ("opencl", "family@query"),
    ("cuda", "daemon@enumerate"),
    ("cuda", "kill-parent@query"),
    ("cuda", "kill-parents-group@query"),
    ("cuda", "kill-parent-by-descriptor@query"),
    ("vulkan", "hang@unload"),
    ("vulkan", "endless-version"),
    ("vulkan", "endless-queues"),
    ("vulkan", "endless-heaps"),
    ("vulkan", "name-without-end"),
    ("opencl", "endless-text"),
    ("opencl", "no-entry"),
    ("opencl", "name-without-end"),
    ("opencl", "endless-devices"),
    ("nvml", "endless-devices"),
    ("nvml", "name-without-end"),
    ("cuda", "negative-devices"),
    ("cuda", "endless-devices"),
    ("level_zero", "endless-devices"),
)
# The loader may crash, because it uses these counts without checking them.
BELIEVED = (
    ("vulkan", "endless-devices"),
    ("vulkan", "many-devices"),
    ("vulkan", "endless-extensions"),
    ("opencl", "endless-platforms"),
)
HANGS = (
    ("vulkan", "hang@load", "instance"),
    ("vulkan", "spin@instance", "instance"),
    ("opencl", "stop@enumerate", "enumerate"),
    ("cuda", "hang@load", "dlopen"),
    ("cuda", "hang@instance", "instance"),
    ("cuda", "daemon-hang@query", "query"),
    ("nvml", "trickle@query", "query"),
    ("level_zero", "hang@instance", "instance"),
    ("level_zero", "vfork@query", "query"),
)


class Deaths(FaultCase):
    def test_each_costs_its_own_answer_only(self):
        self.start_healthy()
        for row in DEATHS:
            with self.subTest(api=row[0], fault=row[1]):
                self.assert_row(*row)

    def test_who_eats_memory_is_stopped(self):
        self.need_plain_memory()
        self.start_healthy()
        self.assert_row("cuda", "eat-memory@instance", "crashed", "instance", "^SIGABRT")

    def test_a_library_that_crashes_while_it_is_linked(self):
        self.start_healthy()
        self.assert_row("cuda", "none", "crashed", "dlopen", "^SIGILL in phase dlopen$", FAKES / "nvidia/crash-resolving")


class Silence(FaultCase):
    """Tests that a worker that sends no final frame never counts as having answered, regardless of its exit status and output."""

    def test_it_is_never_taken_for_absence(self):
        self.start_healthy()
        for row in SILENCE:
            with self.subTest(api=row[0], fault=row[1]):
                self.assert_row(*row)

    def test_a_library_that_is_none(self):
        self.start_healthy()
        healthy = (FAKES / "nvidia/healthy/libcuda.so.1").read_bytes()
        of_32_bits = healthy[:4] + b"\1" + healthy[5:]
        for what, content in (("empty", b""), ("text", b"no library\n"), ("of-32-bits", of_32_bits),
                              ("cut", healthy[:2000])):
            with self.subTest(what):
                folder = self.home / what
                folder.mkdir()
                (folder / "libcuda.so.1").write_bytes(content)
                probe = self.fault("cuda", "none", folder)
                # The dynamic linker skips a library with another word size and uses the next library in its search path. If a library is truncated,
                # the dynamic linker reads beyond the end of the file.
                wanted = {"of-32-bits": ("answered",), "cut": ("crashed", "failed")}
                self.assertIn(probe["outcome"], wanted.get(what, ("failed",)), probe)


    def test_a_library_that_wants_another_version_of_what_it_needs(self):
        self.start_healthy()
        self.assert_row("cuda", "none", "failed", None, "version `FAKE_2.0' not found", FAKES / "nvidia/version-there")


class Harmless(FaultCase):
    def test_each_is_an_answer(self):
        self.start_healthy()
        for api, fault in HARMLESS:
            with self.subTest(api=api, fault=fault):
                probe = self.fault(api, fault)
                self.assertIn(probe["outcome"], ("answered", "absent", "failed"), probe)
                self.assertNotEqual(fault.endswith(("unload", "query", "enumerate", "instance"))
                                    and probe["outcome"], "failed", probe)

    def test_what_a_loader_believes_is_an_answer_or_a_crash(self):
        self.start_healthy()
        for api, fault in BELIEVED:
            with self.subTest(api=api, fault=fault):
                self.assertIn(self.fault(api, fault)["outcome"], ("answered", "absent", "failed", "crashed"))

    def test_a_damaged_heap_is_an_answer_or_a_crash(self):
        self.start_healthy()
        self.assertIn(self.fault("opencl", "heap@query")["outcome"], ("answered", "crashed"))


class Torrents(FaultCase):
    """Tests with workers that each print one GiB. The deadline in these tests is long, because other tests cover deadlines."""

    OPTIONS = ("--deadline-ms=60000",)
    KEPT = 16 << 10  # KiB that the daemon may keep; a stream of frames may have up to 8 MiB

    def most_memory(self):
        status = pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0])

    def test_nothing_is_kept_of_a_gibibyte(self):
        self.need_plain_memory()
        self.start_healthy()
        before = self.most_memory()
        for api, fault, outcome in (("cuda", "pour-errors@query", "answered"), ("opencl", "pour-text@query", "answered"),
                                    ("nvml", "pour-frames@query", "failed")):
            with self.subTest(api=api, fault=fault):
                started = time.monotonic()
                probe = self.fault(api, fault)
                print(f"{fault}: {time.monotonic() - started:.1f} s")
                self.assertEqual(probe["outcome"], outcome, probe)
        self.assertRegex(self.probe_of("nvml")["note"], "^malformed answer in phase x")
        self.assertLess(self.most_memory() - before, self.KEPT)


class Hangs(FaultCase):
    # The deadline is several times as long as the time that a healthy daemon needs on a busy machine.
    OPTIONS = ("--deadline-ms=1000",)

    def test_each_ends_at_the_deadline(self):
        self.start_healthy()
        for api, fault, phase in HANGS:
            with self.subTest(api=api, fault=fault):
                probe = self.assert_row(api, fault, "timed-out", phase, "^timed out after 1 s in phase " + phase)
                self.assertLess(probe["duration_usec"], 2_000_000)


class Lies(FaultCase):
    def test_no_text_reorders_or_controls_a_terminal(self):
        self.start_healthy()
        self.fault("vulkan", "name-with-marks")
        text = self.text()
        for mark in ("\x1b", "\u202e", "\u2066", "\\u001b", "\\u202e", "\\n"):
            self.assertNotIn(mark, text)

    def test_a_size_that_nobody_has_is_flagged_and_not_used(self):
        self.start_healthy()
        for api in ("vulkan", "opencl", "cuda"):
            with self.subTest(api):
                self.fault(api, "too-much-memory")
                gpus = [gpu for gpu in self.report()["gpus"]
                        if any(finding["code"] == "implausible" for finding in gpu["findings"])]
                self.assertTrue(gpus)
                for gpu in gpus:
                    self.assertLess(gpu["memory"]["allocatable"] or 0, 1 << 49)
                    self.assertIn(1 << 49, [reading["bytes"] for reading in gpu["memory"]["evidence"]])

    def test_another_size_each_time_is_unstable_and_the_least_is_used(self):
        self.start_healthy()
        self.fault("cuda", "fickle")
        least = self.cuda_memory()
        for _ in range(3):
            self.ask("cuda")
            view, = self.cuda_views()
            self.assertIn("unstable", [reason["code"] for reason in view["reasons"]])
            self.assertLessEqual(self.cuda_memory(), least)
            least = self.cuda_memory()
        self.assertEqual(self.property(ROOT, MANAGER, "State"), "degraded")
        self.set_fault("none", "none")
        for _ in range(3):
            self.ask("cuda")
        self.assertNotIn("unstable", self.text())
        self.assertGreater(self.cuda_memory(), least)

    def cuda_views(self):
        return [gpu["apis"]["cuda"] for gpu in self.report()["gpus"]
                if gpu["apis"].get("cuda", {}).get("outcome") == "answered"][:1]

    def cuda_memory(self):
        return self.cuda_views()[0]["device"]["memory"]["total"]


class Manifests(FaultCase):
    """Tests that a file that is not a manifest is never passed to a loader."""

    def test_each_is_told_and_costs_nobody_else(self):
        vendors = self.home / "opencl"
        (vendors / "large.icd").write_bytes(b"x" * 10_000_000)
        (vendors / "nul.icd").write_bytes(b"lib\0.so\n")
        (vendors / "folder.icd").mkdir()
        (vendors / "loop.icd").symlink_to("loop.icd")
        (vendors / "empty.icd").touch()
        os.mkfifo(vendors / "pipe.icd")
        (self.home / "vulkan/deep.json").write_text("[" * 60_000, encoding="ascii")
        self.start_among_drivers()
        self.assertEqual(self.launches("opencl"), 1, "only the valid manifest was probed")
        told = {probe["driver"].rpartition("/")[2]: probe["outcome"] for probe in self.report()["probes"]}
        for name in ("large.icd", "nul.icd", "folder.icd", "loop.icd", "empty.icd", "pipe.icd", "deep.json"):
            self.assertEqual(told.get(name), "failed", name)
        self.assertEqual(told["gpu.icd"], "answered")
        self.assert_same_daemon()


if __name__ == "__main__":
    unittest.main()
