# SPDX-License-Identifier: Apache-2.0
"""Tests every client with a server that is not gpuprobe. The server's answers are in tests/support/hostile_answers.py.

A client must return the answer or one of its documented errors, within its timeout and with limited memory. A client must never crash or raise any
other error.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
MACHINES = SOURCE / "tests/data/machines"
sys.path.insert(0, str(SOURCE / "tests/support"))
import built_clients  # noqa: E402
import hostile_answers  # noqa: E402
from hostile_answers import ANSWERS, DOCUMENT, EITHER, FAILS, LATE, REFUSED, Row, Server  # noqa: E402

HERE = pathlib.Path(__file__).parent
NODE = os.environ.get("GPUPROBE_NODE") or shutil.which("node")
MAX_RESIDENT = 600 << 10  # KiB; includes the freed memory that a sanitizer keeps
ACCEPTED = {EITHER: (ANSWERS, FAILS, REFUSED), FAILS: (FAILS,), REFUSED: (REFUSED,), LATE: (LATE,), ANSWERS: (ANSWERS,)}
CODES = {-110: LATE}  # ETIMEDOUT


def followed():
    """Yields the rows of hostile answers that are suitable for a client that follows the report. The server of the test disconnects after each
    answer."""
    for row in hostile_answers.rows():
        if not row.at_once and row.expected != LATE:
            yield row._replace(ending="closes" if row.ending == "waits" else row.ending)


class HostileCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-hostile-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_client(self, *command, patience=100, **environment):
        """Returns the lines that a client prints, and the client's largest resident memory in KiB."""
        output = self.folder / "output"
        with open(output, "wb") as file, open(self.folder / "errors", "wb") as errors:
            child = subprocess.Popen(command, stdout=file, stderr=errors, env={**os.environ, **environment})
            timer = threading.Timer(patience, child.kill)
            timer.start()
            _, status, usage = os.wait4(child.pid, 0)
            timer.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
        lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
        told = (self.folder / "errors").read_text(encoding="utf-8", errors="replace")
        self.assertEqual(child.returncode, 0, f"after {len(lines)} rows: {told[-4000:]}")
        return lines, usage.ru_maxrss

    def paths_file(self, server):
        file = self.folder / "paths.json"
        file.write_text(json.dumps([server.path(row) for row in server.rows]), encoding="utf-8")
        return file

    def assert_outcomes(self, rows, lines):
        """Checks the outcome in each line, and the answer if the line contains an answer."""
        self.assertEqual(len(lines), len(rows))
        wrong = []
        for row, line in zip(rows, lines):
            kind, _, text = line.partition(" ")
            if kind not in ACCEPTED[row.expected] or (row.expected == ANSWERS and json.loads(text) != DOCUMENT):
                wrong.append(f"{row.name}: {line[:200]}, not {row.expected}")
        self.assertEqual("\n".join(wrong), "")

    def assert_ends(self, rows, lines):
        """Checks that each client that followed the report ended with an error, or received no further change."""
        self.assertEqual(len(lines), len(rows))
        self.assertEqual([f"{row.name}: {line}" for row, line in zip(rows, lines) if line.split()[0] not in (ANSWERS, FAILS, REFUSED)], [])

    def ask_and_follow(self, *command, **environment):
        with Server(self.folder) as server:
            lines, resident = self.run_client(*command, "ask", self.paths_file(server), **environment)
        self.assert_outcomes(server.rows, lines)
        self.assertLess(resident, MAX_RESIDENT)
        with Server(self.folder, followed()) as server:
            lines, resident = self.run_client(*command, "follow", self.paths_file(server), **environment)
        self.assert_ends(server.rows, lines)
        self.assertLess(resident, MAX_RESIDENT)

    def repeat(self, *command, **environment):
        with Server(self.folder, [hostile_answers.ECHO, hostile_answers.GATE]) as server:
            file = self.folder / "paths.json"
            file.write_text(json.dumps([server.path(hostile_answers.ECHO)]), encoding="utf-8")
            lines, _ = self.run_client(*command, "repeat", file, **environment)
        self.assertEqual([line.split()[0] for line in lines], [ANSWERS], lines)


    def assert_runs_the_named_program(self, *command, **environment):
        named = self.folder / "named"
        environment = {**os.environ, "GPUPROBE_PROGRAM": str(named), **environment}
        missing = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn(" cannot be run", missing.stderr)
        self.assertIn("set GPUPROBE_PROGRAM to the path of gpuprobectl", missing.stderr)
        named.write_text("#!/bin/sh\necho '{\"x\": \"named\"}'\n", encoding="utf-8")
        named.chmod(0o755)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("named", done.stdout, done.stderr)


