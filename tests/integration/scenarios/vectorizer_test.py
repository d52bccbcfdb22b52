# SPDX-License-Identifier: Apache-2.0
"""Tests the scenarios V1 to V11 in vectorizer's specification, although vectorizer is published only with Metal and CPU backends."""
from made_machine import GIB, Machine
from scenario_case import BIN, ScenarioCase

NO_GPU = "💻 No GPU detected, using CPU mode"


class Vectorizer(ScenarioCase):
    def test_V1_cuda(self):
        answer = self.select(Machine().nvidia(), "vectorizer")
        self.assertEqual((answer.backend, answer.messages), ("cuda", ["✅ CUDA GPU detected and enabled!"]))

    def test_V2_metal_is_answered_from_the_table(self):
        answer = self.select_anywhere("vectorizer", "--platform=darwin-arm64")
        self.assertEqual((answer.backend, answer.messages), ("metal", ["✅ Metal GPU detected and enabled!"]))

    def test_V3_vulkan_is_called_webgpu(self):
        for machine in (Machine().amd(), Machine().intel()):
            answer = self.select(machine, "vectorizer")
            self.assertEqual((answer.backend, answer.messages), ("webgpu", ["✅ WebGPU detected and enabled!"]))
            self.assertEqual({each["backend"] for each in answer.candidates}, {"cuda", "webgpu", "cpu"})

    def test_V4_nothing_and_llvmpipe_are_the_cpu(self):
        for machine in (Machine(), Machine().llvmpipe()):
            answer = self.select(machine, "vectorizer")
            self.assertEqual((answer.backend, answer.messages), ("cpu", [NO_GPU]))

    def test_V5_switched_off_starts_no_probe(self):
        worker, log = self.spy_on(BIN / "gpuprobe-worker", "gpuprobe-worker")
        options = ("--direct", "--no-cache", "--json=short", "--worker", str(worker), "select", "vectorizer")
        off = self.run_ctl(*options, "--backend=none")
        self.assertEqual(self.runs(log), [])
        self.assertIn('"backend":"cpu"', off.stdout)
        self.assertIn('"messages":["GPU disabled via configuration"]', off.stdout)
        self.run_ctl(*options)
        self.assertGreater(len(self.runs(log)), 0, "the log is not empty if workers are started")

    def test_V6_a_preferred_backend_that_is_missing_is_warned_of(self):
        answer = self.select(Machine().amd(), "vectorizer", "--backend=cuda")
        self.assertEqual(answer.backend, "webgpu")
        self.assertEqual(answer.messages, ["preferred backend 'cuda' is not available, using auto-detect", "✅ WebGPU detected and enabled!"])

    def test_V6_without_a_fallback_it_is_an_error(self):
        answer = self.select(Machine().amd(), "vectorizer", "--backend=cuda", "--strict")
        self.assertEqual((answer.code, answer.error["name"]), (3, "org.gpuprobe.GpuProbe1.Error.NoMatch"))

    def test_V8_its_variables_are_set(self):
        for machine, wanted in (
            (Machine().nvidia(), {"VECTORIZER_GPU_ENABLED": "true", "VECTORIZER_GPU_BACKEND": "cuda", "VECTORIZER_GPU_BATCH_SIZE": "1000"}),
            (Machine(), {"VECTORIZER_GPU_ENABLED": "false", "VECTORIZER_GPU_BACKEND": "cpu"}),
        ):
            answer = self.select(machine, "vectorizer")
            self.assertLessEqual(wanted.items(), answer.environment.items())

    def test_V9_metrics_have_a_code_for_each_backend_and_the_memory_in_use(self):
        for machine, code in ((Machine(), "0"), (Machine().nvidia(), "2"), (Machine().amd(), "3")):
            self.assertEqual(self.select(machine, "vectorizer").answers["gpu_backend_type"], code)
        self.assertEqual(self.select_anywhere("vectorizer", "--platform=darwin-arm64").answers["gpu_backend_type"], "1")
        machine = Machine().nvidia(memory=24 * GIB, vulkan=False)
        machine.probes["nvml"]["devices"][0]["memory"]["free"] = 20 * GIB
        memory = self.ask(machine, "describe")["gpus"][0]["memory"]
        self.assertEqual(memory["physical"] - memory["free"], 4 * GIB)

    def test_V10_a_driver_that_refuses_is_the_next_backend_with_what_helps(self):
        machine = Machine().nvidia(driver="470.256.02", cuda=False, vulkan=False)
        machine.fails("cuda", "failed", reasons=[{"code": "driver-too-old", "detail": {"call": "cuInit", "have": "470.256.02", "need": "525.60.13"}}])
        self.assertEqual(self.select(machine, "vectorizer").messages, [NO_GPU])
        self.assertIn("update the GPU's driver to 525.60.13 or later", self.explained(machine, "vectorizer"))

    def test_V10_a_driver_that_hangs_is_not_chosen(self):
        machine = Machine().nvidia(cuda=False)
        machine.fails("cuda", "timed-out")
        answer = self.select(machine, "vectorizer")
        self.assertEqual(answer.backend, "webgpu")
        self.assertIn("driver-timed-out", answer.codes("cuda"))

    def test_V10_too_little_memory_is_said_clearly(self):
        answer = self.select(Machine().nvidia(memory=4 * GIB), "vectorizer", "--memory=8GiB", "--strict")
        self.assertEqual(answer.detail("cuda", "too-little-memory"), {"have": 4 * GIB, "need": 8 * GIB, "of": "allocatable"})

    def test_V11_a_build_without_cuda_takes_the_next(self):
        answer = self.select(Machine().nvidia(), "vectorizer", "--built=webgpu,cpu")
        self.assertEqual((answer.backend, answer.codes("cuda")), ("webgpu", ["not-built"]))
