# SPDX-License-Identifier: Apache-2.0
"""The inputs with which a fuzzer starts: files of the source tree, and the files in seeds/<harness>.

Each input that made a harness fail is added to seeds/<harness>, under a name that describes the problem. Every later build tests these inputs again.
"""
import base64
import hashlib
import json
import os
import pathlib
import struct
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import gpu_files  # noqa: E402
import hostile_answers  # noqa: E402
MACHINES = ROOT / "tests/data/machines"
KEPT = pathlib.Path(__file__).resolve().parent / "seeds"
MAX_SEED = 256 * 1024


def files(pattern):
    for path in sorted(ROOT.glob(pattern)):
        yield path.stem, path.read_bytes()


def capture():
    """Yields a recorded machine as one string. capture_fuzz.cpp describes the format."""
    for machine in sorted(MACHINES.iterdir()):
        text = b""
        for path in sorted(machine.rglob("*")):
            name = b"/" + str(path.relative_to(machine)).encode()
            if path.is_symlink():
                text += b"\n>" + name + b"\n" + os.readlink(path).encode()
            elif path.is_file() and path.name not in ("expected.json", "provenance.json"):
                text += b"\n@" + name + b"\n" + path.read_bytes()
        yield machine.name, text


def frame(kind, facts, stream=b""):
    payload = json.dumps(facts).encode()
    done = kind == 4
    head = struct.pack("<II", len(payload) + 4 * done, kind)
    whole = stream + head + payload
    return whole + struct.pack("<I", zlib.crc32(whole)) if done else whole


def probes():
    for path in sorted(MACHINES.glob("*/probes/*.json")):
        yield f"{path.parent.parent.name}.{path.stem}", json.loads(path.read_text(encoding="utf-8"))


def frames():
    """Yields streams of frames that would produce the recorded probes, each preceded by the sizes of its blocks."""
    for name, probe in probes():
        stream = frame(1, {"name": "query"})
        if isinstance(probe.get("runtime"), dict):
            stream = frame(2, probe["runtime"], stream)
        devices = probe.get("devices") or []
        for device in devices:
            stream = frame(3, device, stream)
        count = 1 + isinstance(probe.get("runtime"), dict) + len(devices)
        done = {"outcome": "answered", "note": None, "reasons": [], "frames": count}
        yield name, b"\x3f" + frame(4, done, stream)


def cache():
    for name, probe in probes():
        yield name, json.dumps({"fingerprint": "seed", "probes": [probe],
                                "trials": [{"fingerprint": "card", "probe": probe}]}).encode()


def rules():
    for path in sorted((ROOT / "data/rules").glob("*.json")):
        yield path.stem, path.stem.encode() + b"\n" + path.read_bytes()


def replies():
    """Replies of drivers in the layout of the kernel's include/uapi/drm/{i915,xe}_drm.h: a header with a count, followed by
    regions."""
    i915 = struct.pack("<4I", 1, 0, 0, 0) + struct.pack("<HHIQQ8Q", 1, 0, 0, 16 << 30, 15 << 30, *[0] * 8)
    xe = struct.pack("<2I", 1, 0) + struct.pack("<HHIQQQQ6Q", 1, 0, 4096, 16 << 30, 1 << 30, 0, 0, *[0] * 6)
    return [("i915-region", i915), ("xe-region", xe), ("uuid", b"GPU-0123456789abcdef")]


def linker_cache():
    """Yields a linker cache with one library, in the format of glibc's sysdeps/generic/dl-cache.h."""
    strings = b"libcuda.so.1\0/usr/lib/libcuda.so.1\0"
    start = 48 + 24
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II", 1, len(strings)) + b"\0" * 20
    yield "linker-cache", head + struct.pack("<iIIIQ", 0x303, start, start + 13, 0, 0) + strings


