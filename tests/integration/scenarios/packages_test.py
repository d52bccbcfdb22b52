# SPDX-License-Identifier: Apache-2.0
"""Tests for the package scenarios: which package `recommend` chooses, and why it rejects all the others."""
from made_machine import GB, ONEAPI, Machine
from scenario_case import ScenarioCase

OLD = "470.256.02"
NO_GPU = "no GPU detected: tsuku-llm requires a GPU with at least 8 GB VRAM"


class TsukuPackages(ScenarioCase):
    def assert_asset(self, machine, arch, family, dependency):
        """Checks the chosen package for tsuku, both with tsuku's own recipe and with the requirements of the builds."""
        for application in ("tsuku-llm-recipe", "tsuku-llm"):
            with self.subTest(application):
                answer = self.recommend(machine, application)
                self.assertEqual((answer.code, answer.variant), (0, family), answer.text)
                self.assertEqual(answer.artifact["ref"], f"tsuku-llm-linux-{arch}-{family}")
                self.assertEqual(answer.artifact["x-dependency"], dependency)

    def assert_no_cuda(self, machine, vendor):
        answer = self.recommend(machine, "tsuku-llm")
        self.assertIn("vendor-mismatch", answer.why("cuda"))
        self.assertIn(f"does not work on {vendor} GPUs", answer.text)

    def test_T1_nvidia_takes_cuda(self):
        self.assert_asset(Machine().nvidia(), "amd64", "cuda", "cuda-runtime")

    def test_T2_a_laptop_takes_its_nvidia_gpu(self):
        self.assert_asset(Machine().nvidia().intel(), "amd64", "cuda", "cuda-runtime")
        self.assertEqual(self.recommend(Machine().nvidia().intel(), "tsuku-llm").gpus, ["pci:0000:01:00.0"])

    def test_T3_amd_beside_intel_takes_vulkan(self):
        self.assert_asset(Machine().amd().intel(), "amd64", "vulkan", "vulkan-loader")
        self.assert_no_cuda(Machine().amd().intel(), "AMD")

    def test_T4_intel_alone_takes_vulkan(self):
        self.assert_asset(Machine().intel(), "amd64", "vulkan", "vulkan-loader")
        self.assert_no_cuda(Machine().intel(), "Intel")

    def test_T5_arm_has_both(self):
        self.assert_asset(Machine(arch="aarch64").nvidia(), "arm64", "cuda", "cuda-runtime")
        self.assert_asset(Machine(arch="aarch64").amd(), "arm64", "vulkan", "vulkan-loader")

    def test_T6_nothing_fits_where_no_gpu_is(self):
        for application in ("tsuku-llm-recipe", "tsuku-llm"):
            answer = self.recommend(Machine(), application)
            self.assertEqual((answer.code, answer.status, answer.hint), (3, "none", NO_GPU))
            self.assertIn("no-gpu", answer.why("vulkan"))

    def test_T8_all_assets_are_for_glibc(self):
        for application in ("tsuku-llm-recipe", "tsuku-llm"):
            answer = self.recommend(Machine(libc="musl", libc_version="1.2.4").nvidia(), application)
            self.assertEqual((answer.code, answer.status), (3, "no-platform"))
            offered = {"have": "linux-x86_64-musl", "want": ["linux-amd64-glibc", "linux-arm64-glibc"]}
            self.assertEqual(answer.warnings["platform-not-offered"], offered)
            self.assertIn("not for linux-x86_64-musl", answer.text)

    def test_T9_the_recipe_takes_cuda_whatever_the_driver(self):
        answer = self.recommend(Machine().nvidia(driver=OLD), "tsuku-llm-recipe")
        self.assertEqual(answer.variant, "cuda", "tsuku also chooses CUDA, which then fails")

    def test_T9_an_old_driver_is_no_cuda(self):
        answer = self.recommend(Machine().nvidia(driver=OLD), "tsuku-llm", "--only=cuda")
        self.assertEqual(answer.code, 3)
        why = answer.why("cuda")["driver-too-old"]
        self.assertEqual((why["have"], why["want"]), ("470.256.2", "525.60.13"))
        self.assertIn("update the GPU's driver", answer.text)

    def test_T9_relaxed_is_vulkan(self):
        answer = self.recommend(Machine().nvidia(driver=OLD), "tsuku-llm")
        self.assertEqual((answer.variant, answer.artifact["ref"]), ("vulkan", "tsuku-llm-linux-amd64-vulkan"))

    def test_T10_under_8_gb_is_too_little(self):
        self.assertEqual(self.recommend(Machine().amd(memory=8 * GB + 2**20), "tsuku-llm").variant, "vulkan")
        answer = self.recommend(Machine().amd(memory=7 * GB), "tsuku-llm")
        self.assertEqual((answer.code, answer.hint), (3, NO_GPU))
        self.assertEqual(answer.why("vulkan")["too-little-memory"]["have"], 7 * GB)


