# SPDX-License-Identifier: Apache-2.0
"""Tests the scenarios B1 to B12 of BitNet-rs. BitNet-rs lists the compiled backends in `detected`, but gpuprobe lists the usable backends."""
from made_machine import Machine
from scenario_case import BIN, ScenarioCase


class BitNet(ScenarioCase):
    def assert_refused(self, answer, message):
        self.assertEqual((answer.code, answer.messages), (3, [message]), answer.document)

    def test_B1_without_a_gpu_the_summary_is_exact(self):
        answer = self.select(Machine(), "bitnet")
        self.assertEqual(answer.summary, "requested=auto detected=[cpu-rust] selected=cpu-rust")

    def test_B2_cuda_with_its_rationale(self):
        answer = self.select(Machine().nvidia(), "bitnet")
        self.assertEqual(answer.summary, "requested=auto detected=[cuda,cpu-rust] selected=cuda")
        self.assertEqual(answer.messages, ["auto-selected best available backend"])

    def test_B3_gpu_falls_back_where_a_gpu_backend_is_built_in(self):
        answer = self.select(Machine(), "bitnet", "--backend=gpu", "--built=cuda,cpu-rust")
        self.assertEqual(answer.summary, "requested=gpu detected=[cpu-rust] selected=cpu-rust")
        self.assertEqual(answer.messages, ["CUDA compiled but no GPU runtime detected; falling back to CPU"])

    def test_B4_gpu_without_any_gpu_backend_is_an_error(self):
        answer = self.select(Machine().nvidia(), "bitnet", "--backend=gpu", "--built=cpu-rust")
        self.assert_refused(answer, "requested backend 'gpu' is not available; compiled backends: [cpu-rust]")

    def test_B5_a_named_backend_or_nothing(self):
        for word in ("cuda", "hip", "oneapi"):
            with self.subTest(word):
                answer = self.select(Machine(), "bitnet", f"--backend={word}", "--built=cpu-rust")
                self.assert_refused(answer, f"requested backend '{word}' is not available; compiled backends: [cpu-rust]")

    def test_B6_the_cpu_is_no_exception(self):
        answer = self.select(Machine(), "bitnet", "--backend=cpu", "--built=cuda")
        self.assert_refused(answer, "requested backend 'cpu' is not available; compiled backends: [cuda]")
        nothing = self.select(Machine().nvidia(), "bitnet", "--built=")
        self.assert_refused(nothing, "no kernel backend is compiled; build with --features cpu or --features gpu")

    def test_B7_gpus_can_be_made_up(self):
        for fake, selected in (("cuda", "cuda"), ("rocm", "hip"), ("oneapi", "oneapi"), ("gpu", "cuda"), ("none", "cpu-rust"), ("rocm,oneapi", "hip")):
            with self.subTest(fake):
                answer = self.select_anywhere("bitnet", f"--fake={fake}")
                self.assertEqual(answer.backend, selected)
        hides = self.select(Machine().nvidia(), "bitnet", "--fake=none")
        self.assertEqual(hides.backend, "cpu-rust")

    def test_B7_strict_looks_at_the_machine(self):
        self.assertEqual(self.select(Machine().nvidia(), "bitnet", "--fake=rocm", "--strict").backend, "cuda")

    def test_B7_or_forbids_it(self):
        answer = self.select_anywhere("bitnet", "--fake=cuda", "--forbid-fake")
        self.assertEqual((answer.code, answer.error["message"]), (
            2, "BITNET_GPU_FAKE is set but strict mode forbids fake GPU (BITNET_STRICT_NO_FAKE_GPU=1)"))

    def test_B8_the_cache_can_be_passed_over(self):
        worker, log = self.spy_on(BIN / "gpuprobe-worker", "gpuprobe-worker")
        options = ("--direct", "-q", "--worker", str(worker), "select", "bitnet")
        counts = []
        for more in ((), (), ("--no-cache",)):
            before = len(self.runs(log))
            self.run_ctl(*options, *more)
            counts.append(len(self.runs(log)) - before)
        first, cached, again = counts
        self.assertGreater(first, 0)
        self.assertEqual(cached, 0)
        self.assertEqual(again, first)

    def test_B9_a_probe_that_was_killed_is_a_state_of_its_own(self):
        """tests/unit/probe/supervisor_test.cpp tests that workers are killed and reaped at the deadline."""
        machine = Machine().nvidia(cuda=False)
        machine.fails("cuda", "timed-out", signal=9)
        answer = self.select(machine, "bitnet")
        self.assertEqual(answer.backend, "cpu-rust")
        self.assertEqual(answer.codes("cuda"), ["driver-timed-out", "unhealthy", "unknown-not-chosen"])
        probes = {each["api"]: each["outcome"] for each in self.ask(machine, "describe")["probes"]}
        self.assertEqual(probes["cuda"], "timed-out")

    def test_B10_strict_refuses_the_cpu_and_lists_what_was_rejected(self):
        answer = self.select(Machine(), "bitnet", "--strict")
        self.assertEqual(answer.code, 3)
        self.assertEqual({each["backend"] for each in answer.candidates}, {"cuda", "hip", "oneapi", "opencl", "cpu-rust"})
        self.assertEqual({each["verdict"] for each in answer.candidates}, {"rejected"})
        self.assertEqual(answer.codes("cpu-rust"), ["strict"])

    def test_B11_the_cpus_level_is_told(self):
        for features, arch, kernel in (
            (("avx512f", "avx512bw", "avx2"), "x86_64", "avx512"),
            (("avx512f", "avx2"), "x86_64", "avx2"),
            (("sse4_2",), "x86_64", "fallback"),
            (("asimd",), "aarch64", "neon"),
        ):
            with self.subTest(kernel):
                self.assertEqual(self.select(Machine(arch=arch, features=features), "bitnet").answers["cpu_kernel"], kernel)

    def test_B12_the_device_abstraction_has_its_own_order(self):
        answer = self.select(Machine().nvidia().amd().opencl_only(), "bitnet-hal")
        self.assertEqual(answer.summary, "requested=auto detected=[cuda,rocm,vulkan,opencl,webgpu,cpu] selected=cuda")
        order = []
        for each in answer.candidates:
            if each["backend"] not in order:
                order.append(each["backend"])
        self.assertEqual(order, ["cuda", "rocm", "level-zero", "vulkan", "opencl", "webgpu", "cpu"])
        self.assertEqual(self.select_anywhere("bitnet-hal", "--platform=darwin-arm64").backend, "metal")
