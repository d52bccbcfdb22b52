# SPDX-License-Identifier: Apache-2.0
"""Tests the API hip with fake HSA and HIP runtimes that behave like ROCm's runtimes."""
import os
import signal
import unittest

from worker_process import run_worker

FAKES = os.path.join(os.environ["GPUPROBE_FAKES"], "amd")
GIB = 1 << 30


def ask(variant):
    return run_worker("hip", library_path=os.path.join(FAKES, variant))


class Hsa(unittest.TestCase):
    def test_reports_what_the_runtime_says_about_a_card(self):
        answer = ask("healthy")
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertEqual(answer.runtime["route"], "hsa")
        self.assertEqual(answer.runtime["version"], "1.14")
        self.assertEqual(answer.runtime["build"], "fake-build")
        card = answer.devices[0]
        self.assertEqual(card["index"], 0, "the index counts only GPUs")
        self.assertEqual(card["name"], "Fake Instinct")
        self.assertEqual((card["vendor_id"], card["device_id"]), ("1002", "740f"))
        self.assertEqual(card["pci"], "0001:c1:00.0")
        self.assertEqual(card["uuid"], "GPU-0123456789abcdef")
        self.assertEqual(card["type"], "discrete")
        self.assertEqual(card["memory"], {"total": 64 * GIB, "free": 60 * GIB})
        self.assertEqual(card["gfx_target"], "gfx90a")
        self.assertEqual(card["compute_units"], 104)
        self.assertEqual(card["wavefront_size"], 64)
        self.assertEqual(card["clock_hz"], 1_700_000_000)
        self.assertEqual(card["kfd_node"], 2)

    def test_says_null_for_what_an_apu_does_not_have(self):
        apu = ask("healthy").devices[1]
        self.assertEqual(apu["index"], 1)
        self.assertEqual(apu["pci"], "0000:04:00.0")
        self.assertEqual(apu["type"], "integrated")
        self.assertIsNone(apu["name"])
        self.assertIsNone(apu["uuid"], "GPU-XX is not an identifier")
        self.assertIsNone(apu["compute_units"])
        self.assertEqual(apu["memory"], {"total": 8 * GIB, "free": None}, "a free size above the total size is dropped")

    def test_names_each_step_before_it_is_taken(self):
        self.assertEqual(ask("healthy").phases, ["dlopen", "instance", "enumerate", "query", "end"])

    def test_calls_a_runtime_with_processors_only_absent(self):
        answer = ask("no-device")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertEqual(answer.done["reasons"][0]["code"], "no-device")
        self.assertEqual(answer.devices, [])

    def test_calls_a_machine_without_the_kernel_driver_absent(self):
        if os.path.exists("/dev/kfd"):
            self.skipTest("this machine has /dev/kfd")
        answer = ask("no-kfd")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertEqual(answer.done["reasons"][0]["code"], "no-device")
        self.assertIn("/dev/kfd", answer.done["note"])

    def test_gives_the_code_of_a_refusal(self):
        answer = ask("refused")
        self.assertEqual(answer.done["outcome"], "failed")
        self.assertEqual(
            answer.done["reasons"],
            [{"code": "api-refused", "detail": {"call": "hsa_init", "code": 0x1000}}])

    def test_keeps_the_first_device_when_the_second_crashes_the_driver(self):
        answer = ask("crash")
        self.assertEqual(answer.status, -signal.SIGSEGV)
        self.assertIsNone(answer.done)
        self.assertEqual([device["name"] for device in answer.devices], ["Fake Instinct"])


class Hip(unittest.TestCase):
    def setUp(self):
        for folder in ("/usr/lib/x86_64-linux-gnu", "/opt/rocm/lib"):
            if os.path.exists(f"{folder}/libhsa-runtime64.so.1"):
                self.skipTest("this machine has an HSA runtime, which is used instead of HIP")

    def test_is_asked_where_hsa_is_missing(self):
        answer = ask("hip-only")
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertEqual(answer.runtime["route"], "hip")
        self.assertEqual(answer.runtime["version"], "6.1.40092")
        self.assertIsNone(answer.runtime["driver_version"])
        device = answer.devices[0]
        self.assertEqual(device["name"], "Fake Radeon")
        self.assertEqual(device["pci"], "0000:c1:00.0")
        self.assertEqual(device["uuid"], "GPU-0123456789abcdef", "the UUID has sixteen characters without a NUL")
        self.assertEqual(device["memory"], {"total": 16 * GIB, "free": None})

    def test_calls_no_device_absent(self):
        answer = ask("hip-no-device")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertEqual(answer.done["reasons"][0]["code"], "no-device")
        self.assertIn("hipErrorNoDevice", answer.done["note"])

    def test_is_absent_without_any_library(self):
        answer = run_worker("hip")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertIn("libhsa-runtime64.so.1", answer.done["note"])


if __name__ == "__main__":
    unittest.main()
