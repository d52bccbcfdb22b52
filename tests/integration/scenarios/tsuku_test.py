# SPDX-License-Identifier: Apache-2.0
"""Tests the scenarios T1 to T18, which are based on tsuku's code, recipe and design, and also cases in which tsuku's answer is wrong."""
from made_machine import GB, Machine
from scenario_case import ScenarioCase


class Tsuku(ScenarioCase):
    def assert_choice(self, answer, backend, gpu, detected=None):
        """`gpu` is the value in the recipe; `detected` is the value that tsuku itself detects, if this value differs from `gpu`."""
        self.assertEqual((answer.backend, answer.answers["gpu"]), (backend, gpu), answer.document)
        self.assertEqual(answer.answers["detected_by_tsuku"], detected or gpu)

    def test_T1_nvidia_takes_cuda(self):
        self.assert_choice(self.select(Machine().nvidia(), "tsuku"), "cuda", "nvidia")

    def test_T1_the_recipe_decides_before_there_is_a_driver(self):
        answer = self.select(Machine().nvidia(kernel=None, cuda=False, vulkan=False, nvml=False), "tsuku")
        self.assert_choice(answer, None, "nvidia")
        self.assertIn("loader-missing", answer.codes("cuda"))

    def test_T2_a_laptop_takes_its_nvidia_gpu(self):
        answer = self.select(Machine().nvidia().intel(), "tsuku")
        self.assert_choice(answer, "cuda", "nvidia")
        self.assertEqual(answer.gpus, ["pci:0000:01:00.0"])

    def test_T3_amd_beside_intel_takes_vulkan_on_amd(self):
        answer = self.select(Machine().amd().intel(), "tsuku")
        self.assert_choice(answer, "vulkan", "amd")
        self.assertEqual(answer.gpus, ["pci:0000:03:00.0"])

    def test_T4_intel_alone_takes_vulkan(self):
        self.assert_choice(self.select(Machine().intel(), "tsuku"), "vulkan", "intel")

    def test_T5_arm_is_no_exception(self):
        for machine, backend, gpu in ((Machine(arch="aarch64").nvidia(), "cuda", "nvidia"), (Machine(arch="aarch64").amd(hip=False), "vulkan", "amd")):
            with self.subTest(gpu):
                self.assert_choice(self.select(machine, "tsuku"), backend, gpu)

    def test_T5_each_answer_leads_to_its_asset_in_the_recipe(self):
        """Tests for the scenarios T1 to T5 that each answer of gpuprobe leads to exactly one asset of the recipe, with the right dependency."""
        for arch, host in (("amd64", "x86_64"), ("arm64", "aarch64")):
            for machine, family, dependency in (
                (Machine(arch=host).nvidia(), "cuda", "cuda-runtime"),
                (Machine(arch=host).nvidia().intel(), "cuda", "cuda-runtime"),
                (Machine(arch=host).amd().intel(), "vulkan", "vulkan-loader"),
                (Machine(arch=host).intel(), "vulkan", "vulkan-loader"),
            ):
                answer = self.select(machine, "tsuku")
                variants = self.manifest("tsuku-llm-recipe", f"linux-{arch}-glibc").values()
                fitting = [each for each in variants if answer.answers["gpu"] in each["requires"]["device"]["vendor"]]
                self.assertEqual([(each["family"], each["artifact"]["ref"], each["artifact"]["x-dependency"]) for each in fitting],
                                 [(answer.backend, f"tsuku-llm-linux-{arch}-{family}", dependency)])

    def test_T6_without_a_gpu_nothing_matches(self):
        answer = self.select(Machine(), "tsuku")
        self.assertEqual(answer.code, 3)
        self.assertEqual(answer.answers["gpu"], "none")
        self.assertEqual(answer.messages, ["no GPU detected: tsuku-llm requires a GPU with at least 8 GB VRAM"])

    def test_T7_apple_is_answered_from_the_table(self):
        for platform in ("darwin-arm64", "darwin-amd64"):
            with self.subTest(platform):
                self.assert_choice(self.select_anywhere("tsuku", f"--platform={platform}"), "metal", "apple")

    def test_T8_musl_is_not_supported(self):
        answer = self.select(Machine(libc="musl", libc_version="1.2.4").nvidia(), "tsuku")
        self.assertEqual(answer.code, 3)
        self.assertEqual(answer.detail("cuda", "requirement-unmet"), {"have": "musl", "requirement": "libc=glibc"})

    def test_T9_an_old_driver_is_no_cuda(self):
        old = Machine().nvidia(driver="470.256.02")
        answer = self.select(old, "tsuku")
        self.assertEqual(answer.code, 3)
        self.assertEqual(answer.detail("cuda", "driver-too-old"), {"have": "470.256.02", "need": "525.60.13"})
        self.assertEqual(answer.codes("vulkan"), ["not-in-profile-for-vendor"])
        self.assertEqual(answer.answers["detected_by_tsuku"], "nvidia", "tsuku itself would choose CUDA")
        self.assertIn("update the GPU's driver to 525.60.13 or later", self.explained(old, "tsuku"))

    def test_T9_relaxed_is_vulkan(self):
        answer = self.select(Machine().nvidia(driver="470.256.02"), "tsuku", "--any-vendor")
        self.assertEqual(answer.backend, "vulkan")

    def test_T10_memory_decides_on_the_model(self):
        for memory, model in ((14 * GB, "14B"), (14 * GB - 1, "7B"), (8 * GB, "7B")):
            with self.subTest(memory):
                answer = self.select(Machine().amd(memory=memory), "tsuku")
                self.assertEqual((answer.backend, answer.answers["model"]), ("vulkan", model))

    def test_T10_under_8_gb_is_too_little(self):
        for memory, available in ((8 * GB - 1, "7.9"), (4 * GB, "4.0")):
            with self.subTest(memory):
                answer = self.select(Machine().amd(memory=memory), "tsuku")
                self.assertEqual((answer.code, answer.answers.get("model")), (3, None))
                self.assertEqual(answer.messages, [f"insufficient VRAM: {available} GB available, 8.0 GB required for minimum model (7B)"])

    def test_T11_only_three_words_are_backends(self):
        answer = self.select(Machine().nvidia(), "tsuku", "--backend=rocm")
        self.assertEqual(answer.error["message"], "invalid backend 'rocm': must be one of: cuda, metal, vulkan")
        self.assertEqual(self.select(Machine().nvidia(), "tsuku", "--backend=vulkan").backend, "vulkan")

    def test_T12_gpu_is_no_value_of_the_setting(self):
        answer = self.select(Machine().nvidia(), "tsuku", "--backend=gpu")
        self.assertEqual(answer.error["message"], "invalid value for llm.backend: must be one of: cpu")

    def test_T14_other_display_classes_are_gpus_too(self):
        for pci_class in ("0380", "1200"):
            with self.subTest(pci_class):
                self.assert_choice(self.select(Machine().amd(pci_class=pci_class), "tsuku"), "vulkan", "amd", detected="none")

    def test_T15_nouveau_has_vulkan_with_its_real_memory(self):
        machine = Machine().nvidia(kernel="nouveau", cuda=False, nvml=False, vulkan=False)
        machine.vulkan("nouveau_icd.x86_64", "NVIDIA GPU (NVK)", "10de", "2684", "0000:01:00.0", "discrete", 24 * GB, "mesa-nvk")
        answer = self.select(machine, "tsuku")
        self.assert_choice(answer, None, "nvidia")
        self.assertEqual(answer.codes("vulkan"), ["not-in-profile-for-vendor"])
        relaxed = self.select(machine, "tsuku", "--any-vendor")
        self.assertEqual((relaxed.backend, relaxed.answers["model"]), ("vulkan", "14B"))

    def test_T16_memory_is_known_without_nvidia_smi(self):
        answer = self.select(Machine().nvidia(nvml=False, memory=10 * GB), "tsuku")
        self.assertEqual((answer.backend, answer.answers["model"]), ("cuda", "7B"))

    def test_T17_what_is_asked_for_and_missing_is_said_in_its_words(self):
        for word, title, machine in (
            ("cuda", "CUDA", Machine().amd()),
            ("vulkan", "Vulkan", Machine().nvidia(vulkan=False)),
            ("metal", "Metal", Machine().nvidia()),
        ):
            with self.subTest(word):
                answer = self.select(machine, "tsuku", f"--backend={word}")
                self.assertEqual(answer.code, 3)
                self.assertEqual(answer.messages, [f"invalid backend '{word}': {title} not available on this system"])

    def test_T18_an_intel_mac_keeps_the_recipes_answer(self):
        answer = self.select_anywhere("tsuku", "--platform=darwin-amd64")
        self.assertEqual((answer.backend, answer.answers["gpu"]), ("metal", "apple"))


class TsukuDraft(ScenarioCase):
    def test_vulkan_comes_before_cuda(self):
        answer = self.select(Machine().nvidia(), "tsuku-draft")
        self.assertEqual(answer.summary, "requested=auto detected=[vulkan,cuda,cpu] selected=vulkan")
        self.assertEqual(self.select(Machine().nvidia(vulkan=False), "tsuku-draft").backend, "cuda")
        self.assertEqual(self.select(Machine(), "tsuku-draft").backend, "cpu")