class CyllamaWheels(ScenarioCase):
    def assert_wheel(self, machine, variant, ref):
        answer = self.recommend(machine, "cyllama")
        self.assertEqual((answer.variant, answer.artifact["ref"]), (variant, ref), answer.text)
        self.assertEqual(answer.artifact["x-python"], ">=3.12")
        return answer

    def test_C1_a_newer_gpu_with_driver_550_takes_cuda12(self):
        answer = self.assert_wheel(Machine().nvidia(driver="550.54.14"), "cuda12", "cyllama-cuda12")
        note = "contains only PTX for compute capability 7.5; when the PTX is first loaded, the driver compiles it, which takes seconds"
        self.assertEqual(answer.candidates["cuda12"]["note"], note)
        self.assertIn(note, answer.text)

    def test_C1_driver_535_can_not_translate_its_ptx(self):
        answer = self.assert_wheel(Machine().nvidia(driver="535.183.01"), "vulkan", "cyllama-vulkan")
        why = answer.why("cuda12")
        self.assertEqual((why["driver-too-old"]["have"], why["driver-too-old"]["want"]), ("535.183.1", "550.0"))
        self.assertEqual((why["ptx-needs-newer-driver"]["driver_cuda"], why["ptx-needs-newer-driver"]["toolkit"]), ("12.2", "12.4"))

    def test_C2_ptx_for_7_5_does_not_run_below(self):
        answer = self.assert_wheel(Machine().nvidia(capability="6.1"), "vulkan", "cyllama-vulkan")
        self.assertEqual(answer.why("cuda12")["arch-not-in-build"]["have"], "6.1")
        self.assertIn("the build has no kernels for the GPU's architecture 6.1 (only for ptx 7.5", answer.text)
        self.assert_wheel(Machine().nvidia(capability="7.5"), "cuda12", "cyllama-cuda12")

    def test_C3_rocm_has_three_targets(self):
        for gfx in ("gfx90a", "gfx942", "gfx1100"):
            self.assert_wheel(Machine(libc_version="2.35").amd(gfx=gfx), "rocm", "cyllama-rocm")
        for gfx in ("gfx1030", "gfx1101", "gfx1151", "gfx1200"):
            answer = self.assert_wheel(Machine().amd(gfx=gfx), "vulkan", "cyllama-vulkan")
            self.assertEqual(answer.why("rocm")["arch-not-in-build"]["have"], gfx)
            self.assertIn(f"the build has no kernels for the GPU's architecture {gfx}", answer.text)

    def test_C3_rocm_needs_kfd(self):
        machine = Machine().amd(hip=False)
        machine.nodes["/dev/kfd"]["accessible"] = False
        machine.fails("hip", "failed", reasons=[{"code": "no-permission", "detail": {"node": "/dev/kfd"}}])
        self.assertIn("no-permission", self.assert_wheel(machine, "vulkan", "cyllama-vulkan").why("rocm"))

    def test_C4_an_old_glibc_is_no_rocm(self):
        answer = self.assert_wheel(Machine(libc_version="2.31").amd(gfx="gfx90a"), "vulkan", "cyllama-vulkan")
        why = answer.why("rocm")["glibc-too-old"]
        self.assertEqual((why["have"], why["want"]), ("2.31", "2.35"))
        self.assertIn("glibc is too old (have 2.31, need 2.35)", answer.text)

    def test_C5_intel_takes_sycl_with_the_oneapi_runtime_only(self):
        def arc(libraries):
            return Machine(libraries=libraries).intel(integrated=False, level_zero=True)

        self.assert_wheel(arc(ONEAPI), "sycl", "cyllama-sycl")
        for lacks in ONEAPI:
            answer = self.assert_wheel(arc(name for name in ONEAPI if name != lacks), "vulkan", "cyllama-vulkan")
            self.assertEqual(answer.why("sycl")["library-missing"]["missing"], [lacks])
            self.assertIn("install the oneAPI runtime 2025.3", answer.text)
        nvidia = self.recommend(Machine().nvidia(), "cyllama")
        self.assertIn("not installed: libsycl.so.8", nvidia.text)
        helps = nvidia.text.partition("What helps")[2]
        for useless in ("oneAPI", "libsycl"):
            self.assertNotIn(useless, helps, "this library would not help on this machine")
        self.assertIn("libcudart.so.12", helps, "the chosen wheel needs this library")

    def test_C6_no_wheel_for_arm_or_musl_and_the_constraint_is_named(self):
        for machine, have in (
            (Machine(arch="aarch64").nvidia(), "linux-aarch64-glibc"),
            (Machine(libc="musl", libc_version="1.2.4").amd(), "linux-x86_64-musl"),
        ):
            answer = self.recommend(machine, "cyllama")
            self.assertEqual((answer.code, answer.status), (3, "no-platform"))
            self.assertEqual(answer.warnings["platform-not-offered"], {"have": have, "want": ["linux-x86_64-glibc"]})
            self.assertIn(f"builds exist only for linux-x86_64-glibc, not for {have}", answer.text)


