# SPDX-License-Identifier: Apache-2.0
"""Tests the first scan of a machine with slow drivers: the daemon publishes the results of fast drivers before the slow drivers have answered."""
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
FAKES = pathlib.Path(os.environ["GPUPROBE_FAKES"])
sys.path.append(str(SOURCE / "tests/hardware"))
import cold  # noqa: E402

# {API: number of seconds after which its driver answers}. All other drivers answer at once.
TIMES = {"cuda": 3.0, "vulkan": 2.5, "opencl": 2.0, "level_zero": 2.0}
WORKER = """#!/bin/sh
case "$1" in {times} esac
export LD_LIBRARY_PATH={libraries}
exec {bin}/gpuprobe-worker "$@"
"""


@unittest.skipIf(os.environ.get("GPUPROBE_SANITIZE"), "the test measures times")
class Cold(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuprobe-cold-"))
        self.addCleanup(shutil.rmtree, folder)
        for name, file in (("vulkan", "vulkan/gpu/gpu.json"), ("opencl", "opencl/gpu/gpu.icd")):
            (folder / name).mkdir()
            shutil.copy(FAKES / file, folder / name)
        self.worker = folder / "worker"
        self.worker.write_text(WORKER.format(
            times=" ".join(f"{api}) sleep {seconds};;" for api, seconds in TIMES.items()),
            libraries=f"{FAKES}/nvidia/healthy:{FAKES}/intel/healthy", bin=BIN), encoding="utf-8")
        self.worker.chmod(0o755)
        self.options = [f"--worker={self.worker}", f"--vulkan-drivers={folder}/vulkan", f"--opencl-vendors={folder}/opencl"]

    def test_memory_and_architecture_are_told_while_slow_drivers_are_asked(self):
        with cold.Daemon(BIN, self.options) as daemon:
            while daemon.elapsed() < cold.GIVE_UP:
                report = daemon.ask("Describe")
                if any(gpu["memory"]["physical"] and gpu["architecture"]["cuda_compute_capability"] for gpu in report["gpus"]):
                    break
                time.sleep(0.001)
            print(f"first useful answer after {daemon.elapsed() * 1000:.0f} ms")
            self.assertEqual(report["state"], "probing")
            self.assertNotIn("cuda", {probe["api"] for probe in report["probes"]})

    def test_who_is_slow_to_say_how_busy_a_gpu_is_has_told_the_rest(self):
        # Put the fake worker next to the daemon, in the place of the default worker, because the daemon starts the default worker before it scans the
        # machine.
        folder = self.worker.parent
        shutil.copy(BIN / "gpuprobed", folder)
        self.worker.rename(folder / "gpuprobe-worker")
        worker = (folder / "gpuprobe-worker").read_text(encoding="utf-8")
        (folder / "gpuprobe-worker").write_text(worker.replace("exec", "export FAULT=hang@utilization\nexec"), encoding="utf-8")
        with cold.Daemon(folder, [*self.options[1:], "--deadline-ms=5000"]) as daemon:
            while daemon.elapsed() < cold.GIVE_UP:
                report = daemon.ask("Describe")
                told = [gpu for gpu in report["gpus"] if gpu["memory"]["physical"]]
                if told or report["state"] != "probing":
                    break
                time.sleep(0.001)
            self.assertEqual(report["state"], "probing")
            while report["state"] == "probing":
                time.sleep(0.1)
                report = daemon.ask("Describe")
            nvml = next(probe for probe in report["probes"] if probe["api"] == "nvml")
            self.assertEqual((nvml["outcome"], nvml["phase"]), ("timed-out", "query"))

    def test_all_are_asked_side_by_side(self):
        told, report = cold.first_look(BIN, self.options)
        slowest = max(TIMES.values())
        print(", ".join(f"{what} {seconds * 1000:.0f} ms" for what, seconds in told.items()),
              f"; {told['all probes'] / slowest:.2f} × the slowest driver alone")
        self.assertLess(told["all probes"], sum(TIMES.values()) / 2)
        self.assertLess(told["first answer"], min(TIMES.values()))
        self.assertEqual({probe["outcome"] for probe in report["probes"] if probe["api"] in TIMES}, {"answered"})


if __name__ == "__main__":
    unittest.main()
