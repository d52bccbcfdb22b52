# SPDX-License-Identifier: Apache-2.0
"""Tests that the Python package uses a daemon, or gpuprobectl if there is no daemon, and reports an error if both are missing."""
import asyncio
import contextlib
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import typing
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
PACKAGE = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent / "generated/packages/python"
sys.path[:0] = [str(PACKAGE), *(str(SOURCE / "tests/integration" / folder) for folder in ("", "socket"))]
from socket_case import BIN, H200, MACHINES, SocketCase  # noqa: E402

import gpuprobe  # noqa: E402
from gpuprobe import interface  # noqa: E402

HAS_MYPY = importlib.util.find_spec("mypy") is not None


async def awaited(path, name, *words, **more):
    async with gpuprobe.AsyncClient(path) as client:
        return await getattr(client, name)(*words, **more)


def waited(path, name, *words, **more):
    with gpuprobe.Client(path) as client:
        return getattr(client, name)(*words, **more)


def both(path, name, *words, **more):
    """Returns the results of the blocking client and of the asyncio client; each result is a document, or the class of the exception."""
    answers = []
    for ask in (lambda: waited(path, name, *words, **more), lambda: asyncio.run(awaited(path, name, *words, **more))):
        try:
            answers.append(ask())
        except gpuprobe.Failure as failure:
            answers.append(type(failure))
    return answers


