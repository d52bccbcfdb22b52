# SPDX-License-Identifier: Apache-2.0
"""Tests that the doctor finds each cause that depends on an error number if a driver returns this number.

A fake driver returns the error number, and a worker reports the error. The test then replays the machine that the cause names, with the worker's
report instead of the recorded report. The test thus ensures that some backend reports each value on which a cause depends.
"""
import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from cli_case import SOURCE, run
from worker_process import run_worker

FAKES = pathlib.Path(os.environ["GPUPROBE_FAKES"])
NUMBER = re.compile(r"\.code=(-?\d+)")
# {API: (path of the fake driver, {name of a call in the API's reference: name of the call in the fake driver})}.
DRIVERS = {"cuda": ("nvidia/healthy", {}),
           "nvml": ("nvidia/healthy", {"nvmlInit": "nvmlInit_v2", "nvmlDeviceGetHandleByIndex": "nvmlDeviceGetHandleByIndex_v2"}),
           "vulkan": ("vulkan/gpu", {})}
USUAL_MANIFEST = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"
# This cause needs /dev/kfd, so tests/integration/backends/hip_test.py tests its error number.
ELSEWHERE = {"kfd-locked"}


def word(cause, name):
    """Returns the value that a cause requires in a term ".name=value"."""
    return next((term.split("=", 1)[1] for term in cause.get("when", []) if term.startswith(f".{name}=")), None)


def causes_with_numbers():
    for path in sorted((SOURCE / "data/knowledge/causes").glob("*.json")):
        for cause in json.loads(path.read_text(encoding="utf-8"))["causes"]:
            if any(NUMBER.fullmatch(term) for term in cause.get("when", [])) and cause["id"] not in ELSEWHERE:
                yield cause


def call_of(cause):
    """Returns the driver's call that fails in the example of a cause, and whether this call fails during a test computation."""
    shown = json.dumps(cause["shows"]["set"])
    call = re.search(r'"call": "(\w+)"|"error": "(\w+):', shown)
    return call.group(1) or call.group(2), "verification" in shown


def answer_of(api, call, number, computes):
    folder, names = DRIVERS[api]
    variables = {"FAULT": f"{names.get(call, call)}={number}"}
    options = ["--stage", "verify", "--device", "index:0"] if computes else []
    if api != "vulkan":
        return run_worker(api, *options, library_path=str(FAKES / folder), variables=variables)
    manifest = str(next((FAKES / folder).glob("*.json")))
    variables |= {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest}
    return run_worker(api, "--driver", manifest, *options, variables=variables)


class WhatDriversSay(unittest.TestCase):
    def replayed(self, cause, api, answer, computes):
        machine = SOURCE / "tests/data/machines" / cause["shows"]["machine"]
        with tempfile.TemporaryDirectory() as folder:
            capture = pathlib.Path(folder, "capture")
            shutil.copytree(machine, capture, symlinks=True)
            known = next((capture / "probes").glob(f"{api}.*"), None)
            usual = json.loads(known.read_text(encoding="utf-8")) if known else {"driver": USUAL_MANIFEST if api == "vulkan" else ""}
            probe = {"api": api, "driver": usual.get("driver", ""), "stage": "query", "runtime": answer.runtime or None,
                     "devices": answer.devices, **answer.done}
            if computes:
                probe |= {"stage": "verify", "device": f"pci:{usual['devices'][0]['pci']}", "devices": []}
            elif known:
                known.unlink()
            if "gpu.backends.cuda.usable=true" in cause.get("unless", []):
                (capture / "probes/cuda.json").unlink(missing_ok=True)
            (capture / "probes" / f"{api}-said.json").write_text(json.dumps(probe), encoding="utf-8")
            return json.loads(run(f"--replay={capture}", "doctor", "-j").stdout)["findings"]

    def test_reaches_each_cause_that_names_a_number(self):
        tried = 0
        for cause in causes_with_numbers():
            api, number = word(cause, "api"), word(cause, "code")
            call, computes = call_of(cause)
            with self.subTest(cause=cause["id"], call=call, number=number):
                answer = answer_of(api, call, number, computes)
                self.assertIsNotNone(answer.done, "the worker did not end")
                findings = self.replayed(cause, api, answer, computes)
                self.assertIn(cause["id"], [finding["id"] for finding in findings], answer.done)
                tried += 1
        self.assertGreater(tried, 20)


if __name__ == "__main__":
    unittest.main()
