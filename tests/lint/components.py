#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a component includes a header of a component that it must not depend on, or if a third-party header is included outside its
component.

Usage: components.py SOURCE_FOLDER     prints "file:line: what is wrong"; the exit status is 1 if there is a fault
       components.py --self-test       proves that each rule can fail
"""
import pathlib
import re
import sys
import tempfile

# component -> other components whose headers the component may include. src/CMakeLists.txt must list the same dependencies.
ARROWS = {
    "base": [],
    "knowledge": ["base"],
    "report": ["base", "knowledge"],
    "policy": ["base", "knowledge", "report"],
    "plan": ["base", "knowledge", "report", "policy"],
    "explain": ["base", "knowledge", "report", "policy"],
    "export": ["base", "report", "policy"],
    "inventory": ["base", "knowledge", "report"],
    "probe": ["base", "report"],
    "watch": ["base", "report", "probe"],
    "backends": ["base", "report", "probe"],
    "store": ["base", "report"],
    "engine": ["base", "knowledge", "report", "policy", "inventory", "probe", "store"],
    "wire": ["base", "report", "policy"],
    "calls": ["base", "knowledge", "report", "policy", "store", "engine", "wire", "plan", "explain"],
    "service": ["base", "report", "policy", "inventory", "probe", "store", "engine", "wire", "calls", "explain", "export"],
    "cli": ["base", "knowledge", "report", "policy", "inventory", "probe", "engine", "wire", "calls", "plan", "explain", "export", "watch"],
}

# third-party header -> components or files that may include this header.
FOREIGN = [
    (r"sdbus-c\+\+/", ["wire", "service"]),
    (r"(org|net)\.[a-z.]+.*(adaptor|proxy)", ["wire", "service"]),
    (r"libudev\.h", ["inventory"]),
    (r"nlohmann/", ["base/value.cpp"]),
    (r"nettle/", ["base/sha256.cpp", "knowledge/signature.cpp"]),
    (r"vulkan/", ["backends/vulkan"]),
    (r"CL/", ["backends/opencl"]),
    (r"level_zero/", ["backends/level_zero"]),
    (r"pci/", ["backends/pci"]),
    (r"(lib)?drm/", ["backends/drm"]),
    (r"dlfcn\.h", ["backends"]),
    (r"seccomp\.h", ["backends/filter_programs_main.cpp"]),
    (r"CLI/", ["cli", "service", "backends/worker_main.cpp"]),
    (r"fmt/", ["cli"]),
    (r"zlib\.h", ["inventory/gpu_code.cpp", "probe", "store"]),
    (r"zstd\.h", ["inventory/gpu_code.cpp", "cli/own_workers_portable.cpp"]),
    (r"systemd/", ["service", "wire"]),
]
# Components that must not use files, time, the environment or the log.
PURE = ["knowledge", "report", "policy", "plan", "export", "explain"]
IMPURE_HEADERS = r"(fstream|iostream|filesystem|chrono_io|thread|unistd\.h|fcntl\.h|sys/.*|ctime)"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def allowed(path, places):
    return any(path == place or path.startswith(place + "/") for place in places)


def problems_in(path, text):
    """Yields the faults in a file; `path` is relative to src, for example "component/file.cpp"."""
    component = path.split("/")[0]
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, header = found.groups()
        target = header.split("/")[0]
        if quote == '"' and target in ARROWS and target != component and target not in ARROWS.get(component, []):
            yield number, f"{component} may not include from {target}"
        if quote == '"' and target not in ARROWS and "/" in header and not re.match(FOREIGN[1][0], header):
            yield number, f"{header} is in no component"
        for pattern, places in FOREIGN:
            if re.match(pattern, header) and not allowed(path, places):
                yield number, f"{header} may only be included in {', '.join(places)}"
        if component in PURE and quote == "<" and re.fullmatch(IMPURE_HEADERS, header):
            yield number, f"{component} is pure: no {header}"


def check(source):
    bad = 0
    for file in sorted(source.rglob("*")):
        if file.suffix not in (".h", ".cpp"):
            continue
        path = file.relative_to(source).as_posix()
        for number, problem in problems_in(path, file.read_text(encoding="utf-8")):
            print(f"src/{path}:{number}: {problem}")
            bad += 1
    return bad


def self_test():
    rows = [
        ("report/a.h", '#include "base/value.h"\n', 0),
        ("report/a.h", '#include "policy/select.h"\n', 1),
        ("base/a.h", '#include "report/report.h"\n', 1),
        ("engine/a.cpp", "#include <sdbus-c++/sdbus-c++.h>\n", 1),
        ("service/a.cpp", "#include <sdbus-c++/sdbus-c++.h>\n", 0),
        ("report/a.cpp", "#include <nlohmann/json.hpp>\n", 1),
        ("service/a.cpp", '#include "backends/backend.h"\n', 1),
        ("probe/a.cpp", "#include <dlfcn.h>\n", 1),
        ("inventory/a.cpp", "#include <drm/drm.h>\n", 1),
        ("policy/a.cpp", "#include <fstream>\n", 1),
        ("policy/a.cpp", '#include "elsewhere/a.h"\n', 1),
    ]
    for path, text, wanted in rows:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            found = check(pathlib.Path(folder))
            assert found == wanted, f"{path}: {text!r}: found {found}, wanted {wanted}"
    print(f"{len(rows)} rows hold")
    return 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else min(check(pathlib.Path(sys.argv[1])), 1))
