# SPDX-License-Identifier: Apache-2.0
"""Tests the scenarios S1 to S13 of shimmy 1.9 and 2, and cases in which shimmy's own answer is wrong."""
import os
import resource
import subprocess

from made_machine import GIB, Machine
from scenario_case import BIN, CTL, ScenarioCase

TOOLS = ("nvidia-smi", "vulkaninfo", "clinfo", "rocm-smi")


class Shimmy(ScenarioCase):
    def test_S1_cuda_with_its_log_line_and_hint(self):
        answer = self.select(Machine().nvidia(), "shimmy-v1", "--built=cuda,vulkan,opencl")
        self.assertEqual(answer.backend, "cuda")
        self.assertEqual(answer.messages, ["CUDA GPU detected, using CUDA backend"])
        self.assertEqual(answer.environment["GGML_CUDA"], "1")

    def test_S2_amd_takes_vulkan(self):
        answer = self.select(Machine().amd(), "shimmy-v1")
        self.assertEqual(answer.backend, "vulkan")
        self.assertEqual(answer.messages, ["Vulkan GPU detected, using Vulkan backend"])
        self.assertEqual(answer.environment["GGML_VULKAN"], "1")

    def test_S3_opencl_alone_is_named_with_platform_and_device(self):
        answer = self.select(Machine().opencl_only(), "shimmy-v1")
        self.assertEqual(answer.backend, "opencl")
        self.assertEqual(
            answer.environment,
            {"GGML_OPENCL": "1", "GGML_OPENCL_PLATFORM": "MT OpenCL", "GGML_OPENCL_DEVICE": "MTT S80",
             "CUDA_VISIBLE_DEVICES": "", "GGML_VK_VISIBLE_DEVICES": ""},
        )

    def test_S4_nothing_is_the_cpu_and_not_vulkan(self):
        answer = self.select(Machine(), "shimmy-v1")
        self.assertEqual(answer.backend, "cpu")
        self.assertEqual(answer.messages, ["No GPU acceleration available, using CPU backend"])
        self.assertEqual(answer.answers["detected_by_shimmy"], "vulkan", "shimmy itself would choose Vulkan, which does not work")

    def test_S5_llvmpipe_is_the_cpu_and_not_vulkan(self):
        answer = self.select(Machine().llvmpipe(), "shimmy-v1")
        self.assertEqual(answer.backend, "cpu")
        self.assertEqual(answer.codes("vulkan"), ["software-rasterizer"])
        self.assertEqual(answer.answers["detected_by_shimmy"], "vulkan", "shimmy itself would choose Vulkan, which does not work")

    def test_S6_a_backend_that_is_not_built_in_is_passed_over(self):
        answer = self.select(Machine().nvidia(), "shimmy-v1", "--backend=cuda", "--built=cpu")
        self.assertEqual(answer.backend, "cpu")
        self.assertEqual(answer.messages[0], "CUDA backend requested but not enabled at compile time. Rebuild with --features llama-cuda")
        with_vulkan = self.select(Machine().nvidia(), "shimmy-v1", "--backend=cuda", "--built=vulkan,cpu")
        self.assertEqual((with_vulkan.backend, with_vulkan.messages[0]), ("vulkan", answer.messages[0]))

    def test_S7_an_unknown_backend_is_passed_over(self):
        answer = self.select(Machine().nvidia(), "shimmy-v1", "--backend=foo")
        self.assertEqual(answer.backend, "cuda")
        self.assertEqual(answer.messages, ["Unknown GPU backend 'foo', using auto-detect", "CUDA GPU detected, using CUDA backend"])

    def test_S8_no_tool_is_run_and_the_budget_is_kept(self):
        logs = [self.spy_on("/bin/true", name)[1] for name in TOOLS]
        path = f"{self.folder}/spies:/usr/bin:/bin"
        answer = self.run_ctl("--direct", "-j", "select", "shimmy-v1", "--worker", str(BIN / "gpuprobe-worker"), PATH=path)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual([self.runs(log) for log in logs], [[]] * len(TOOLS))
        # Check that the test can fail: if a tool runs, the log must contain the run.
        subprocess.run(["sh", "-c", "nvidia-smi"], check=True, env={"PATH": path})
        self.assertEqual(len(self.runs(logs[0])), 1)

    def test_S8_a_known_machine_is_answered_within_100_ms_of_processor_time(self):
        folder = self.capture(Machine().nvidia().intel())
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        rounds = 5
        for _ in range(rounds):
            subprocess.run([CTL, "--replay", folder, "-j", "select", "shimmy-v1"], check=True, stdout=subprocess.DEVNULL, env=self.environment())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / rounds
        slow = 5 if os.environ.get("GPUPROBE_SANITIZE") else 1
        self.assertLess(spent, 0.1 * slow)

    def test_S9_version_2_prefers_the_discrete_gpu_over_vulkan(self):
        answer = self.select(Machine().intel().amd(), "shimmy-v2")
        self.assertEqual((answer.backend, answer.gpus), ("webgpu", ["pci:0000:03:00.0"]))
        self.assertEqual(answer.environment["WGPU_BACKEND"], "vulkan")
        self.assertEqual(self.select(Machine().amd(), "shimmy-v2", "--backend=vulkan").backend, "webgpu")
        self.assertEqual(self.select_anywhere("shimmy-v2", "--platform=darwin-arm64").backend, "webgpu")

    def test_S10_version_2_does_not_take_a_cpu_for_an_adapter(self):
        for machine in (Machine(), Machine().llvmpipe()):
            answer = self.select(machine, "shimmy-v2")
            self.assertEqual((answer.backend, answer.messages), ("cpu", ["no suitable GPU adapter found"]))
            strict = self.select(machine, "shimmy-v2", "--strict")
            self.assertEqual((strict.code, strict.messages), (3, ["no suitable GPU adapter found"]))

    def test_S11_version_2_learns_how_large_a_buffer_may_be(self):
        answer = self.select(Machine().amd(), "shimmy-v2")
        self.assertEqual(answer.answers["max_buffer_size"], str(2 * GIB))
        self.assertEqual(answer.answers["max_storage_buffer_binding_size"], str(GIB))
        self.assertEqual(self.select(Machine().amd(), "shimmy-v2", "--require=max-storage-buffer>=2GiB").backend, "cpu")

    def test_S12_what_a_binary_contains_decides_and_not_what_its_name_says(self):
        """Tests a build like shimmy 1.9.0, which was published without any GPU backend."""
        hollow = self.select(Machine().nvidia(), "shimmy-v1", "--built=cpu")
        self.assertEqual(hollow.backend, "cpu")
        self.assertEqual(hollow.detail("cuda", "not-built"), {"built": ["cpu"]})
        for platform, backend in (("darwin-arm64", "mlx"), ("darwin-amd64", "cpu")):
            self.assertEqual(self.select_anywhere("shimmy-v1", f"--platform={platform}").backend, backend)

    def test_S12_each_asset_is_chosen_by_what_the_catalogue_says_it_contains(self):
        for variant in self.manifest("shimmy", "linux-x86_64-glibc").values():
            self.assertEqual(variant["artifact"]["ref"], "shimmy-linux-x86_64")
            built = ",".join(variant["artifact"]["x-contains"])
            self.assertEqual(self.select(Machine().amd(), "shimmy-v2", f"--built={built}").backend, "webgpu")

    def test_S13_the_vendor_is_known_for_metrics_intel_included(self):
        for machine, detected, vendor in (
            (Machine().intel(), "true", "intel"),
            (Machine().amd(), "true", "amd"),
            (Machine().nvidia(), "true", "nvidia"),
            (Machine(), "false", None),
        ):
            for application in ("shimmy-v1", "shimmy-v2"):
                answers = self.select(machine, application).answers
                self.assertEqual((answers["gpu_detected"], answers.get("gpu_vendor")), (detected, vendor))