class ShimmyAssets(ScenarioCase):
    def test_S12_the_asset_and_what_it_really_contains(self):
        answer = self.recommend(Machine(libc_version="2.39").amd(), "shimmy")
        self.assertEqual((answer.variant, answer.artifact["ref"]), ("webgpu", "shimmy-linux-x86_64"))
        self.assertEqual(answer.artifact["x-contains"], ["webgpu", "cpu"])
        arm = self.recommend(Machine(arch="aarch64", libc_version="2.39").amd(), "shimmy")
        self.assertEqual((arm.variant, arm.status), (None, "no-platform"), "shimmy's release has no build for this platform")

    def test_S12_an_older_system_than_the_build_host_is_told(self):
        answer = self.recommend(Machine(libc_version="2.38").amd(), "shimmy")
        self.assertEqual(answer.code, 3)
        for variant in ("webgpu", "legacy"):
            why = answer.why(variant)["glibc-too-old"]
            self.assertEqual((why["have"], why["want"]), ("2.38", "2.39"))


class PyTorchIndexes(ScenarioCase):
    """Tests that `recommend` chooses the newest PyTorch index, up to version 2.14, that works with the driver and has kernels for the GPU."""

    def assert_index(self, machine, variant):
        answer = self.recommend(machine, "torch")
        self.assertEqual(answer.variant, variant, answer.text)
        return answer

    def test_a_new_driver_takes_the_default_of_the_release(self):
        self.assert_index(Machine().nvidia(capability="12.0", driver="580.65.06"), "cu132")

    def test_a_blackwell_gpu_on_driver_570_takes_an_older_pytorch_and_not_the_cpu(self):
        answer = self.assert_index(Machine().nvidia(capability="12.0", driver="570.86.10"), "cu129")
        self.assertEqual(answer.fallback, ["cu128", "cpu"])
        self.assertEqual(answer.warnings["other-version"], {"have": "2.13", "want": "2.14"})
        self.assertIn("driver-too-old", answer.why("cu132"))
        self.assertIn("arch-not-in-build", answer.why("cu126"))

    def test_volta_and_pascal_take_the_last_toolkit_that_has_them(self):
        for capability in ("7.0", "6.1", "5.2"):
            answer = self.assert_index(Machine().nvidia(capability=capability), "cu126")
            self.assertIn("arch-not-in-build", answer.why("cu132"))

    def test_select_says_the_same(self):
        for capability, driver in (("12.0", "570.86.10"), ("7.0", "580.65.06")):
            self.assertEqual(self.select(Machine().nvidia(capability=capability, driver=driver), "torch").backend, "cuda")

    def test_rocm_7_14_has_no_vega(self):
        self.assert_index(Machine().amd(gfx="gfx1100"), "rocm7.14")
        self.assert_index(Machine().amd(gfx="gfx906"), "rocm6.3")


class LocalAiImages(ScenarioCase):
    def test_cuda_13_has_nothing_for_pascal_and_volta(self):
        for capability in ("6.1", "7.0"):
            answer = self.recommend(Machine().nvidia(capability=capability), "localai")
            self.assertEqual(answer.variant, "nvidia-cuda-12", answer.text)
            self.assertIn("arch-not-in-build", answer.why("nvidia-cuda-13"))
            self.assertEqual(self.select(Machine().nvidia(capability=capability), "localai").answers["capability"], "nvidia-cuda-12")
        self.assertEqual(self.recommend(Machine().nvidia(), "localai").variant, "nvidia-cuda-13")

    def test_arm_beside_nvidia_is_l4t(self):
        machine = Machine(arch="aarch64", libc_version="2.39").nvidia(capability="9.0")
        self.assertEqual(self.recommend(machine, "localai").artifact["ref"],
                         "quay.io/go-skynet/local-ai-backends:latest-nvidia-l4t-cuda-13-arm64-llama-cpp")
        self.assertEqual(self.select(machine, "localai").answers["capability"], "nvidia-l4t-cuda-13")

    def test_an_amd_gpu_that_the_image_has_no_code_for_takes_vulkan(self):
        machine = Machine(libc_version="2.39").amd(gfx="gfx803")
        self.assertEqual(self.recommend(machine, "localai").variant, "vulkan")
        selected = self.select(machine, "localai")
        self.assertEqual((selected.backend, selected.answers["capability"]), ("vulkan", "vulkan"))


