# SPDX-License-Identifier: Apache-2.0
"""Tests the APIs cuda and nvml with fake libraries that behave like NVIDIA's libraries."""
import os
import signal
import unittest

from worker_process import run_worker

FAKES = os.path.join(os.environ["GPUPROBE_FAKES"], "nvidia")


def ask(api, variant, *options, **more):
    return run_worker(api, *options, library_path=os.path.join(FAKES, variant), **more)


class Cuda(unittest.TestCase):
    def test_reports_what_the_driver_says(self):
        answer = ask("cuda", "healthy")
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertEqual(answer.runtime["version"], "13.0")
        first, second = answer.devices
        self.assertEqual(first["pci"], "0000:c1:00.0")
        self.assertEqual(first["uuid"], "GPU-00010203-0405-0607-0809-0a0b0c0d0e00")
        self.assertEqual(second["uuid"], "GPU-00010203-0405-0607-0809-0a0b0c0d0e01")
        self.assertEqual(first["memory"], {"total": 24 << 30, "free": None})
        self.assertEqual(first["compute_capability"], "8.9")
        self.assertEqual(first["type"], "discrete")
        self.assertEqual(first["clock_hz"], 2_520_000_000)

    def test_says_null_where_the_driver_refuses(self):
        self.assertIsNone(ask("cuda", "healthy").devices[0]["warp_size"])

    def test_names_each_step_before_it_is_taken(self):
        self.assertEqual(ask("cuda", "healthy").phases, ["dlopen", "instance", "enumerate", "query", "end"])

    def test_calls_a_driver_without_devices_absent(self):
        answer = ask("cuda", "no-device")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertIn("CUDA_ERROR_NO_DEVICE", answer.done["note"])

    def test_gives_the_code_of_a_refusal(self):
        answer = ask("cuda", "unknown-error")
        self.assertEqual(answer.done["outcome"], "failed")
        self.assertEqual(answer.done["reasons"][0]["detail"], {"call": "cuInit", "code": 999})
        self.assertEqual(answer.runtime["version"], "13.0", "facts from before the error are kept")

    def test_keeps_the_first_device_when_the_second_crashes_the_driver(self):
        answer = ask("cuda", "crash")
        self.assertEqual(answer.status, -signal.SIGSEGV)
        self.assertIsNone(answer.done)
        self.assertEqual(len(answer.devices), 1)

    def test_is_absent_without_the_library(self):
        if os.path.exists("/usr/lib/x86_64-linux-gnu/libcuda.so.1"):
            self.skipTest("this machine has a CUDA driver")
        answer = run_worker("cuda")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertIn("libcuda.so.1", answer.done["note"])


class DividedGpu(unittest.TestCase):
    FIRST = "MIG-10010203-0405-0607-0809-0a0b0c0d0e00"
    SECOND = "MIG-20010203-0405-0607-0809-0a0b0c0d0e00"

    def test_is_its_first_instance_to_cuda(self):
        (device,) = ask("cuda", "divided").devices
        self.assertEqual(device["uuid"], self.FIRST)

    def test_computes_on_the_instance_that_was_named(self):
        for stage in ("verify", "measure"):
            for uuid in (self.FIRST, self.SECOND):
                with self.subTest(stage=stage, uuid=uuid):
                    answer = ask("cuda", "divided", "--stage", stage, "--device", f"uuid:{uuid}")
                    (device,) = answer.devices
                    self.assertEqual(device["uuid"], uuid)
                    self.assertEqual(device["check"]["result"], "verified")
                    self.assertEqual("measured" in device, stage == "measure")

    def test_leaves_the_other_gpu_to_whoever_names_it(self):
        other = "GPU-40010203-0405-0607-0809-0a0b0c0d0e00"
        place = ("--stage", "verify", "--device", "pci:0000:c2:00.0")
        unnamed = ask("cuda", "divided", *place)
        self.assertEqual((unnamed.done["reasons"][0]["code"], unnamed.devices), ("device-not-found", []))
        (device,) = ask("cuda", "divided", *place, variables={"CUDA_VISIBLE_DEVICES": other}).devices
        self.assertEqual((device["uuid"], device["pci"]), (other, "0000:c2:00.0"))
        self.assertEqual(device["check"]["result"], "verified")

    def test_computes_on_no_other(self):
        answer = ask("cuda", "divided", "--stage", "verify", "--device", "uuid:MIG-30010203-0405-0607-0809-0a0b0c0d0e00")
        self.assertEqual(answer.done["reasons"][0]["code"], "device-not-found")
        self.assertNotIn("MIG-3", str(answer.done), "readers of the answer may not be allowed to see a UUID")
        self.assertEqual(answer.devices, [])


