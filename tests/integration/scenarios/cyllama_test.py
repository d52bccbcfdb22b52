# SPDX-License-Identifier: Apache-2.0
"""Tests which wheel cyllama's users should install, in the scenarios C1 to C10."""
from made_machine import GB, GIB, ONEAPI, Machine
from scenario_case import ScenarioCase


class Cyllama(ScenarioCase):
    def wheel(self, machine, *options):
        return self.select(machine, "cyllama", *options).answers["wheel"]

    def test_C1_a_newer_gpu_with_driver_550_takes_cuda12(self):
        answer = self.select(Machine().nvidia(driver="550.54.14"), "cyllama")
        self.assertEqual(answer.answers["wheel"], "cyllama-cuda12")
        self.assertIn("seconds", answer.messages[0])

    def test_C1_driver_535_can_not_compile_its_ptx(self):
        answer = self.select(Machine().nvidia(driver="535.183.01"), "cyllama")
        self.assertEqual(answer.answers["wheel"], "cyllama-vulkan")
        self.assertEqual(answer.detail("cuda", "driver-too-old"), {"have": "535.183.01", "need": "550"})

    def test_C2_ptx_for_7_5_does_not_run_below(self):
        answer = self.select(Machine().nvidia(capability="6.1"), "cyllama")
        self.assertEqual(answer.answers["wheel"], "cyllama-vulkan")
        self.assertEqual(answer.detail("cuda", "arch-not-in-build")["have"], "6.1")
        self.assertEqual(self.wheel(Machine().nvidia(capability="7.5")), "cyllama-cuda12")

    def test_C3_rocm_has_three_targets(self):
        for gfx in ("gfx90a", "gfx942", "gfx1100"):
            with self.subTest(gfx):
                self.assertEqual(self.wheel(Machine().amd(gfx=gfx)), "cyllama-rocm")
        for gfx in ("gfx1030", "gfx1101", "gfx1151", "gfx1200"):
            with self.subTest(gfx):
                answer = self.select(Machine().amd(gfx=gfx), "cyllama")
                self.assertEqual(answer.answers["wheel"], "cyllama-vulkan")
                self.assertEqual(answer.codes("rocm"), ["arch-not-in-build"])

    def test_C3_rocm_needs_kfd(self):
        machine = Machine().amd(hip=False)
        machine.nodes["/dev/kfd"]["accessible"] = False
        machine.fails("hip", "failed", reasons=[{"code": "no-permission", "detail": {"node": "/dev/kfd"}}])
        answer = self.select(machine, "cyllama")
        self.assertEqual(answer.answers["wheel"], "cyllama-vulkan")
        self.assertIn("no-permission", answer.codes("rocm"))

    def test_C4_an_old_glibc_is_no_rocm(self):
        answer = self.select(Machine(libc_version="2.31").amd(gfx="gfx90a"), "cyllama")
        self.assertEqual(answer.answers["wheel"], "cyllama-vulkan")
        self.assertEqual(answer.detail("rocm", "glibc-too-old"), {"have": "2.31", "need": "2.35"})
        self.assertEqual(self.wheel(Machine(libc_version="2.35").amd(gfx="gfx90a")), "cyllama-rocm")

    def test_C5_intel_takes_vulkan_until_the_user_has_the_oneapi_runtime(self):
        answer = self.select(Machine(libraries=ONEAPI[1:]).intel(integrated=False, level_zero=True), "cyllama")
        self.assertEqual(answer.answers["wheel"], "cyllama-vulkan")
        self.assertEqual(answer.detail("sycl", "library-missing"), {"missing": "libsycl.so.8"})
        self.assertEqual(answer.answers["hint"], "for cyllama-sycl install the Intel oneAPI runtime 2025.3, which has libsycl.so.8")
        chosen = self.select(Machine(libraries=ONEAPI).intel(integrated=False, level_zero=True), "cyllama")
        self.assertEqual((chosen.answers["wheel"], chosen.answers.get("hint")), ("cyllama-sycl", None))
        without = self.select(Machine(libraries=ONEAPI).intel(integrated=False), "cyllama", "--prefer=sycl")
        self.assertEqual(without.answers["wheel"], "cyllama-vulkan", "SYCL needs Level Zero")

    def test_C6_no_wheel_for_arm_or_musl_and_the_constraint_is_named(self):
        for machine, have, requirement in (
            (Machine(arch="aarch64").nvidia(), "aarch64", "arch=x86_64"),
            (Machine(libc="musl", libc_version="1.2.4").amd(), "musl", "libc=glibc"),
        ):
            answer = self.select(machine, "cyllama")
            self.assertEqual((answer.backend, answer.answers["wheel"]), ("cpu", "cyllama"))
            self.assertEqual(answer.detail("vulkan", "requirement-unmet"), {"have": have, "requirement": requirement})

    def test_C6_the_profile_and_the_catalogue_agree_on_the_wheels(self):
        variants = self.manifest("cyllama", "linux-x86_64-glibc")
        self.assertEqual(variants["cuda12"]["requires"]["device"]["cuda"]["min_driver"], "550")
        self.assertEqual(variants["rocm"]["requires"]["device"]["gfx"], ["gfx90a", "gfx942", "gfx1100"])
        self.assertEqual(variants["rocm"]["requires"]["host"]["glibc_min"], "2.35")
        self.assertIn("libsycl.so.8", variants["sycl"]["requires"]["host"]["libs"])
        wheels = {each["artifact"]["ref"]: each for each in variants.values()}
        self.assertEqual({each["artifact"]["x-python"] for each in wheels.values()}, {">=3.12"})
        for machine in (Machine().nvidia(), Machine().amd(), Machine().intel(), Machine()):
            answer = self.select(machine, "cyllama")
            family = wheels[answer.answers["wheel"]]["family"]
            self.assertEqual(family, answer.backend)

    def test_C7_two_gpus_under_vulkan_leave_ggml_one(self):
        answer = self.select(Machine().amd(gfx="gfx1030").intel(), "cyllama")
        manifest = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"
        self.assertEqual(
            answer.environment,
            {
                "VK_DRIVER_FILES": manifest,
                "VK_ICD_FILENAMES": manifest,
                "MESA_VK_DEVICE_SELECT": "1002:744c!",
                "GGML_VK_VISIBLE_DEVICES": "0",
                # All APIs except the tested API are hidden.
                "CUDA_VISIBLE_DEVICES": "",
                "HIP_VISIBLE_DEVICES": "-1",
                "ROCR_VISIBLE_DEVICES": "",
                "ONEAPI_DEVICE_SELECTOR": "*:cpu",
            },
        )

    def test_C9_memory_is_given_in_mib_per_gpu(self):
        two = Machine().nvidia(memory=24 * GIB).nvidia(address="0000:02:00.0", memory=24 * GIB, number=1)
        self.assertEqual(self.select(two, "cyllama").answers["gpu_memory"], "24576,24576")
        self.assertEqual(self.select(Machine().nvidia(memory=8 * GB), "cyllama").answers["gpu_memory"], str(8 * GB // 2**20))
