#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if clang++ rejects a source that the build's compiler accepts, because tools/fuzz builds with clang.

Usage: clang.py BUILD_FOLDER    checks src/ with the options in BUILD_FOLDER/compile_commands.json
       clang.py --self-test     proves that the check can fail

Files of a folder with the same options are checked together, as GPUPROBE_UNITY compiles them. They are checked again only if one of
them or a header has changed since the last success. The first run takes two minutes on one core; later runs take a second.
"""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

CLANG = os.environ.get("GPUPROBE_CLANG") or "clang++"
FILES = 12  # number of files in a unit
KEPT = re.compile(r"-[ID]|-std=|-isystem")  # options that affect how the compiler parses a source


def options_of(command):
    words = iter(shlex.split(command))
    for word in words:
        if word == "-isystem":
            yield from (word, next(words))
        elif KEPT.match(word):
            yield word


def units_of(build):
    """Yields (options, files) of each unit that is checked together."""
    groups = collections.defaultdict(list)
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if file.suffix != ".cpp" or "src" not in file.parts or "Unity" in file.parts:
            continue
        # The lint checks these files one by one, because each main() is a separate program, and because a portable source replaces another file in
        # its folder.
        is_own = file.stem.endswith(("_main", "_portable")) or "COMPILE_OPTIONS" in entry["command"]
        groups[file.parent, tuple(options_of(entry["command"])), file.name if is_own else ""].append(file)
    for (_, options, _), files in sorted(groups.items(), key=str):
        files = sorted(set(files))
        for start in range(0, len(files), FILES):
            yield options, files[start:start + FILES]


def is_passed(stamp):
    """Returns whether all files of the unit are older than the last successful check."""
    if not stamp.exists():
        return False
    since = stamp.stat().st_mtime
    read = stamp.read_text(encoding="utf-8").replace("\\\n", " ").partition(":")[2].split()
    return all(os.path.exists(path) and os.stat(path).st_mtime < since for path in read)


def check(build, options, files):
    """Returns clang's error messages, which are empty if clang accepts the files."""
    text = "".join(f'#include "{file}"\n' for file in files)
    version = subprocess.run([CLANG, "--version"], capture_output=True, check=True).stdout
    name = hashlib.sha256(version + text.encode() + " ".join(options).encode()).hexdigest()[:16]
    stamp = build / "clang" / f"{name}.d"
    if is_passed(stamp):
        return ""
    stamp.parent.mkdir(exist_ok=True)
    unit, read = stamp.with_suffix(".cpp"), stamp.with_suffix(".tmp")
    unit.write_text(text, encoding="utf-8")
    done = subprocess.run([CLANG, "-fsyntax-only", "-w", "-MD", "-MF", read, *options, unit], cwd=build, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        read.replace(stamp)
        os.utime(stamp)
    return "" if done.returncode == 0 else done.stderr or f"{CLANG} ended with {done.returncode}"


def check_all(build):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda unit: check(build, *unit), units_of(build)))
    print("".join(found), end="")
    print(f"{len(found)} units, {sum(bool(text) for text in found)} that clang++ refuses")
    return any(found)


def self_test():
    wrong = "#include <map>\nint sum(const std::map<int, int>& m) { int s = 0; for (auto& [k, v] : m) [&] { s += k + v; }(); return s; }\n"
    right = "int main() {}\n"
    old = "14." in subprocess.run([CLANG, "--version"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        (build / "src").mkdir()
        for text, is_wrong in ((right, False), (right + "error", True), *(((wrong, True),) if old else ())):
            (build / "src/x.cpp").write_text(text, encoding="utf-8")
            entry = {"directory": folder, "file": "src/x.cpp", "command": "c++ -std=c++20 -c src/x.cpp"}
            (build / "compile_commands.json").write_text(json.dumps([entry]), encoding="utf-8")
            if check_all(build) != is_wrong:
                return 1
    return 0


def main():
    if not shutil.which(CLANG):
        print(f"{CLANG} is not installed")
        return 77
    return self_test() if sys.argv[1] == "--self-test" else int(check_all(pathlib.Path(sys.argv[1]).resolve()))


if __name__ == "__main__":
    sys.exit(main())
