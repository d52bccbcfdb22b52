#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of one harness and runs it on them, for a short time.

Usage: run.py libfuzzer|rerun NAME PROGRAM    ends as the program does
       run.py --seeds NAME FOLDER             only writes the seeds, for a longer search
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = ROOT / "tests/data/machines"
MAX_SEED = 256 * 1024
LIBFUZZER = ["-seed=1", "-runs=20000", "-max_total_time=30", "-rss_limit_mb=1024", "-timeout=10",
             f"-max_len={MAX_SEED}", "-print_final_stats=1", "-verbosity=0"]


def capture_seeds():
    """One machine in one text; see capture_fuzz.cpp."""
    for machine in sorted(MACHINES.iterdir()):
        text = b""
        for path in sorted(machine.rglob("*")):
            name = b"/" + str(path.relative_to(machine)).encode()
            if path.is_symlink():
                text += b"\n>" + name + b"\n" + os.readlink(path).encode()
            elif path.is_file() and path.name not in ("expected.json", "provenance.json"):
                text += b"\n@" + name + b"\n" + path.read_bytes()
        if len(text) <= MAX_SEED:
            yield machine.name, text


def frame(kind, facts, stream=b""):
    payload = json.dumps(facts).encode()
    done = kind == 4
    head = struct.pack("<II", len(payload) + 4 * done, kind)
    whole = stream + head + payload
    return whole + struct.pack("<I", zlib.crc32(whole)) if done else whole


def frames_seeds():
    """The stream that would have made each recorded probe, behind the size of its pieces."""
    for path in sorted(MACHINES.glob("*/probes/*.json")):
        probe = json.loads(path.read_text(encoding="utf-8"))
        stream = frame(1, {"name": "query"})
        if isinstance(probe.get("runtime"), dict):
            stream = frame(2, probe["runtime"], stream)
        devices = probe.get("devices") or []
        for device in devices:
            stream = frame(3, device, stream)
        count = 1 + isinstance(probe.get("runtime"), dict) + len(devices)
        done = {"outcome": "answered", "note": None, "reasons": [], "frames": count}
        yield f"{path.parent.parent.name}.{path.stem}", b"\x3f" + frame(4, done, stream)


def report_seeds():
    for path in sorted((ROOT / "tests/data/golden").glob("report-*.json")):
        yield path.stem, path.read_bytes()


def gguf_seeds():
    for path in sorted((ROOT / "tests/data/models").glob("*.gguf")):
        yield path.stem, path.read_bytes()


SEEDS = {"capture": capture_seeds, "gguf": gguf_seeds, "frames": frames_seeds, "report": report_seeds}


def write_seeds(name, folder):
    files = []
    for seed, content in SEEDS[name]():
        file = pathlib.Path(folder) / seed
        file.write_bytes(content)
        files.append(str(file))
    return files


def main(words):
    if words[0] == "--seeds":
        print(f"{len(write_seeds(words[1], words[2]))} seeds")
        return 0
    searcher, name, program = words
    with tempfile.TemporaryDirectory() as folder:
        seeds = write_seeds(name, folder)
        command = [program, *LIBFUZZER, folder] if searcher == "libfuzzer" else [program, *seeds]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
