# SPDX-License-Identifier: Apache-2.0
"""Tests that the programs in docs/examples work as described, with a daemon and a captured machine."""
import configparser
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / room) for room in ("bus", "docs", "../support")]
import built_clients  # noqa: E402
from bus_case import BIN, SOURCE, BusCase  # noqa: E402
from console_test import FENCE, steps  # noqa: E402

EXAMPLES = SOURCE / "docs/examples"
H200 = SOURCE / "tests/data/machines/nvidia-h200-1"
NOTHING = SOURCE / "tests/data/machines/tsuku-none"
# The compilers of the distribution are preferred.
PATH = f"{BIN}:/usr/bin:/bin:{os.environ['PATH']}"
SANITIZERS = os.environ.get("GPUPROBE_SANITIZE")
PROGRAM = ["sh", "-c", 'echo "$GPU_BACKEND $CUDA_VISIBLE_DEVICES"']
INCLUDE = f"{SOURCE / 'include'}:{BIN.parent / 'generated/interface'}"
UUID = "GPU-00000000-0000-4000-8000-000000000001"


class ExampleCase(BusCase):
    def run_example(self, machine, *command, cwd=None, **more):
        if not self.daemon:
            self.start("--replay", str(machine), f"--socket={self.socket}")
        environment = {
            "PATH": PATH,
            "HOME": self.folder,
            "LANG": "C.UTF-8",
            "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address,
            "GPUPROBE_SOCKET": self.socket,
            "LD_LIBRARY_PATH": str(BIN),
            **more,
        }
        return subprocess.run([str(word) for word in command], env=environment, cwd=cwd, capture_output=True, text=True,
                              timeout=60, check=False)


def blocks():
    """Returns the commands of each example in README.md. The last command of an example runs the example; all earlier commands build the example."""
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    return [list(steps(text)) for language, text in FENCE.findall(page) if language == "console"]


def compiler_of(block):
    """Returns the compiler that builds an example, or None if the example is a script."""
    return next(word for word in block[0][0].split() if "=" not in word) if len(block) > 1 else None


def is_missing(block):
    compiler = compiler_of(block)
    problem = {"go": built_clients.go_problem, "cargo": built_clients.rust_problem}.get(compiler)
    return problem() if problem else compiler and not shutil.which(compiler, path=PATH)


@contextlib.contextmanager
def refusing_daemon(path, answer):
    """Runs a server on a socket, which gives the same answer to each call."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        while (block := connection.recv(1 << 16)) and not block.endswith(b"\0"):
                            pass
                        connection.sendall(answer)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield path
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


class Programs(ExampleCase):
    """Tests that all programs accept the same arguments and end with the same results."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-example-")
        cls.addClassCleanup(folder.cleanup)
        cls.sources = shutil.copytree(EXAMPLES, f"{folder.name}/examples")
        environment = {"PATH": PATH, "HOME": folder.name, "CPATH": INCLUDE, "LIBRARY_PATH": str(BIN),
                       "LD_LIBRARY_PATH": str(BIN)}
        for problem, more in ((built_clients.go_problem, built_clients.go_environment), (built_clients.rust_problem, built_clients.rust_environment)):
            environment |= {} if problem() else {key: value for key, value in more().items() if key != "PATH"}
        built_clients.RUST_TARGET.mkdir(parents=True, exist_ok=True)
        pathlib.Path(cls.sources, "rust").mkdir()
        pathlib.Path(cls.sources, "rust/target").symlink_to(built_clients.RUST_TARGET)  # contains the built dependencies
        if SANITIZERS:  # the library is built with these sanitizers
            environment["PATH"] = f"{folder.name}:{PATH}"
            for name in ("cc", "c++"):
                wrapper = pathlib.Path(folder.name, name)
                wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/{name} -fsanitize={SANITIZERS} "$@"\n', encoding="utf-8")
                wrapper.chmod(0o755)
        cls.shown = []
        for *build, run in blocks():
            if is_missing([*build, run]):
                continue
            for command, wanted in build:
                done = subprocess.run(["/bin/sh", "-c", command], cwd=cls.sources, env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
                if (done.returncode, done.stdout.splitlines()) != (0, wanted):  # a warning is a failure
                    raise AssertionError(f"{command}: {done.stdout}")
            if not (SANITIZERS and "ctypes" in run[0]):  # Python does not load the sanitizers' library first
                cls.shown.append(run)

    def examples(self):
        return [shlex.split(command)[:-4] for command, _ in self.shown]

    def test_print_what_the_page_shows(self):
        for command, wanted in self.shown:
            with self.subTest(command):
                done = self.run_example(H200, "/bin/sh", "-c", f"{command} 2>&1", cwd=self.sources)
                self.assertEqual((done.returncode, done.stdout.splitlines()), (0, wanted))

    def test_run_a_program_with_the_choice(self):
        for example in self.examples():
            with self.subTest(example[-1]):
                done = self.run_example(H200, *example, "shimmy-v1", *PROGRAM, cwd=self.sources)
                self.assertEqual((done.returncode, done.stdout), (0, f"cuda {UUID}\n"), done.stderr)

    def test_end_with_3_where_nothing_will_do(self):
        for example in self.examples():
            with self.subTest(example[-1]):
                done = self.run_example(NOTHING, *example, "tsuku", *PROGRAM, cwd=self.sources)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertIn("no backend fits for tsuku", done.stderr)

    def test_say_why_nothing_will_do(self):
        """Tests the programs that use the socket, with a fake daemon that rejects every candidate for one reason."""
        reason = {"code": "no-permission", "text": "this user cannot open the device nodes", "fix": "add the user to the group render",
                  "commands": [], "subject": {"gpu": "pci:0", "api": None, "path": "/dev/dri/renderD128"}, "detail": {}}
        candidate = {"backend": "cuda", "gpu": "pci:0", "verdict": "rejected", "reasons": [reason], "environment": {}}
        refusal = {"error": "org.gpuprobe.NoMatch", "parameters": {"name": "org.gpuprobe.GpuProbe1.Error.NoMatch",
                                                                   "message": "the closest is cuda", "candidates": [candidate]}}
        text = json.dumps(refusal, separators=(",", ":")).encode() + b"\0"
        with refusing_daemon(f"{self.folder}/refusing", text) as path:
            for example in self.examples():
                if example[-1] in ("run_with_gpu.py", "run-with-gpu.mjs"):  # these programs use D-Bus
                    continue
                with self.subTest(example[-1]):
                    done = self.run_example(NOTHING, *example, "tsuku", *PROGRAM, cwd=self.sources, GPUPROBE_SOCKET=path)
                    why = ["  cuda: this user cannot open the device nodes", "    fix: add the user to the group render"]
                    self.assertEqual((done.returncode, done.stderr.splitlines()), (3, ["no backend fits for tsuku: the closest is cuda", *why]))

    def test_fail_for_an_application_that_is_none(self):
        for example in self.examples():
            with self.subTest(example[-1]):
                done = self.run_example(H200, *example, "nobody", *PROGRAM, cwd=self.sources)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)