class PythonClients(HostileCase):
    def test_let_no_other_error_out(self):
        for kind in ("waiting", "asyncio"):
            with self.subTest(kind):
                self.ask_and_follow("/usr/bin/python3", HERE / "hostile_client.py", kind, PYTHONPATH=str(SOURCE / "src/python"))

    def test_take_no_answer_to_another_call(self):
        for kind in ("waiting", "asyncio"):
            with self.subTest(kind):
                self.repeat("/usr/bin/python3", HERE / "hostile_client.py", kind, PYTHONPATH=str(SOURCE / "src/python"))


    def test_run_the_program_that_the_user_names(self):
        code = ("import asyncio, gpuprobe\n"
                "async def ask():\n    async with gpuprobe.AsyncClient('/nonexistent') as client:\n        return await client.call('Describe')\n"
                "print(gpuprobe.Client('/nonexistent').call('Describe'), asyncio.run(ask()))")
        self.assert_runs_the_named_program("/usr/bin/python3", "-c", code, PYTHONPATH=str(SOURCE / "src/python"))


@unittest.skipUnless(NODE, "node is not installed")
class NodeClient(HostileCase):
    def test_runs_the_program_that_the_user_names(self):
        code = f"""import {{ Client }} from "{SOURCE}/src/node/gpuprobe.js";
            console.log(JSON.stringify(await new Client({{ socket: "/nonexistent" }}).call("Describe")));"""
        self.assert_runs_the_named_program(NODE, "--input-type=module", "-e", code)

    def test_lets_no_other_error_out(self):
        self.ask_and_follow(NODE, HERE / "hostile_client.mjs", SOURCE / "src/node/gpuprobe.js")

    def test_takes_no_answer_to_another_call(self):
        self.repeat(NODE, HERE / "hostile_client.mjs", SOURCE / "src/node/gpuprobe.js")


class TypedCase(HostileCase):
    """Base class of tests with clients that read answers into typed values."""

    def take_any_type_of_any_member(self, program):
        report = json.loads(subprocess.run([BIN / "gpuprobectl", f"--replay={MACHINES / 'pc-three-vendors'}", "-j", "-q", "describe"],
                                           capture_output=True, check=True, timeout=60).stdout)
        others = list(hostile_answers.with_other_values(report))
        rows = [Row(f"describe-{at}", EITHER, json.dumps({"parameters": other}).encode() + b"\0") for at, other in enumerate(others[::7])]
        rows.append(Row("describe", ANSWERS, json.dumps({"parameters": report}).encode() + b"\0"))
        with Server(self.folder, rows) as server:
            lines, resident = self.run_client(program, "typed", self.paths_file(server))
        self.assertEqual(({*lines}, lines[-1]), ({ANSWERS, FAILS}, ANSWERS))
        self.assertLess(resident, MAX_RESIDENT)


@built_clients.needs_go
class GoClient(TypedCase):
    @classmethod
    def setUpClass(cls):
        cls.program = built_clients.go_program(HERE / "hostile_client.go")

    def test_lets_no_other_error_out(self):
        self.ask_and_follow(self.program)

    def test_takes_no_answer_to_another_call(self):
        self.repeat(self.program)

    def test_runs_the_program_that_the_user_names(self):
        sockets = self.folder / "sockets.json"
        sockets.write_text('["/nonexistent"]', encoding="utf-8")
        self.assert_runs_the_named_program(self.program, "program", sockets)

    def test_takes_any_type_of_any_member(self):
        self.take_any_type_of_any_member(self.program)


@built_clients.needs_rust
class RustClient(TypedCase):
    @classmethod
    def setUpClass(cls):
        cls.program = built_clients.rust_program(HERE / "hostile_client.rs")

    def test_lets_no_other_error_out(self):
        self.ask_and_follow(self.program)

    def test_takes_no_answer_to_another_call(self):
        self.repeat(self.program)

    def test_runs_the_program_that_the_user_names(self):
        sockets = self.folder / "sockets.json"
        sockets.write_text('["/nonexistent"]', encoding="utf-8")
        self.assert_runs_the_named_program(self.program, "program", sockets)

    def test_takes_any_type_of_any_member(self):
        self.take_any_type_of_any_member(self.program)


