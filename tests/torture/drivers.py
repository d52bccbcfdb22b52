# SPDX-License-Identifier: Apache-2.0
"""Writes a fake worker that answers immediately. For each API, the fake worker prints recorded answers, reports a missing driver, or hangs.

The worker is a shell script that prints prepared frames. The tests start thousands of workers, and starting a Python interpreter for each worker
would cost more time than the daemon itself.
"""
import json
import pathlib
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests/data/machines/nvidia-h200-1/probes"
SCRIPT = """#!/bin/sh
echo "$1 $3" >> {folder}/launches
[ "$3" = query ] && [ -e {folder}/hang-$1 ] && exec sleep 1000
file={folder}/frames-$1
[ "$3" = query ] && [ -e $file ] || file={folder}/frames-absent
exec cat $file >&3
"""


def frames(devices, outcome):
    sys.path.append(str(ROOT / "tests/integration"))
    import told_worker

    sent = [told_worker.frame(3, told_worker.text(facts)) for facts in devices]
    done = told_worker.text({"outcome": outcome, "note": None, "reasons": [], "frames": len(sent)})
    last = told_worker.frame(4, done, more=4)
    return b"".join(sent) + last + zlib.crc32(b"".join(sent) + last).to_bytes(4, "little")


class Drivers:
    """Writes the worker to `folder`. `answers`: API -> the devices that the API lists."""

    def __init__(self, folder, answers):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.program = self.folder / "worker"
        self.launched = self.folder / "launches"
        self.launched.touch()
        (self.folder / "frames-absent").write_bytes(frames([], "absent"))
        for api, devices in answers.items():
            (self.folder / f"frames-{api}").write_bytes(frames(devices, "answered"))
        self.program.write_text(SCRIPT.format(folder=self.folder), encoding="utf-8")
        self.program.chmod(0o755)

    def hang(self, api, hangs=True):
        path = self.folder / f"hang-{api}"
        path.touch() if hangs else path.unlink(missing_ok=True)

    def launches(self, api=None):
        """Returns the number of workers that were started for one API, or for all."""
        lines = self.launched.read_text(encoding="ascii").splitlines()
        return sum(api in (None, line.split(" ")[0]) for line in lines)


def recorded(api):
    """Returns the devices of the recorded H200 for this API."""
    return json.loads((RECORDED / f"{api}.json").read_text(encoding="utf-8"))["devices"]


def h200(folder):
    return Drivers(folder, {api: recorded(api) for api in ("cuda", "nvml")})
