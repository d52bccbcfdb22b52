# SPDX-License-Identifier: Apache-2.0
"""Tests of the stages verify and measure with real software drivers, and with fake drivers that each have one fault."""
import os
import signal

from compute_case import ComputeCase, FaultsOfRates, stage
from worker_process import run_worker

FAKES = os.environ["GPUPROBE_FAKES"]
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
POCL = "/etc/OpenCL/vendors/pocl.icd"


class ComputesOnTheProcessor(ComputeCase):
    def test_the_processor_itself(self):
        self.verified(stage("verify", "cpu"))
        self.measured(stage("measure", "cpu"),
                      without=("host_to_device", "device_to_host", "fp16", "int8", "launch_usec"))

    def test_it_needs_no_name(self):
        self.verified(run_worker("cpu", "--stage", "verify"))

    def test_lavapipe(self):
        manifest = {"VK_DRIVER_FILES": LAVAPIPE, "VK_ICD_FILENAMES": LAVAPIPE}
        self.verified(stage("verify", "vulkan", "--driver", LAVAPIPE, variables=manifest))
        self.measured(stage("measure", "vulkan", "--driver", LAVAPIPE, variables=manifest))

    def test_pocl(self):
        vendors = {"OCL_ICD_VENDORS": POCL}
        self.verified(stage("verify", "opencl", "--driver", POCL, variables=vendors))
        self.measured(stage("measure", "opencl", "--driver", POCL, variables=vendors), without=("fp16", "int8"))

    def test_no_other_device_answers_for_one_that_is_not_there(self):
        manifest = {"VK_DRIVER_FILES": LAVAPIPE, "VK_ICD_FILENAMES": LAVAPIPE}
        for device in ("index:1", "pci:0000:01:00.0", "llvmpipe"):
            with self.subTest(device=device):
                answer = stage("verify", "vulkan", "--driver", LAVAPIPE, device=device, variables=manifest)
                self.assertEqual(answer.done["outcome"], "absent")
                self.assertEqual(answer.done["reasons"],
                                 [{"code": "device-not-found", "detail": {"device": device}}])
                self.assertEqual(answer.devices, [])


class ComputesOnCuda(FaultsOfRates, ComputeCase):
    memory_note = "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"

    def ask(self, name, fault, **more):
        return stage(name, "cuda", library_path=os.path.join(FAKES, "nvidia", fault), **more)

    def test_computes(self):
        answer = self.ask("verify", "healthy", device="pci:0000:c2:00.0")
        self.verified(answer)
        self.assertEqual((answer.devices[0]["index"], answer.devices[0]["pci"]), (1, "0000:c2:00.0"))
        self.assertEqual(answer.phases[-4:], ["context", "build", "dispatch", "end"])
        self.measured(self.ask("measure", "healthy"))

    def test_a_context_takes_what_nvml_says_is_gone(self):
        answer = self.ask("measure", "healthy", device="pci:0000:c1:00.0")
        self.measured(answer)
        self.assertEqual(answer.devices[0]["measured"]["context"], 523 << 20)
        # NVML lists no GPU at this PCI address.
        self.assertIsNone(self.ask("measure", "healthy", device="pci:0000:c2:00.0").devices[0]["measured"]["context"])

    def test_what_it_is_at_while_nvml_is_asked(self):
        answer = self.ask("measure", "healthy", device="pci:0000:c1:00.0", variables={"FAULT": "segv@memory"})
        self.assertEqual(answer.phases, ["free-memory"])
        self.assertEqual(answer.status, -signal.SIGSEGV)
        answer = self.ask("measure", "healthy", device="pci:0000:c1:00.0")
        self.assertEqual([phase for phase in answer.phases if phase in ("free-memory", "context")],
                         ["free-memory", "context", "free-memory"])

    def test_a_gpu_that_is_full_gets_no_context(self):
        answer = self.ask("verify", "full")
        self.refused(answer, "out-of-memory")
        self.assertEqual(answer.done["reasons"][0]["detail"], {"have": 512 << 20, "need": 1 << 30})


class ComputesOnOpenCl(FaultsOfRates, ComputeCase):
    memory_note = "clCreateBuffer: CL_MEM_OBJECT_ALLOCATION_FAILURE"

    def ask(self, name, fault, device="pci:0000:01:00.0"):
        icd = os.path.join(FAKES, "opencl", fault, f"{fault}.icd")
        return stage(name, "opencl", "--driver", icd, device=device, variables={"OCL_ICD_VENDORS": icd})

    def test_computes(self):
        self.verified(self.ask("verify", "gpu"))
        # The device lists neither cl_khr_fp16 nor cl_khr_integer_dot_product.
        self.measured(self.ask("measure", "gpu"), without=("fp16", "int8"))

    def test_says_what_its_compiler_says(self):
        note = self.ask("verify", "BuildFails").done["note"]
        self.assertRegex(note, "^clBuildProgram: CL_BUILD_PROGRAM_FAILURE: line 1: [^\x1b]*$")


class ComputesOnHip(FaultsOfRates, ComputeCase):
    memory_note = "hipMalloc: hipErrorUnknown (2)"

    def ask(self, name, fault, **more):
        return stage(name, "hip", library_path=os.path.join(FAKES, "amd", fault), **more)

    def test_computes(self):
        self.verified(self.ask("verify", "hip-only", device="pci:0000:c1:00.0"))
        self.measured(self.ask("measure", "hip-only"))

    def test_without_its_runtime(self):
        answer = self.ask("verify", "healthy")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertIn("libamdhip64", answer.done["note"])


class ComputesOnLevelZero(FaultsOfRates, ComputeCase):
    memory_note = "zeMemAllocDevice: ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY (0x70000003)"

    def ask(self, name, fault, **more):
        return stage(name, "level_zero", library_path=os.path.join(FAKES, "intel", fault), **more)

    def test_computes(self):
        self.verified(self.ask("verify", "healthy", device="pci:0000:03:00.0"))
        self.measured(self.ask("measure", "small", device="pci:0000:03:00.0"))

    def test_measures_what_nobody_says_is_free_and_what_is_the_hosts(self):
        self.measured(self.ask("measure", "small-unprivileged"))
        self.measured(self.ask("measure", "small", device="pci:0000:00:02.0"))


class ComputesOnVulkan(FaultsOfRates, ComputeCase):
    memory_note = "vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY"
    has_compiler = False

    def ask(self, name, fault, device="pci:0000:01:00.0"):
        manifest = os.path.join(FAKES, "vulkan", fault, f"{fault}.json")
        return stage(name, "vulkan", "--driver", manifest, device=device,
                     variables={"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest})

    def test_computes(self):
        self.verified(self.ask("verify", "gpu"))
        # The device supports 16-bit floats, but not the dot product of 8-bit integers.
        self.measured(self.ask("measure", "gpu"), without=("int8",))