class LlamaCppArchives(ScenarioCase):
    def test_ptx_needs_a_driver_of_its_toolkit_and_a_cubin_does_not(self):
        for capability, driver, variant in (("8.9", "580.65.06", "ubuntu-cuda-13.4-x64"), ("9.0", "580.65.06", "ubuntu-cuda-12.8-x64"),
                                            ("9.0", "550.54.14", "ubuntu-vulkan-x64"), ("6.1", "580.65.06", "ubuntu-cuda-12.8-x64")):
            with self.subTest(capability=capability, driver=driver):
                answer = self.recommend(Machine(libc_version="2.39").nvidia(capability=capability, driver=driver), "llama.cpp")
                self.assertEqual(answer.variant, variant, answer.text)

    def test_its_cuda_archive_names_that_of_the_libraries(self):
        artifact = self.recommend(Machine(libc_version="2.39").nvidia(), "llama.cpp").artifact
        urls = [url for each in artifact["companion_files"] for url in each["urls"]]
        self.assertEqual([url.rpartition("/")[2] for url in urls], ["cudart-llama-b11429-bin-ubuntu-cuda-13.4-x64.tar.gz"])

    def test_kepler_takes_vulkan(self):
        machine = Machine(libc_version="2.39").nvidia(capability="3.7", driver="470.256.02")
        for application in ("llama.cpp", "node-llama-cpp", "whisper.cpp", "stable-diffusion.cpp"):
            self.assertEqual(self.select(machine, application).backend, "vulkan", application)


class OtherPackages(ScenarioCase):
    def test_lemonade_has_one_archive_for_each_architecture(self):
        for capability, variant in (("8.9", "cuda-sm_89"), ("12.1", "cuda-sm_121"), ("8.7", "vulkan"), ("10.3", "vulkan")):
            machine = Machine(libc_version="2.39").nvidia(capability=capability)
            self.assertEqual(self.recommend(machine, "lemonade").variant, variant)
            self.assertEqual(self.select(machine, "lemonade").backend, variant.split("-")[0])

    def test_node_llama_cpp_falls_back_for_older_drivers(self):
        libraries = ("libcudart.so.12", "libcudart.so.13", "libcublas.so.12", "libcublas.so.13")
        for capability, driver, variant in (("8.6", "580.65.06", "linux-x64-cuda"), ("6.1", "550.54.14", "linux-x64-cuda"),
                                            ("9.0", "580.65.06", "linux-x64-vulkan")):
            machine = Machine(libraries=libraries).nvidia(capability=capability, driver=driver)
            answer = self.recommend(machine, "node-llama-cpp")
            self.assertEqual(answer.variant, variant, answer.text)

    def test_node_llama_cpp_takes_no_cuda_without_its_libraries(self):
        machine = Machine().nvidia(capability="8.6", driver="580.65.06")
        answer = self.recommend(machine, "node-llama-cpp")
        self.assertEqual((answer.variant, self.select(machine, "node-llama-cpp").backend), ("linux-x64-vulkan", "vulkan"))
        self.assertIn("libcudart.so.13", answer.text)

    def test_vllm_begins_with_turing(self):
        self.assertEqual(self.recommend(Machine().nvidia(capability="7.5"), "vllm").variant, "cu130")
        self.assertEqual(self.recommend(Machine().nvidia(capability="8.0", driver="550.54.14"), "vllm").variant, "cu129")
        self.assertEqual(self.recommend(Machine(libc_version="2.39").nvidia(capability="7.0"), "vllm").variant, "cpu")

    def test_packages_without_a_cpu_build_say_so(self):
        for application in ("cupy", "flash-attn", "sglang", "xformers"):
            answer = self.recommend(Machine().intel(), application)
            self.assertEqual((answer.code, answer.variant), (3, None))
            self.assertTrue(answer.hint, application)
            self.assertEqual(self.select(Machine().intel(), application).backend, None)

    def test_onnxruntime_names_its_providers(self):
        self.assertEqual(self.select(Machine().nvidia(), "onnxruntime").answers["providers"], "CUDAExecutionProvider,CPUExecutionProvider")
        self.assertEqual(self.select(Machine(), "onnxruntime").answers["providers"], "CPUExecutionProvider")

    def test_blender_takes_optix_by_its_driver(self):
        for driver, word in (("580.65.06", "OPTIX"), ("525.60.13", "CUDA")):
            self.assertEqual(self.select(Machine().nvidia(driver=driver), "blender").answers["cycles_device"], word)
