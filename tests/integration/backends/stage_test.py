# SPDX-License-Identifier: Apache-2.0
"""Tests the worker's answer to a request for a stage that the API does not have, and for an unknown stage."""
import unittest

from worker_process import run_worker


class Stages(unittest.TestCase):
    def test_one_that_an_api_lacks_is_an_answer(self):
        for api, stage in (("pci", "verify"), ("nvml", "measure"), ("drm", "verify"), ("cpu", "query")):
            with self.subTest(api=api, stage=stage):
                answer = run_worker(api, "--stage", stage, "--device", "index:0")
                self.assertEqual(answer.done["outcome"], "failed")
                self.assertEqual(answer.done["reasons"],
                                 [{"code": "stage-not-offered", "detail": {"stage": stage}}])
                self.assertEqual(answer.devices, [])

    def test_one_that_there_is_not_is_a_usage_error(self):
        answer = run_worker("pci", "--stage", "bench")
        self.assertEqual(answer.status, 2)
        self.assertIsNone(answer.done)
