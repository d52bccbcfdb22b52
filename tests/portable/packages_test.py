#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the packages of the clients in other Debian systems, in which each client must give the same answers as gpuprobectl. Prints a table.

GPUPROBE_FILE is the file that tools/portable built. GPUPROBE_BIN is the folder of the gpuprobectl for comparison, in a build folder.
Must run as root. Each system is a root folder without a network, in which the user nobody runs the commands. The programs that use the Go module and
the Rust crate are compiled on the test system: the Go program needs no C library, and the Rust program needs the C library of the test system."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
sys.path[:0] = [str(SOURCE / "tests/integration/install"), str(SOURCE / "tests/integration")]
os.environ["GPUPROBE_MACHINES"] = "all"
import carried_test as carried  # noqa: E402
import portable_test  # noqa: E402

SYSTEMS = {"Debian 11": "bullseye-clients", "Debian 12": "bookworm-clients", "Debian 13": "trixie-clients", "Debian testing": "testing-clients",
           "busybox": "busybox", "musl": "musl"}
NEEDS_GLIBC = {"wheel", "npm", "Rust"}  # Debian's Python and Node.js, and the Rust program compiled on this system
# The commands that install each package in /tmp/installed and let its client answer the questions in the file $1. npm is not installed in these
# systems, but would unpack the two files in the same way.
SCRIPTS = {
    "file": "while read -r machine words; do /tmp/asking/gpuprobe --replay=$machine -j -q call $words; done < $1.lines",
    "wheel": """python3 -m pip install --quiet --no-index --no-cache-dir --target=/tmp/installed /tmp/packages/python/gpuprobe-*manylinux*.whl
                PYTHONPATH=/tmp/installed exec python3 /tmp/asking/ask.py $1""",
    "npm": """[ $(node -p 'parseInt(process.versions.node)') -ge 18 ] || { echo needs Node.js 18 >&2 && exit; }
              for file in /tmp/packages/gpuprobe*.tgz; do
                  folder=/tmp/installed/node_modules/$(basename $file | sed 's/-[0-9.]*tgz$//')
                  mkdir -p $folder && tar -xzf $file -C $folder --strip-components=1
              done
              cp /tmp/asking/ask.mjs /tmp/installed && exec node /tmp/installed/ask.mjs $1""",
    "Go": "exec /tmp/asking/Go $1",
    "Rust": "exec /tmp/asking/Rust $1"}


class Packages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        cls.place.chmod(0o755)
        asking = cls.place / "asking"
        asking.mkdir()
        # This program, which the packages contain, replays the machine in $MACHINE and needs no C library.
        carried.run("cc", "-O", "-static", '-DPROGRAM="/tmp/asking/gpuprobe"', "-o", asking / "program", carried.ASK / "program.c")
        shutil.copy(carried.FILE, asking / "gpuprobe")
        for kind in ("python", "node"):
            carried.run(SOURCE / "tools/packages", "--program", asking / "program", "--built", carried.BUILD, cls.place / "packages", kind)
        for name in ("ask.py", "ask.mjs"):
            shutil.copy(carried.ASK / name, asking)
        for package, script in SCRIPTS.items():
            (asking / f"{package}.sh").write_text(script, encoding="utf-8")
        carried.FILE = pathlib.Path("/tmp/asking/gpuprobe")
        for name, of in (("Go", carried.GoModule), ("Rust", carried.RustCrate)):
            cls.addClassCleanup(of.doClassCleanups)
            of.setUpClass()
            shutil.copy(of.ask[0], asking / name)
        machines = [machine.name for machine in carried.replayed()]
        cls.questions = [(f"/tmp/machines/{machine}", *question) for machine in machines for question in carried.QUESTIONS]
        cls.wanted = [cls.answer_of(carried.MACHINES / machine, *question) for machine in machines for question in carried.QUESTIONS]
        for name, questions in (("first", cls.questions[:1]), ("all", cls.questions)):
            (asking / name).write_text(json.dumps(questions), encoding="utf-8")
            (asking / f"{name}.lines").write_text("".join(f"{machine} org.gpuprobe.{method} {json.dumps(parameters, separators=(',', ':'))}\n"
                                                          for machine, method, parameters in questions), encoding="utf-8")
        cls.rows = {}

    @classmethod
    def tearDownClass(cls):
        print(f"\n{'system':16}" + "".join(f"{package:>24}" for package in SCRIPTS), file=sys.stderr)
        for system, cells in cls.rows.items():
            print(f"{system:16}" + "".join(f"{cells.get(package, '–'):>24}" for package in SCRIPTS), file=sys.stderr)

    @staticmethod
    def answer_of(machine, method, parameters):
        text = subprocess.run([carried.BIN / "gpuprobectl", f"--replay={machine}", "-j", "-q", "call", f"org.gpuprobe.{method}", "-"], text=True,
                              input=json.dumps(parameters), capture_output=True, timeout=60, check=False).stdout
        answer = json.loads(text)
        return answer.get("error", answer)

    def ask(self, root, package, questions):
        """Installs a package in the root folder, and returns its answers to the questions and its output on standard error."""
        script = f"""set -eu
            mount -t tmpfs -o mode=1777 tmpfs {root}/tmp
            for one in asking packages; do mkdir {root}/tmp/$one && mount --bind {self.place}/$one {root}/tmp/$one; done
            mkdir {root}/tmp/machines && mount --bind {carried.MACHINES} {root}/tmp/machines
            mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev
            cd / && exec env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 HOME=/nothing GPUPROBE_SOCKET=/nothing \\
                /usr/sbin/chroot --userspec={portable_test.NOBODY}:{portable_test.NOBODY} {root} /bin/sh /tmp/asking/{package}.sh /tmp/asking/{questions}"""
        done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c", script], check=False, capture_output=True, text=True,
                              timeout=1200, stdin=subprocess.DEVNULL)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        return [answer.get("error", answer) if package == "file" else answer for answer in answers], done.stderr

    def check(self, root, package):
        start = time.monotonic()
        first, problem = self.ask(root, package, "first")
        lasted = time.monotonic() - start
        if problem.startswith("needs "):
            return problem.strip()
        if package == "Rust" and "GLIBC_" in problem:
            return "needs glibc " + max(re.findall(r"GLIBC_([\d.]+)", problem))
        self.assertEqual(first, self.wanted[:1], problem)
        found, problem = self.ask(root, package, "all")
        self.assertEqual(len(found), len(self.wanted), problem)
        different = [question for question, answer, wanted in zip(self.questions, found, self.wanted) if answer != wanted]
        self.assertEqual(different, [])
        return f"{len(found)} equal, {lasted:.1f} s"

    def test_answer_in_each_system_as_gpuprobectl_does(self):
        for system, suite in SYSTEMS.items():
            root = carried.run(SOURCE / "tests/portable/root", suite).strip()
            cells = self.rows.setdefault(system, {})
            for package in SCRIPTS:
                if system in ("busybox", "musl") and package in NEEDS_GLIBC:
                    continue
                with self.subTest(system=system, package=package):
                    cells[package] = "different"
                    cells[package] = self.check(root, package)


if __name__ == "__main__":
    sys.exit(portable_test.main())
