#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fake gpuprobe-worker whose answers are in a file, for tests of programs that start workers.

Usage: told_worker.py TOLD.json API --stage STAGE [--driver MANIFEST] [--device KEY] … 3>FRAMES

TOLD.json is {"API STAGE": answer, "API STAGE DEVICE": answer}; the longer key is preferred. An answer has the members "devices"
(a list of facts), "outcome", "note" and "reasons". With "deed": "crash" or "hang", the worker crashes or hangs after it has
sent the devices. With "after": PIPE, the worker waits until the test has opened and closed this pipe. If there is no answer for an
API, the outcome is "absent".
"""
import json
import os
import signal
import sys
import zlib


def frame(kind, payload, more=0):
    return (len(payload) + more).to_bytes(4, "little") + kind.to_bytes(4, "little") + payload


def text(document):
    return json.dumps(document).encode()


def main(told, api, *options):
    given = dict(zip(options[::2], options[1::2]))
    stage, device = given.get("--stage", "query"), given.get("--device", "")
    with open(told, encoding="utf-8") as file:
        answers = json.load(file)
    answer = answers.get(f"{api} {stage} {device}".strip()) or answers.get(f"{api} {stage}") or {"outcome": "absent"}
    if "after" in answer:
        with open(answer["after"], "rb") as pipe:
            pipe.read()
    frames = [frame(3, text(facts)) for facts in answer.get("devices", [])]
    os.write(3, b"".join(frames))
    if answer.get("deed") == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    while answer.get("deed") == "hang":
        signal.pause()
    done = text({"outcome": answer.get("outcome", "answered"), "note": answer.get("note"),
                 "reasons": answer.get("reasons", []), "frames": len(frames)})
    last = frame(4, done, more=4)
    os.write(3, last + zlib.crc32(b"".join(frames) + last).to_bytes(4, "little"))


def install(folder, answers):
    """Makes a fake worker with the given answers in `folder`, and returns the path of the worker."""
    told, program, script = folder / "told.json", folder / "told-worker", folder / "told_worker.py"
    tell(folder, answers)
    # The sandbox may hide the folder of the tests, for instance below /tmp.
    with open(__file__, "rb") as file:
        script.write_bytes(file.read())
    program.write_text(f'#!/bin/sh\nexec /usr/bin/python3 {script} {told} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def tell(folder, answers):
    (folder / "told.json").write_text(json.dumps(answers), encoding="utf-8")


PLACE = "0000:c1:00.0"
CARD = {"index": 0, "name": "Fake H200", "vendor_id": "10de", "device_id": "2335", "pci": PLACE, "type": "discrete"}


CHECKED = {"result": "verified", "words": 4096, "wrong_words": 0, "first_wrong": None, "note": None}


def verified(wrong=0):
    check = {**CHECKED, "result": "miscomputed", "wrong_words": wrong, "first_wrong": 3} if wrong else CHECKED
    return {"devices": [{"index": 0, "check": check}]}


def measured(read, fp32):
    return {"devices": [{"index": 0, "check": CHECKED, "measured": {
        "memory_read": read, "memory_copy": read * 0.9, "host_to_device": 55e9, "device_to_host": 54e9, "fp32": fp32,
        "fp16": None, "int8": None, "launch_usec": 4.5, "spread": {"fp32": 0.02}, "duration_usec": 800000, "note": None}}]}


if __name__ == "__main__":
    main(*sys.argv[1:])
