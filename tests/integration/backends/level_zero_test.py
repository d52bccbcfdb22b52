# SPDX-License-Identifier: Apache-2.0
"""Tests the APIs level_zero and level_zero_sysman with a fake loader that behaves like Intel's loader."""
import os
import signal
import unittest

from worker_process import run_worker

FAKES = os.path.join(os.environ["GPUPROBE_FAKES"], "intel")
GIB = 1 << 30


def ask(variant, api="level_zero"):
    return run_worker(api, library_path=os.path.join(FAKES, variant))


def skip_with_a_loader(test):
    if os.path.exists("/usr/lib/x86_64-linux-gnu/libze_loader.so.1"):
        test.skipTest("this machine has a Level Zero loader")


class LevelZero(unittest.TestCase):
    def test_reports_what_the_driver_says_about_a_card(self):
        answer = ask("healthy")
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertEqual(answer.runtime["version"], "1.21.9")
        card = answer.devices[0]
        self.assertEqual(card["name"], "Fake Arc")
        self.assertEqual((card["vendor_id"], card["device_id"]), ("8086", "56a0"))
        self.assertEqual(card["pci"], "0000:03:00.0")
        self.assertEqual(card["uuid"], "86800000-0000-0000-0000-000000000000")
        self.assertEqual((card["type"], card["device_type"]), ("discrete", "gpu"))
        self.assertEqual(card["memory"], {"total": 16 * GIB, "free": None}, "the memory of both tiles is added")
        self.assertEqual(card["intel_ip"], "12.55.8")
        self.assertEqual((card["api_version"], card["driver_version"]), ("1.6", "1.6.33578"))
        self.assertEqual((card["fp16"], card["fp64"], card["integer_dot_product"]), (True, False, True))
        self.assertEqual(card["spirv_version"], "1.2")
        self.assertEqual(card["execution_units"], 512)
        self.assertEqual(card["clock_hz"], 2_400_000_000)
        self.assertIs(card["ecc"], True)

    def test_knows_an_integrated_gpu(self):
        self.assertEqual(ask("healthy").devices[1]["type"], "integrated")

    def test_lists_npus_last_and_as_such(self):
        gpu, _, npu = ask("healthy").devices
        self.assertEqual([gpu["index"], npu["index"]], [0, 2])
        self.assertEqual((npu["type"], npu["device_type"]), ("other", "npu"))
        self.assertEqual(npu["pci"], "0000:00:0b.0")
        self.assertIsNone(npu["intel_ip"], "the NPU's driver does not list the extension")
        self.assertIsNone(npu["fp16"], "the driver refuses the query, so the fact is unknown")

    def test_keeps_the_gpus_when_the_npu_driver_crashes(self):
        answer = ask("crash")
        self.assertEqual(answer.status, -signal.SIGSEGV)
        self.assertIsNone(answer.done)
        self.assertEqual(answer.phases[-1], "npu")
        self.assertEqual(len(answer.devices), 2)

    def test_works_with_loaders_before_1_10(self):
        answer = ask("old")
        self.assertEqual(answer.done["outcome"], "answered")
        self.assertEqual(len(answer.devices), 2)

    def test_calls_a_loader_without_drivers_absent(self):
        for variant in ("no-driver", "no-device"):
            answer = ask(variant)
            self.assertEqual(answer.done["outcome"], "absent", variant)
            self.assertEqual(answer.done["reasons"][0]["code"], "no-device")

    def test_gives_the_code_of_a_refusal(self):
        answer = ask("refused")
        self.assertEqual(answer.done["outcome"], "failed")
        self.assertIn("ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE", answer.done["note"])
        self.assertEqual(
            answer.done["reasons"],
            [{"code": "api-refused", "detail": {"call": "zeInitDrivers", "code": 0x70020000}}])

    def test_is_absent_without_the_library(self):
        skip_with_a_loader(self)
        answer = run_worker("level_zero")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertIn("libze_loader.so.1", answer.done["note"])


class Sysman(unittest.TestCase):
    def ask(self, variant):
        return ask(variant, "level_zero_sysman")

    def test_sums_the_memory_of_all_tiles(self):
        answer = self.ask("healthy")
        self.assertEqual(answer.done["outcome"], "answered")
        card = answer.devices[0]
        self.assertEqual(card["pci"], "0000:03:00.0")
        self.assertEqual(card["type"], "discrete")
        self.assertEqual(card["memory"], {"total": 16 * GIB, "free": 13 * GIB})
        self.assertEqual(card["memory_physical"], 18 * GIB)
        self.assertEqual(card["memory_health"], "degraded", "the worse health of the two tiles")
        self.assertEqual(card["tiles"], 2)

    def test_does_not_believe_that_all_is_free(self):
        self.assertEqual(self.ask("healthy").devices[1]["memory"], {"total": 8 * GIB, "free": None})

    def test_reads_no_further_than_a_text_without_end(self):
        self.assertEqual(self.ask("healthy").devices[0]["driver_version"], "x" * 64)

    def test_knows_no_size_where_the_state_is_refused(self):
        card = self.ask("unprivileged").devices[0]
        self.assertIsNone(card["memory"])
        self.assertEqual(card["memory_physical"], 18 * GIB)

    def test_keeps_the_first_device_when_the_second_crashes_the_driver(self):
        answer = self.ask("crash")
        self.assertEqual(answer.status, -signal.SIGSEGV)
        self.assertEqual(len(answer.devices), 1)

    def test_calls_an_old_loader_absent(self):
        answer = self.ask("old")
        self.assertEqual(answer.done["outcome"], "absent")
        self.assertIn("zesInit", answer.done["note"])

    def test_calls_a_loader_without_drivers_absent(self):
        for variant in ("no-driver", "no-device"):
            answer = self.ask(variant)
            self.assertEqual(answer.done["outcome"], "absent", variant)
            self.assertEqual(answer.done["reasons"][0]["detail"], {"api": "level_zero_sysman"})

    def test_gives_the_code_of_a_refusal(self):
        answer = self.ask("refused")
        self.assertEqual(answer.done["outcome"], "failed")
        self.assertEqual(answer.done["reasons"][0]["detail"], {"call": "zesInit", "code": 0x70020000})

    def test_is_absent_without_the_library(self):
        skip_with_a_loader(self)
        self.assertEqual(run_worker("level_zero_sysman").done["outcome"], "absent")


if __name__ == "__main__":
    unittest.main()