class PythonPackage(SocketCase):
    def assert_answers(self, path):
        choice, same = both(path, "select", "ollama", min_memory=1 << 30)
        self.assertEqual((choice, choice["backend"]), (same, "cuda"))
        self.assertEqual(both(path, "select", only=["sycl"]), [gpuprobe.NoMatch] * 2)
        self.assertEqual(both(path, "select", "nobody"), [gpuprobe.UnknownName] * 2)
        self.assertEqual(both(path, "select", onyl=[]), [gpuprobe.InvalidRequest] * 2)
        self.assertEqual(both(path, "call", "Nothing"), [gpuprobe.Refused] * 2)
        for name, words in (("describe", []), ("gpus", []), ("recommend", ["torch"]), ("plan", [1 << 33]),
                            ("doctor", []), ("query", ["driver>=550"])):
            one, other = both(path, name, *words)
            self.assertIsInstance(one, dict, name)
            self.assertEqual(set(one), set(other), name)

    def test_asks_the_daemon(self):
        self.start()
        self.assert_answers(self.path)

    def test_asks_gpuprobectl_where_no_daemon_is(self):
        program = pathlib.Path(self.folder, "gpuprobectl")
        program.write_text(f'#!/bin/sh\nshift\nexec {BIN}/gpuprobectl --replay={H200} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = f"{self.folder}:{before}"
        self.assert_answers(f"{self.folder}/nothing")

    def test_a_probe_falls_back_too(self):
        program = pathlib.Path(self.folder, "gpuprobectl")
        program.write_text('#!/bin/sh\ncat >/dev/null\necho \'{"generation":7}\'\n', encoding="utf-8")
        program.chmod(0o755)
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = f"{self.folder}:{before}"
        with gpuprobe.Client(f"{self.folder}/nothing") as client:
            self.assertEqual(client.probe()["generation"], 7)
        self.assertEqual(both(f"{self.folder}/nothing", "probe"), [{"generation": 7}] * 2)

    def test_says_that_nobody_is_there(self):
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = self.folder
        self.assertEqual(both(f"{self.folder}/nothing", "select"), [gpuprobe.Unavailable] * 2)

    def test_connects_again_when_the_daemon_was_restarted(self):
        self.start()
        with gpuprobe.Client(self.path, daemon_only=True) as client:
            self.assertEqual(client.select()["backend"], "cuda")
            self.end_daemon()
            self.assertRaises(gpuprobe.Unavailable, client.select)
            self.start()
            self.assertEqual(client.select()["backend"], "cuda")
            client.call("org.varlink.service.GetInfo")
            self.end_daemon()
            self.start()
            self.assertEqual(client.select()["backend"], "cuda")

    def test_is_shared_by_threads(self):
        self.start()
        wrong = []
        with gpuprobe.Client(self.path) as client:
            def ask(application):
                for _ in range(50):
                    if client.select(application)["application"] != application:
                        wrong.append(application)
            threads = [threading.Thread(target=ask, args=(name,)) for name in ("default", "ollama", "llama.cpp")]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def test_follows_changes(self):
        self.start(f"--state-dir={self.folder}")
        client = gpuprobe.Client(self.path)
        changes = client.watch()
        first = next(changes)["generation"]
        self.call("SetOverride", {"application": "default", "rule": {"strict": True}})
        self.assertGreater(next(changes)["generation"], first)
        changes.close()

        async def follow():
            async for change in gpuprobe.AsyncClient(self.path).watch():
                return change
        self.assertEqual(asyncio.run(follow())["state"], "ready")

    def test_probes_drivers(self):
        self.start()
        for answer in both(self.path, "probe", apis=["vulkan"]):
            if isinstance(answer, type):  # the daemon replays a machine and has no drivers to probe
                self.assertTrue(issubclass(answer, gpuprobe.Refused), answer)
            else:
                self.assertIsNotNone(answer["generation"])
        with gpuprobe.Client(f"{self.folder}/nothing", daemon_only=True) as client:
            self.assertRaises(gpuprobe.Unavailable, client.probe)

    @contextlib.contextmanager
    def server(self, *messages):
        """Runs a fake daemon that answers each call with the given documents."""
        path = f"{self.folder}/fake"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()

            def serve():
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = server.accept()
                        with connection, contextlib.suppress(OSError):
                            self.heard.append(json.loads(connection.recv(1 << 16)[:-1]))
                            connection.sendall(b"".join(json.dumps(message).encode() + b"\0" for message in messages))
                            connection.recv(1)  # until the client disconnects
            thread = threading.Thread(target=serve)
            self.heard = []
            thread.start()
            try:
                yield path
            finally:
                server.shutdown(socket.SHUT_RDWR)
                thread.join()
        pathlib.Path(path).unlink()

    def test_a_refusal_has_the_candidates(self):
        reason = {"code": "no-permission", "text": "this user cannot open the device nodes", "fix": "add the user to the group render",
                  "commands": ["sudo usermod -aG render me"], "subject": {"gpu": "pci:0", "api": None, "path": None}, "detail": {}}
        candidates = [{"backend": "cuda", "gpu": "pci:0", "verdict": "rejected", "reasons": [reason], "environment": {}}]
        refusal = {"error": "org.gpuprobe.NoMatch", "parameters": {"message": "no backend fits", "candidates": candidates}}
        with self.server(refusal) as path, gpuprobe.Client(path) as client:
            with self.assertRaises(gpuprobe.NoMatch) as refused:
                client.select()
        self.assertEqual((str(refused.exception), refused.exception.candidates), ("no backend fits", candidates))

    def test_refuses_candidates_of_another_type(self):
        for candidates in (None, 1, "x", {}, ["x"], [None], [[]]):
            refusal = {"error": "org.gpuprobe.NoMatch", "parameters": {"message": "no", "candidates": candidates}}
            with self.subTest(candidates), self.server(refusal) as path:
                self.assertEqual(both(path, "select"), [gpuprobe.Failure] * 2)

    def test_reports_the_progress_of_a_probe(self):
        steps = [{"parameters": {"progress": progress}, "continues": True} for progress in (0, 0.5, 1.0)]
        last = {"parameters": {"progress": None, "generation": 3, "probes": []}}
        seen = []
        with self.server(*steps, last) as path:
            self.assertEqual(both(path, "probe", on_progress=seen.append, apis=["cuda"]), [last["parameters"]] * 2)
            self.assertEqual(both(path, "probe"), [last["parameters"]] * 2)
        self.assertEqual(seen, [0, 0.5, 1.0] * 2)
        self.assertEqual(self.heard[0], {"method": "org.gpuprobe.Probe", "parameters": {"apis": ["cuda"]}, "more": True})

    def test_refuses_progress_that_is_not_a_number(self):
        for progress in (None, "0.5", True, [], {}, -1, 1.5):
            with self.subTest(progress), self.server({"parameters": {"progress": progress}, "continues": True}) as path:
                self.assertEqual(both(path, "probe", on_progress=self.fail), [gpuprobe.Failure] * 2)

    def test_a_failing_callback_ends_the_probe(self):
        def fail(progress):
            raise ZeroDivisionError(progress)
        with self.server({"parameters": {"progress": 0.5}, "continues": True}) as path:
            with gpuprobe.Client(path) as client:
                self.assertRaises(ZeroDivisionError, client.probe, on_progress=fail)
            self.assertRaises(ZeroDivisionError, asyncio.run, awaited(path, "probe", on_progress=fail))

    def test_takes_no_endless_answer(self):
        path = f"{self.folder}/fake"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()

            def pour():
                for _ in range(2):
                    connection, _ = server.accept()
                    with connection:
                        try:
                            for _ in range(80):
                                connection.sendall(b"x" * (1 << 20))
                        except OSError:
                            pass  # the connection was closed, as expected
            thread = threading.Thread(target=pour)
            thread.start()
            self.assertEqual(both(path, "select"), [gpuprobe.Failure] * 2)
            thread.join()

    def test_is_a_program(self):
        self.start()
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        command = [sys.executable, "-m", "gpuprobe", f"--socket={self.path}"]
        done = subprocess.run([*command, "select", "ollama"], env=environment, capture_output=True, text=True, check=False)
        printed = self.gpuprobectl(f"--socket={self.path}", "-j", "select", "ollama")
        self.assertEqual((done.returncode, done.stdout), (0, printed.stdout), done.stderr)
        done = subprocess.run([*command, "select", "nobody"], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("UnknownApplication", json.loads(done.stdout)["error"]["name"])

    def test_has_functions_that_need_no_client(self):
        self.start()
        before = os.environ.get("GPUPROBE_SOCKET")
        self.addCleanup(lambda: os.environ.update(GPUPROBE_SOCKET=before) if before else os.environ.pop("GPUPROBE_SOCKET"))
        os.environ["GPUPROBE_SOCKET"] = self.path
        self.assertEqual(gpuprobe.select("ollama", min_memory=1 << 30)["backend"], "cuda")
        self.assertEqual(gpuprobe.recommend("torch", only=["cpu"])["variant"], "cpu")
        self.assertEqual(gpuprobe.plan(1 << 33)["asked"], 1 << 33)
        self.assertIn("findings", gpuprobe.doctor())
        self.assertEqual(next(gpuprobe.watch())["state"], "ready")
        self.assertRaises(gpuprobe.NoMatch, gpuprobe.select, only=["sycl"])
        self.assertEqual(gpuprobe.plan.__doc__, gpuprobe.Client.plan.__doc__)

    def test_loads_only_json_and_socket(self):
        """Tests that the package loads no unnecessary modules, because typing and asyncio, for example, take longer to load than a selection
        takes."""
        self.start()
        script = f"""
import json, socket, sys
before = set(sys.modules)
import gpuprobe
with gpuprobe.Client({self.path!r}) as client:
    client.select("llama.cpp")
print(*sorted(set(sys.modules) - before))
"""
        done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout.split(), ["__future__", "gpuprobe", "gpuprobe._client", "gpuprobe._messages"])

    def test_loads_the_client_for_asyncio_when_it_is_used(self):
        script = "import gpuprobe, sys; print('asyncio' in sys.modules); gpuprobe.AsyncClient; print('asyncio' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout.split(), ["False", "True"])
        self.assertRaises(AttributeError, lambda: gpuprobe.Nothing)


class PythonTypes(SocketCase):
    def assert_is(self, value, kind, place):
        """Checks that the value and all its members have the right type."""
        origin, words = typing.get_origin(kind), typing.get_args(kind)
        if typing.is_typeddict(kind):
            hints = typing.get_type_hints(kind)
            self.assertEqual((kind.__required_keys__ - set(value), set(value) - set(hints)), (set(), set()), place)
            for name in value:
                self.assert_is(value[name], hints[name], f"{place}/{name}")
        elif origin is typing.Union:
            if value is not None:
                self.assert_is(value, words[0], place)
        elif origin is list:
            self.assertIsInstance(value, list, place)
            for index, item in enumerate(value):
                self.assert_is(item, words[0], f"{place}/{index}")
        elif origin is dict:
            self.assertIsInstance(value, dict, place)
            for name, item in value.items():
                self.assert_is(item, words[1], f"{place}/{name}")
        elif origin is typing.Literal:
            self.assertIn(value, words, place)
        elif kind is not typing.Any:
            self.assertIsInstance(value, (int, float) if kind is float else kind, place)

    def test_are_those_of_answers(self):
        asked = {"Describe": {}, "ListGpus": {}, "Select": {"application": "ollama"}, "Recommend": {"application": "torch"},
                 "Plan": {"need": 1 << 33}, "Diagnose": {}, "Query": {"terms": ["driver>=550", "vulkan>=1.2"]}, "ListQuarantine": {},
                 "ListOverrides": {}, "ListHardwareDevices": {}, "ListApplications": {}}
        for machine in ("nvidia-h200-1", "nvidia-h100-mig-mixed", "accel-gaudi2x8", "lact-amd-rx6600", "tsuku-none"):
            self.start(machine=MACHINES / machine)
            for method, parameters in asked.items():
                self.assert_is(self.call(method, parameters), getattr(interface, f"{method}Answer"), f"{machine}: {method}")
            self.end_daemon()
        with self.assertRaises(AssertionError):
            self.assert_is({"applications": [{"name": 1}]}, interface.ListApplicationsAnswer, "")

    def check(self, *words):
        """Returns the output of mypy with the given arguments."""
        done = subprocess.run(["/usr/bin/python3", "-m", "mypy", "--strict", "--no-error-summary", "--enable-incomplete-feature=Unpack",
                               f"--cache-dir={self.folder}/cache", *words], cwd=self.folder, capture_output=True, text=True, timeout=100,
                              check=False, env={**os.environ, "MYPYPATH": str(PACKAGE)})
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def check_program(self, text):
        pathlib.Path(self.folder, "used.py").write_text(text, encoding="utf-8")
        return self.check("--follow-imports=silent", "used.py")

    @unittest.skipUnless(HAS_MYPY, "python3-mypy is not installed")
    def test_hold_for_the_package(self):
        self.assertEqual(self.check("--no-warn-return-any", "-p", "gpuprobe"), [])

    @unittest.skipUnless(HAS_MYPY, "python3-mypy is not installed")
    def test_hold_for_a_program(self):
        right = """
from typing import List
import gpuprobe
from gpuprobe import AsyncClient, Client, NoMatch
from gpuprobe.interface import Gpu

def names(gpus: List[Gpu]) -> List[str]:
    return [gpu["name"] or "unknown" for gpu in gpus]

def ask(client: Client) -> None:
    print(names(client.gpus()["gpus"]), client.select("ollama", min_memory=1)["gpus"][0].upper())
    print(client.probe(apis=["cuda"], on_progress=lambda share: print(round(share)))["probes"])
    for change in client.watch():
        if change["state"] == "ready":
            break
    for finding in client.doctor()["findings"]:
        print(finding["sentence"].upper(), " && ".join(finding["commands"]))
    print(gpuprobe.select("ollama", min_memory=1)["decision"].upper(), gpuprobe.plan(1)["margin"] + 1)
    try:
        print(client.plan(1)["host"]["need"] + 1)
    except NoMatch as problem:
        print(problem.details)
        for candidate in problem.candidates:
            for reason in candidate["reasons"]:
                print(reason["code"].upper(), (reason["text"] or "").upper(), " && ".join(reason["commands"] or []))
                subject = reason["subject"]
                print((subject["gpu"] or "").upper() if subject else None)

async def ask_too(client: AsyncClient) -> None:
    print(names((await client.gpus())["gpus"]), (await client.recommend("torch", only=["cpu"]))["status"].upper())
    artifact = (await client.recommend("torch"))["artifact"]
    print(artifact["urls"][0].upper(), artifact["size"] + 1) if artifact else None
    async for change in client.watch():
        print(change["generation"] + 1)
"""
        self.assertEqual(self.check_program(right), [])

    @unittest.skipUnless(HAS_MYPY, "python3-mypy is not installed")
    def test_refuse_what_the_interface_does_not_have(self):
        wrong = ['client.select("ollama", minimum_memory=1)', "client.select(1)", 'client.gpus()["gpus"][0]["nam"]', "client.nothing()", "client.diagnose()",
                 'client.plan("much")', "client.plan(request={'need': 1})", 'client.select().backend', "len(later.select())",
                 'gpuprobe.select(1)', 'gpuprobe.recommend("torch")["candidates"][0]["nam"]', 'client.describe()["gpus"] + 1', 'client.select()["backend"].upper()']
        found = self.check_program("\n".join(["import gpuprobe; from gpuprobe import AsyncClient, Client", "client, later = Client(), AsyncClient()", *wrong]))
        told = {int(line.split(":")[1]) for line in found if " error: " in line}
        self.assertEqual(told, set(range(3, 3 + len(wrong))), found)


if __name__ == "__main__":
    unittest.main()
