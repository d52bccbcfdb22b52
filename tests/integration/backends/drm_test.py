# SPDX-License-Identifier: Apache-2.0
"""Tests the API drm on the machine that runs the tests. Unit tests cover the replies of drivers."""
import glob
import os
import unittest

from worker_process import run_worker

NODES = glob.glob("/sys/class/drm/renderD*")


class Drm(unittest.TestCase):
    def test_accounts_for_each_render_node(self):
        answer = run_worker("drm")
        told = [device["node"] for device in answer.devices]
        refused = [reason for reason in answer.done["reasons"] if reason["code"] != "no-device"]
        self.assertEqual(len(told) + len(refused), len(NODES))
        for device in answer.devices:
            with open(f"/sys/class/drm/{os.path.basename(device['node'])}/dev", encoding="ascii") as file:
                self.assertEqual(device["drm"]["render"], file.read().strip())

    def test_is_absent_where_there_is_none(self):
        answer = run_worker("drm")
        self.assertEqual(answer.done["outcome"] == "absent", not NODES)
        if not NODES:
            self.assertEqual(answer.done["reasons"], [{"code": "no-device", "detail": {"api": "drm"}}])


if __name__ == "__main__":
    unittest.main()
