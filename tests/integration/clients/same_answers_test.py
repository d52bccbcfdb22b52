# SPDX-License-Identifier: Apache-2.0
"""Tests that all clients give the same answers to the same 500 questions on recorded machines.

The daemon answers on its socket. The answers of a client that only uses the socket are compared with the answers of the clients for C, C++, Go, Node,
Python (both kinds) and Rust. The answers to every 50th question are also compared with those of `gpuprobectl call`, over the socket and without a
daemon. A few machines are tested, or all of them if GPUPROBE_STRAIN is set.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
sys.path[:0] = [str(SOURCE / "tests/support"), str(SOURCE / "tests/integration/socket"), str(SOURCE / "tests/golden")]
import built_clients  # noqa: E402
from daemon import ReplayingDaemon  # noqa: E402
from socket_case import Client, Refused  # noqa: E402

HERE = pathlib.Path(__file__).parent
NODE = os.environ.get("GPUPROBE_NODE") or shutil.which("node")
MACHINES = sorted(path.parent for path in (SOURCE / "tests/data/machines").glob("*/capture.json"))
SOME = 4  # machines that are tested if GPUPROBE_STRAIN is not set
APPLICATIONS = sorted(path.stem for path in (SOURCE / "data/knowledge/applications").glob("*.json"))
BACKENDS = ["cuda", "rocm", "vulkan", "opencl", "sycl", "webgpu", "cpu", "metal", "no-such-backend"]
COUNT = 500


def request(choice):
    """Returns a random request; some requests are invalid."""
    keys = {
        "deny": lambda: choice.sample(BACKENDS, choice.randint(0, 3)),
        "only": lambda: choice.sample(BACKENDS, choice.randint(1, 4)),
        "prefer": lambda: choice.sample(BACKENDS, choice.randint(1, 3)),
        "min-memory": lambda: choice.choice([0, 1 << 30, 1 << 33, 1 << 38, "8GiB", -1]),
        "gpus": lambda: choice.choice([["nvidia"], ["pci:0000:01:00.0"], [], ["é\u0000"]]),
        "backend": lambda: choice.choice(BACKENDS),
        "require-verified": lambda: choice.choice([True, False, None]),
        "no-such-key": lambda: 1,
    }
    return {key: keys[key]() for key in choice.sample(sorted(keys), choice.choice([0, 0, 1, 1, 2]))}


def questions():
    """Returns pairs of a method and its parameters, always the same pairs."""
    choice = random.Random(40)
    kinds = {
        "Select": lambda: {"application": choice.choice(APPLICATIONS), "request": request(choice)},
        "Recommend": lambda: {"application": choice.choice(APPLICATIONS), "request": request(choice)},
        "Query": lambda: {"terms": [choice.choice(["vendor=nvidia", "memory>=8GiB", "cuda", "driver>=550", "gfx=gfx1100", "=", "backend=vulkan"])]},
        "Plan": lambda: {"need": choice.choice([0, 1 << 30, 1 << 35]), "request": request(choice)},
        "Diagnose": lambda: choice.choice([{}, {"environment": {"CUDA_VISIBLE_DEVICES": choice.choice(["", "0", "1", "x"])}}]),
        "ListGpus": dict, "Describe": dict, "ListApplications": dict, "NoSuchMethod": dict,
    }
    names = ["Select"] * 6 + ["Recommend"] * 6 + ["Query"] * 2 + ["Plan"] * 2 + sorted(kinds)
    return [(name, kinds[name]()) for name in (choice.choice(names) for _ in range(COUNT))]


def comparable(line):
    """Returns the answer in a line that a client printed. All refusals are the same, because each client has its own type for them."""
    return json.loads(line) if line.startswith("{") else line


class SameAnswers(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-asking-")
        cls.addClassCleanup(folder.cleanup)
        python = ["/usr/bin/env", f"PYTHONPATH={SOURCE / 'src/python'}", "/usr/bin/python3", str(HERE / "asking_client.py")]
        cls.commands = {
            "C": [cls.compiled("cc", "c", folder.name)], "C++": [cls.compiled("c++", "cpp", folder.name, "-std=c++20")],
            "Python": [*python, "waiting"], "Python's asyncio": [*python, "asyncio"],
        }
        if NODE:
            cls.commands["Node"] = [NODE, str(HERE / "asking_client.mjs"), str(SOURCE / "src/node/gpuprobe.js")]
        if not built_clients.go_problem():
            cls.commands["Go"] = [str(built_clients.go_program(HERE / "asking_client.go"))]
        if not built_clients.rust_problem():
            cls.commands["Rust"] = [str(built_clients.rust_program(HERE / "asking_client.rs"))]

    @staticmethod
    def compiled(compiler, ending, folder, *flags):
        program = f"{folder}/asking_{ending}"
        subprocess.run([compiler, *flags, "-O1", f"-I{SOURCE / 'include'}", f"-I{BIN.parent / 'generated/interface'}",
                        HERE / f"asking_client.{ending}", f"-L{BIN}", "-lgpuprobe", f"-Wl,-rpath,{BIN}", "-o", program], check=True, timeout=200)
        return program

    @staticmethod
    def ask(socket, asked):
        """Yields the answers on the socket."""
        with Client(socket, timeout=60) as client:
            for method, parameters in asked:
                try:
                    yield client.call(method, parameters)
                except Refused:
                    yield "refused"

    def assert_same(self, asked, expected, told):
        self.assertEqual(len(told), len(expected), told[-1:])
        for question, want, line in zip(asked, expected, told):
            if comparable(line) != want:
                self.fail(f"{question}: {line[:500]} is not {json.dumps(want)[:500]}")

    def by_gpuprobectl(self, where, asked):
        for method, parameters in asked:
            done = subprocess.run([BIN / "gpuprobectl", where, "-q", "-j", "call", method, json.dumps(parameters)], capture_output=True, text=True,
                                  timeout=60, check=False)
            yield "refused" if done.stdout.startswith('{"error":') else done.stdout.strip() or done.stderr

    def test_to_the_same_questions_on_recorded_machines(self):
        asked = questions()
        text = "".join(f"{method}\t{json.dumps(parameters)}\n" for method, parameters in asked)
        machines = MACHINES if os.environ.get("GPUPROBE_STRAIN") else random.Random(40).sample(MACHINES, SOME)
        for machine in machines:
            with ReplayingDaemon(machine) as daemon:
                expected = list(self.ask(daemon.socket, asked))
                for client, command in self.commands.items():
                    with self.subTest(machine=machine.name, client=client):
                        done = subprocess.run([*command, daemon.socket], input=text, capture_output=True, text=True, timeout=120, check=False)
                        self.assert_same(asked, expected, done.stdout.split("\n")[:-1] or [done.stderr])
                for where in (f"--socket={daemon.socket}", f"--replay={machine}"):
                    with self.subTest(machine=machine.name, client=f"gpuprobectl {where}"):
                        self.assert_same(asked[::50], expected[::50], list(self.by_gpuprobectl(where, asked[::50])))
        self.assertGreater(sum(answer != "refused" for answer in expected), COUNT // 2)


if __name__ == "__main__":
    unittest.main()