def build():
    """GPU code in each container format, and a shared object that contains GPU code."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in gpu_files.examples(pathlib.Path(folder)):
            yield name, content


def data():
    yield from files("tests/data/cli/*.decision.json")
    for name in ("expected.json",):
        for path in sorted(MACHINES.glob(f"nvidia-h200-1/{name}")):
            yield path.stem, path.read_bytes()


def profiles():
    for name, text in files("data/knowledge/applications/*.json"):
        application = json.loads(text)
        if selection := application.get("selection"):
            profile = {"name": application["name"], "description": application["description"], **selection}
            yield name, json.dumps(profile).encode()


def bundles():
    """Small bundles, one for each kind of data file, and a public key."""
    release = {"schema": "gpuprobe.knowledge/1", "version": "2027.1.1", "issued": "2027-01-01", "expires": "2028-01-01"}
    for name in ("drivers", "rules/ptx_isa", "causes/vulkan", "applications/default", "selectors"):
        folder = ROOT / "data" / ("" if name.startswith("rules/") else "knowledge")
        texts = {name: (folder / f"{name}.json").read_bytes(), "release": json.dumps(release).encode()}
        entries = [{"name": each, "sha256": hashlib.sha256(text).hexdigest(), "bytes": len(text)}
                   for each, text in sorted(texts.items())]
        head = json.dumps({**release, "schema": "gpuprobe.bundle/1", "documents": entries}).encode()
        yield name.replace("/", "-"), head + b"\n" + b"".join(text for _, text in sorted(texts.items()))
        line = base64.b64encode(b"Ed" + bytes(72))
        yield "signed-" + name.replace("/", "-"), b"untrusted comment: x\n" + line + b"\n" + head + b"\n"
    yield "key", b"untrusted comment: k, expires 2028-01-01\n" + base64.b64encode(b"Ed" + bytes(40)) + b"\n"


def answers():
    """Answers of a daemon and of a hostile server, for the client library. Each answer is preceded by the JSON pointer that the harness looks up."""
    for row in hostile_answers.rows():
        if len(row.message) < 4096 and not row.name.startswith("no-key"):
            yield row.name, b"/parameters/x\n" + row.message
    for name, text in files("tests/data/golden/report-*.json"):
        yield name, b"/gpus/0/apis/vulkan\n" + text


def documents():
    for folder, lead in (("knowledge", ""), ("knowledge/causes", "causes/"), ("rules", "rules/"), ("knowledge/applications", "applications/")):
        for name, text in files(f"data/{folder}/*.json"):
            if len(text) < 32 * 1024:
                yield (lead + name).replace("/", "-"), f"{lead}{name}\n".encode() + text


def terms():
    """Conditions of causes, and predicates of applications."""
    texts = set()

    def collect(value, is_term):
        if isinstance(value, str) and is_term:
            texts.add(value)
        for key, each in value.items() if isinstance(value, dict) else ():
            collect(each, is_term or key in ("when", "unless", "eased", "from", "show", "requires", "require", "text"))
        for each in value if isinstance(value, list) else ():
            collect(each, is_term)
    for pattern in ("causes", "applications"):
        for path in sorted((ROOT / "data/knowledge" / pattern).glob("*.json")):
            collect(json.loads(path.read_text(encoding="utf-8")), False)
    for number, text in enumerate(sorted(texts)[::8]):
        yield f"term-{number}", text.encode()


SEEDS = {
    "client": answers, "documents": documents, "terms": terms,
    "json": lambda: [*files("tests/data/golden/report-*.json"), *files("data/knowledge/causes/*.json")],
    "bundle": bundles,
    "build": build, "capture": capture, "cache": cache, "frames": frames, "rules": rules, "replies": replies,
    "sysfs": linker_cache, "bus_message": data,
    "gguf": lambda: files("tests/data/models/*.gguf"),
    "manifest": lambda: [*files("data/knowledge/applications/*.json"), *files("tests/data/variants/manifests/*.json")],
    "profile": profiles,
    "report": lambda: files("tests/data/golden/report-*.json"),
}


def seeds_of(harness):
    """Yields (name, content) for each seed."""
    yield from SEEDS.get(harness, lambda: [])()
    for path in sorted((KEPT / harness).glob("*")):
        yield path.name, path.read_bytes()


def write(harness, folder):
    """Writes the seeds, and returns their paths in the order of seeds_of(). Leaves out seeds that are too large for fuzzing."""
    paths = []
    for name, content in seeds_of(harness):
        if len(content) <= MAX_SEED:
            path = pathlib.Path(folder) / name
            path.write_bytes(content)
            paths.append(str(path))
    return paths