class CompiledCase(HostileCase):
    """Base class of tests with programs that contain the client library and are built with the address and undefined-behavior sanitizers."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-hostile-")
        cls.addClassCleanup(folder.cleanup)
        cls.built = pathlib.Path(folder.name)

    FLAGS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}",
             f"-I{BIN.parent / 'generated/interface'}")

    @classmethod
    def compiled(cls, compiler, source, *words):
        objects = [cls.built / f"{name}.o" for name in ("gpuprobe", "json_reader")]
        for each in objects:
            subprocess.run(["cc", "-std=c11", *cls.FLAGS, "-c", SOURCE / f"src/wire/{each.stem}.c", "-o", each], check=True, timeout=100)
        subprocess.run([compiler, *words, *cls.FLAGS, "-Wall", "-Wextra", "-Werror", HERE / source, *objects, "-o", cls.built / "client"],
                       check=True, timeout=100)
        return cls.built / "client"


class CLibrary(CompiledCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.compiled("cc", "hostile_client.c", "-std=c11")

    def kinds(self, lines):
        """Yields the kind of outcome for each line of the form "CODE ANSWER"."""
        for line in lines:
            code, text = line.split(" ", 1)
            is_refusal = text.startswith('{"error":')
            yield f"{ANSWERS} {text}" if int(code) >= 0 else REFUSED if is_refusal else CODES.get(int(code), FAILS)

    def test_takes_no_harm(self):
        for how, served, check in (("ask", hostile_answers.rows(), self.assert_outcomes), ("follow", followed(), self.assert_ends)):
            with self.subTest(how), Server(self.folder, served) as server:
                lines, resident = self.run_client(self.program, how, *(server.path(row) for row in server.rows))
                check(server.rows, list(self.kinds(lines)))
                self.assertLess(resident, MAX_RESIDENT)

    def test_takes_no_answer_to_another_call(self):
        with Server(self.folder, [hostile_answers.ECHO, hostile_answers.GATE]) as server:
            lines, _ = self.run_client(self.program, "repeat", *(server.path(row) for row in server.rows))
        self.assertEqual(lines, ["0 nothing"])


class CppClient(CompiledCase):
    NAME = re.compile(r"answers|org\.gpuprobe\.[\w.]+|org\.varlink\.service\.\w+|constructor|.*__proto__")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.compiled("c++", "hostile_client.cpp", "-std=c++20")

    def outcomes(self, server, call="all"):
        lines, resident = self.run_client(self.program, call, *(server.path(row) for row in server.rows))
        self.assertEqual(len(lines), len(server.rows))
        self.assertLess(resident, MAX_RESIDENT)
        for row, line in zip(server.rows, lines):
            yield row, line.split()[1:]

    def test_takes_no_harm(self):
        with Server(self.folder) as server:
            for row, outcomes in self.outcomes(server):
                with self.subTest(row.name):
                    self.assertEqual(len(outcomes), 2)
                    self.assertNotIn("LEAKED", outcomes)
                    self.assertEqual(ANSWERS in outcomes, row.expected == ANSWERS or (ANSWERS in outcomes and row.expected == EITHER))

    def test_takes_any_type_of_any_member(self):
        for verb, rows in rows_of_other_types(100).items():
            with self.subTest(verb), Server(self.folder, rows) as server:
                self.assertEqual([row.name for row, outcomes in self.outcomes(server, verb) if "LEAKED" in outcomes], [])

    def test_reads_the_answers_of_gpuprobe(self):
        for call, document in typed_documents().items():
            rows = [Row(call, ANSWERS, json.dumps({"parameters": document}).encode() + b"\0")]
            with self.subTest(call), Server(self.folder, rows) as server:
                self.assertEqual([outcomes for _, outcomes in self.outcomes(server, call)], [[ANSWERS]])

    def test_reads_answers_of_other_versions(self):
        """Tests with answers of newer daemons, which have new members and values, and with answers of older daemons, which have fewer members."""
        answers = {"select": ['{"backend":"x"}', '{"backend":"x","future":{"a":[1]},"candidates":[{"verdict":"a-new-word","x":1}]}',
                              '{"backend":"x","gpus":[],"candidates":[{"reasons":[{"code":"c","detail":{"a":null}}]}],"generation":18446744073709551615}'],
                   "recommend": ["{}", '{"status":"none","variant":null,"artifact":null,"default":null}',
                                 '{"artifact":{"type":"a-new-type","x-y":[]},"candidates":[{"tier":-1}]}'],
                   "doctor": ["{}", '{"findings":[{"evidence":"a text","fix":null}]}'], "plan": ["{}", '{"host":{"available":null}}'],
                   "list": ["{}", '{"gpus":[{"pci":{"class":"0300"},"backends":{"cuda":{"score":1.5e3}}}]}'], "describe": ["{}"]}
        for call, texts in answers.items():
            rows = [Row(f"{call}-{at}", ANSWERS, b'{"parameters":%b}\0' % text.encode()) for at, text in enumerate(texts)]
            with self.subTest(call), Server(self.folder, rows) as server:
                self.assertEqual([row.message for row, outcomes in self.outcomes(server, call) if outcomes != [ANSWERS]], [])

    def test_refuses_members_of_another_type(self):
        members = {"select": {"application": "null 1 [] {}", "backend": '1 true ["cuda"] {} null', "gpus": 'null "x" {} [1] [null] [[]]',
                              "environment": 'null [] "x" {"a":null} {"a":1}', "candidates": 'null {} "x" [1] [[]] [{"reasons":{}}] '
                              '[{"reasons":[1]}] [{"reasons":[{"code":null}]}] [{"reasons":[{"text":1}]}] [{"reasons":[{"fix":[]}]}] '
                              '[{"reasons":[{"commands":"x"}]}] [{"reasons":[{"commands":[1]}]}] [{"reasons":[{"subject":[]}]}] '
                              '[{"reasons":[{"subject":{"gpu":1}}]}] [{"gpu":1}] [{"environment":[]}]', "decision": "null 1",
                              "generation": 'null "1" -1 1.5 1e3 true [] 18446744073709551616', "warnings": "null {} [null]"},
                   "recommend": {"status": "null 1", "variant": "1 []", "artifact": '"x" [] 1 {"type":1} {"urls":"x"} {"urls":[1]} {"size":-1} '
                                 '{"size":"1"} {"signature":[]}', "fallback": "null {} [1]", "candidates": '[{"tier":"1"}] [{"tier":1.5}]',
                                 "version": "1 {}"},
                   "doctor": {"findings": 'null {} [1] [{"commands":"x"}] [{"safe":1}] [{"safe":"true"}] [{"safe":null}] [{"fix":1}]'},
                   "plan": {"gpus": 'null {} [{"need":"1"}] [{"layers":[]}]', "together": '[{"shares":{}}]', "is_estimate": "null 1", "host": "null []"},
                   "list": {"gpus": 'null [{"apis":[]}] [{"apis":{"cuda":1}}] [{"backends":{"cuda":{"score":"1"}}}] [{"memory":null}]'},
                   "describe": {"host": "null [] 1", "notes": "{}", "runtimes": '[] {"cuda":[]}'}}
        for call, of_call in members.items():
            texts = [f'{{"{name}":{value}' for name, values in of_call.items() for value in values.split()]
            texts = [text + ("}" if '"backend"' in text or call != "select" else ',"backend":"x"}') for text in texts]
            rows = [Row(f"{call}-{at}", FAILS, b'{"parameters":%b}\0' % text.encode()) for at, text in enumerate(texts)]
            with self.subTest(call), Server(self.folder, rows) as server:
                self.assertEqual([(row.message, outcomes) for row, outcomes in self.outcomes(server, call)
                                  if outcomes != ["org.gpuprobe.GpuProbe1.Error.Internal"]], [])

    def test_refuses_a_refusal_with_members_of_another_type(self):
        texts = {'{"candidates":[]}': "org.gpuprobe.NoMatch", "{}": "org.gpuprobe.NoMatch"}
        texts |= dict.fromkeys(('{"candidates":1}', '{"candidates":[1]}', '{"candidates":[{"reasons":"x"}]}', '{"message":1}', '{"answers":[]}'),
                               "org.gpuprobe.GpuProbe1.Error.Internal")
        rows = [Row(f"refusal-{at}", REFUSED, b'{"error":"org.gpuprobe.NoMatch","parameters":%b}\0' % text.encode()) for at, text in enumerate(texts)]
        with Server(self.folder, rows) as server:
            self.assertEqual([outcomes for _, outcomes in self.outcomes(server, "select")], [[name] for name in texts.values()])


def typed_documents():
    """Returns {verb: an answer as the daemon sends it}."""
    asked = {"select": ["select", "ollama", "--explain"], "recommend": ["recommend", "torch"], "doctor": ["doctor"], "list": ["list"]}
    return {verb: json.loads(subprocess.run([BIN / "gpuprobectl", f"--replay={MACHINES / 'pc-three-vendors'}", "-j", "-q", *words],
                                            capture_output=True, check=False, timeout=60).stdout)
            for verb, words in asked.items()}


def rows_of_other_types(count):
    """Returns {verb: about `count` answers in which one member has a wrong type}."""
    found = {}
    for verb, document in typed_documents().items():
        others = list(hostile_answers.with_other_values(document))
        found[verb] = [Row(f"{verb}-{at}", EITHER, json.dumps({"parameters": other}).encode() + b"\0")
                       for at, other in enumerate(others[::max(1, len(others) // count)])]
    return found


class Gpuprobectl(HostileCase):
    VERBS = (("select", "default"), ("-j", "select", "default"), ("env", "default"), ("list",), ("-j", "doctor"), ("status",), ("apps",),
             ("recommend", "torch"), ("call", "Query", "{}"))
    PLAIN = re.compile(r"(gpuprobectl: [^\x00-\x1f\x7f]+\n)+")

    def run_verb(self, path, words):
        return subprocess.run([BIN / "gpuprobectl", f"--socket={path}", *words], capture_output=True, text=True, errors="replace", timeout=110,
                              check=False, env={**os.environ, "HOME": str(self.folder)})

    def problem(self, row, path, words):
        """Returns a description of the fault in the result of gpuprobectl, or None if there is no fault."""
        done = self.run_verb(path, words)
        said = done.stderr.strip() or done.stdout.strip()
        if done.returncode < 0 or done.returncode > 5:
            return f"status {done.returncode}"
        if any(text in done.stdout + done.stderr for text in ("unexpected", "Argument list", "terminate called", "Sanitizer", "runtime error")):
            return said
        if done.returncode == 1 and "-j" not in words and "call" not in words and not self.PLAIN.fullmatch(done.stderr):
            return f"says {said!r}"
        if done.returncode != 0 and "-j" in words and "error" not in json.loads(done.stdout):
            return f"prints {done.stdout}"
        if row.name.startswith("endless") and row.expected == FAILS and "larger than 64 MiB" not in said:
            return f"does not say what is wrong: {said}"
        if done.returncode == 0 and row.expected in (FAILS, LATE, REFUSED) and words[-2:] in (("select", "default"), ("call", "Query", "{}")):
            return "takes it for an answer"
        return None

    def problems(self, asked):
        with ThreadPoolExecutor(4) as pool:
            found = pool.map(lambda each: (each[0].name, each[2], self.problem(*each)), asked)
            return "\n".join(f"{name}, {' '.join(words)}: {problem[:300]}" for name, words, problem in found if problem)

    def test_ends_with_an_error_of_its_own(self):
        with Server(self.folder) as server:
            asked = [(row, server.path(row), words) for at, row in enumerate(server.rows)
                     for words in (self.VERBS if row.name in ("endless", "refusal", "deep-arrays") else
                                   [self.VERBS[0], self.VERBS[1 + at % (len(self.VERBS) - 1)]][:1 if row.expected == LATE else 2])]
            asked.sort(key=lambda each: each[0].expected != LATE)  # begin with the calls that take longest
            self.assertEqual(self.problems(asked), "")

    def test_takes_any_type_of_any_member(self):
        verbs = {"select": ("select", "ollama", "--explain"), "recommend": ("recommend", "torch"), "doctor": ("doctor",), "list": ("list",)}
        for verb, rows in rows_of_other_types(60).items():
            with self.subTest(verb), Server(self.folder, rows) as server:
                self.assertEqual(self.problems([(row, server.path(row), verbs[verb]) for row in rows]), "")


if __name__ == "__main__":
    unittest.main()
