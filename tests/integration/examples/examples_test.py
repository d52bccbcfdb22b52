# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/examples do what they say, against a daemon with a captured machine."""
import configparser
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "bus")]
from bus_case import BIN, SOURCE, BusCase  # noqa: E402

EXAMPLES = SOURCE / "docs/examples"
H200 = SOURCE / "tests/data/machines/nvidia-h200-1"
NOTHING = SOURCE / "tests/data/machines/tsuku-none"
PROGRAM = ["sh", "-c", 'echo "$GPU_BACKEND $CUDA_VISIBLE_DEVICES"']
UUID = "GPU-00000000-0000-4000-8000-000000000001"


class ExampleCase(BusCase):
    def run_example(self, machine, *command, **more):
        if not self.daemon:
            self.start("--replay", str(machine), f"--socket={self.folder}/org.gpuprobe")
        environment = {
            "PATH": f"{BIN}:/usr/bin:/bin",
            "HOME": self.folder,
            "LANG": "C.UTF-8",
            "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address,
            "GPUPROBE_SOCKET": f"{self.folder}/org.gpuprobe",
            "LD_LIBRARY_PATH": str(BIN),
            **more,
        }
        return subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=60, check=False)


class Programs(ExampleCase):
    """All take the same words and end the same way."""

    SCRIPTS = (
        ["/usr/bin/python3", EXAMPLES / "run_with_gpu.py"],
        [shutil.which("node") or "node", EXAMPLES / "run-with-gpu.mjs"],
    )
    # Those that Debian's compilers make.
    SOURCES = {
        "run_with_gpu.c": ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE / 'include'}", f"-L{BIN}"],
        "run_with_gpu.go": ["go", "build"],
        "run_with_gpu.rs": ["rustc", "--edition=2021", "-Dwarnings"],
    }

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-example-")
        cls.addClassCleanup(folder.cleanup)
        cls.program = f"{folder.name}/run_with_gpu"
        sanitizers = os.environ.get("GPUPROBE_SANITIZE")  # which the library is built with
        subprocess.run(
            ["c++", *([f"-fsanitize={sanitizers}"] if sanitizers else []), "-std=c++20", "-Wall", "-Wextra", "-Werror",
             f"-I{SOURCE / 'include'}", EXAMPLES / "run_with_gpu.cpp",
             f"-L{BIN}", f"-Wl,-rpath,{BIN}", "-lgpuprobe", "-o", cls.program],
            check=True, timeout=100,
        )
        cls.programs = [[cls.program]]
        for source, command in cls.SOURCES.items():
            if not shutil.which(command[0]):
                continue
            program = f"{folder.name}/{source.replace('.', '_')}"
            libraries = ["-lgpuprobe"] if source.endswith(".c") else []
            subprocess.run([*command, "-o", program, EXAMPLES / source, *libraries], check=True, timeout=100,
                           env={**os.environ, "GOCACHE": f"{folder.name}/go"})
            cls.programs.append([program])
        if not sanitizers:  # Python does not load them first
            cls.programs.append(["/usr/bin/python3", EXAMPLES / "run_with_gpu_ctypes.py"])

    def examples(self):
        return [*self.SCRIPTS, *self.programs]

    def test_run_a_program_with_the_choice(self):
        for example in self.examples():
            with self.subTest(str(example[-1])):
                done = self.run_example(H200, *example, "shimmy-v1", *PROGRAM)
                self.assertEqual((done.returncode, done.stdout), (0, f"cuda {UUID}\n"), done.stderr)
                self.assertIn("CUDA GPU detected, using CUDA backend", done.stderr)
                self.assertIn("selected=cuda", done.stderr)

    def test_end_with_3_where_nothing_will_do(self):
        for example in self.examples():
            with self.subTest(str(example[-1])):
                done = self.run_example(NOTHING, *example, "tsuku", *PROGRAM)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertIn("no backend fits for tsuku", done.stderr)

    def test_fail_for_a_consumer_that_is_none(self):
        for example in self.examples():
            with self.subTest(str(example[-1])):
                done = self.run_example(H200, *example, "nobody", *PROGRAM)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)


class Compilers(unittest.TestCase):
    """Without one of them, Programs leaves its example out."""

    def test_are_there(self):
        missing = [source for source, command in Programs.SOURCES.items() if not shutil.which(command[0])]
        if missing:
            self.skipTest(f"not built: {', '.join(missing)}: tools/install-dependencies --engines")


class Service(ExampleCase):
    """What systemd would do: the command before the start, then the file it wrote, then the program."""

    def unit(self):
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str
        unit.read(EXAMPLES / "inference.service", encoding="utf-8")
        return unit["Service"]

    def test_starts_its_program_with_the_choice(self):
        service = self.unit()
        before = self.run_example(H200, *shlex.split(service["ExecStartPre"]), RUNTIME_DIRECTORY=self.folder)
        self.assertEqual(before.returncode, 0, before.stderr)
        self.assertEqual(service["EnvironmentFile"], f"-/run/{service['RuntimeDirectory']}/gpu.env")
        lines = pathlib.Path(self.folder, "gpu.env").read_text(encoding="utf-8").splitlines()
        variables = dict("".join(shlex.split(line)).split("=", 1) for line in lines)
        self.assertEqual(variables["CUDA_VISIBLE_DEVICES"], UUID)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_is_a_unit_that_systemd_takes(self):
        text = (EXAMPLES / "inference.service").read_text(encoding="utf-8").replace("/usr/bin/llama-server", "/usr/bin/env")
        copy = pathlib.Path(self.folder, "inference.service")
        copy.write_text(text, encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60, check=False)
        complaints = [line for line in done.stderr.splitlines() if "inference.service" in line]
        self.assertEqual((done.returncode, complaints), (0, []))