class Which(ExampleCase):
    """Tests the programs of 15 lines in docs/integrating.md. After each change, these programs print the build to download, and why other builds do
    not fit."""

    LONGEST = 15
    CODE = re.compile(r"^func main|^fn main|^int main")
    LANGUAGES = {".cpp": "cpp", ".go": "go", ".rs": "rust"}

    def follow(self, program):
        """Returns the first answer that a program prints, and the answer that it prints after a change."""
        self.start("--replay", str(H200), f"--socket={self.socket}", f"--state-dir={self.folder}")
        environment = {**os.environ, "GPUPROBE_SOCKET": self.socket, "LD_LIBRARY_PATH": str(BIN)}
        process = subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        first = self.answer(process)
        self.override({"variants": {"only": ["cpu"]}})
        return first, self.answer(process)

    def answer(self, process):
        """Returns {variant: [verdict, reason]} from one answer of the program. The value for the key "download" is the first line."""
        lines = [process.stdout.readline() for _ in range(self.count() + 1)]
        return {word.rstrip(":"): rest.split(" ", 1) for word, _, rest in (line.strip().partition(" ") for line in lines)}

    def count(self):
        return len(self.asked("Recommend", {"application": "torch"})["candidates"])

    def override(self, rule):
        self.asked("SetOverride", {"application": "torch", "rule": rule})

    def asked(self, method, parameters):
        with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as file:
            client.connect(self.socket)
            client.sendall(json.dumps({"method": f"org.gpuprobe.{method}", "parameters": parameters}).encode() + b"\0")
            text = b""
            while not text.endswith(b"\0"):
                text += file.read1()
        return json.loads(text[:-1])["parameters"]

    def shown(self, language):
        """Returns the program in a given language on the page."""
        page = (SOURCE / "docs/integrating.md").read_text(encoding="utf-8")
        (text,) = (text for name, text in FENCE.findall(page) if name == language)
        return text

    def assert_follows(self, program, source):
        self.assertTrue(source.read_text(encoding="utf-8").endswith(f"\n{self.shown(self.LANGUAGES[source.suffix])}"), source.name)
        first, second = self.follow(program)
        self.assertEqual(first["download"], ["cu132", "[https://download.pytorch.org/whl/cu132]"])
        self.assertEqual(first["cu132"][0], "accepted")
        self.assertEqual(second["download"], ["cpu", "[https://download.pytorch.org/whl/cpu]"])
        self.assertEqual(second["cu132"][0], "rejected")
        self.assertRegex(second["cu132"][1], r"\w+ \w+")
        lines = source.read_text(encoding="utf-8").splitlines()
        start = next(at for at, line in enumerate(lines) if self.CODE.match(line))
        self.assertLessEqual(len(lines) - start, self.LONGEST)

    @unittest.skipUnless(shutil.which("c++", path=PATH), "c++ is not installed")
    def test_in_cpp(self):
        source = EXAMPLES / "which.cpp"
        program = pathlib.Path(self.folder, "which_cpp")
        sanitized = [f"-fsanitize={SANITIZERS}"] if SANITIZERS else []
        built_clients.run(["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", *sanitized, str(source), "-lgpuprobe", "-o", str(program)],
                          {"PATH": PATH, "CPATH": INCLUDE, "LIBRARY_PATH": str(BIN), "LD_LIBRARY_PATH": str(BIN)}, self.folder)
        self.assert_follows(program, source)

    @built_clients.needs_go
    def test_in_go(self):
        source = EXAMPLES / "which.go"
        self.assert_follows(built_clients.go_program(source), source)

    @built_clients.needs_rust
    def test_in_rust(self):
        source = EXAMPLES / "which.rs"
        self.assert_follows(built_clients.rust_program(source), source)


class Page(unittest.TestCase):
    def test_shows_each_program(self):
        shown = " ".join(command for block in blocks() for command, _ in block)
        for file in EXAMPLES.glob("run?with?gpu*"):
            self.assertRegex(shown, rf"\b{re.escape(file.name)}\b")

    def test_is_built_as_a_whole(self):
        """This test is skipped if a compiler is missing, because the class Programs then leaves out the examples that need the compiler."""
        missing = [compiler_of(block) for block in blocks() if is_missing(block)]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)}: tools/install-dependencies --engines")


class Service(ExampleCase):
    """Tests the example unit as systemd would run it: ExecStartPre writes a file with variables, which systemd then sets for the program."""

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