class Nvml(unittest.TestCase):
    def test_reports_identity_and_memory_with_the_reserve_apart(self):
        answer = ask("nvml", "healthy")
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertEqual(answer.runtime["driver_version"], "580.159.04")
        self.assertEqual(answer.runtime["cuda_version"], "13.0")
        first = answer.devices[0]
        self.assertEqual(first["pci"], "0000:c1:00.0")
        self.assertEqual((first["vendor_id"], first["device_id"]), ("10de", "2684"))
        self.assertEqual(first["memory"], {"total": 24 << 30, "free": 20 << 30})
        self.assertEqual(first["memory_reserved"], 512 << 20)
        self.assertEqual(first["gpu_utilization"], 37)
        self.assertEqual((first["persistence_mode"], first["power_limit"], first["default_power_limit"]), (0, 350, 700))
        self.assertEqual(first["slowdowns"], ["power-cap", "hw-thermal"])
        self.assertEqual((first["ecc_uncorrected"], first["remap_pending"], first["remap_failed"]), (3, True, False))
        self.assertIs(first["licensed"], False)
        self.assertEqual(first["compute_capability"], "8.9")

    def test_repairs_a_name_that_is_not_text(self):
        self.assertEqual(ask("nvml", "healthy").devices[0]["name"], "Fake \ufffd GPU")

    def test_a_lost_gpu_does_not_hide_the_other(self):
        answer = ask("nvml", "healthy")
        self.assertEqual(len(answer.devices), 2)
        self.assertIn("GPU is lost", answer.devices[1]["error"])

    def test_lists_the_instances_of_a_divided_gpu(self):
        divided = ask("nvml", "divided").devices[0]
        self.assertIs(divided["mig_mode"], True)
        first, second = divided["mig_devices"]
        self.assertEqual(first, {
            "index": 0, "name": "Fake GPU MIG 1g.12gb+me", "uuid": "MIG-10010203-0405-0607-0809-0a0b0c0d0e00",
            "gpu_instance": 3, "compute_instance": 0, "gpu_slices": 1, "compute_slices": 1, "multiprocessors": 14,
            "decoders": 1, "encoders": 0, "memory_size": 12 << 30, "memory": {"total": 12 << 30, "free": 12000 << 20}})
        self.assertEqual((second["index"], second["gpu_instance"]), (2, 9), "the index is a slot number, and slots may be empty")
        self.assertNotIn("gpu_slices", second)
        self.assertNotIn("mig_mode", ask("nvml", "healthy").devices[0])

    def test_calls_a_missing_kernel_module_absent(self):
        answer = ask("nvml", "not-loaded")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertEqual(answer.done["reasons"][0]["code"], "driver-not-loaded")

    def test_tells_a_version_mismatch_from_other_refusals(self):
        answer = ask("nvml", "mismatch")
        self.assertEqual(answer.done["outcome"], "failed")
        self.assertEqual(answer.done["reasons"][0]["code"], "driver-mismatch")

    def processes(self, **variables):
        answer = run_worker("nvml", "--stage", "processes", library_path=os.path.join(FAKES, "healthy"),
                            variables=variables)
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertIn("error", answer.devices[1], "a lost GPU does not hide other GPUs")
        self.assertEqual(answer.devices[0]["pci"], "0000:c1:00.0")
        return answer.devices[0]["processes"]

    def test_lists_who_uses_a_gpu(self):
        listed = self.processes()
        self.assertEqual(len(listed), 101)
        self.assertEqual(listed[5], {"pid": 1005, "memory_used": 5120, "computes": True, "gpu_instance": None})
        self.assertEqual(listed[99]["gpu_instance"], 3)
        self.assertEqual(listed[100], {"pid": 77, "memory_used": None, "computes": False, "gpu_instance": None})

    def test_takes_no_more_processes_than_it_asked_for(self):
        self.assertEqual(self.processes(FAULT="more-processes-than-asked"), self.processes())
        self.assertEqual([each["pid"] for each in self.processes(FAULT="endless-processes")], [77])


if __name__ == "__main__":
    unittest.main()
