# SPDX-License-Identifier: Apache-2.0
"""Tests that the Node package uses a daemon, or gpuprobectl if there is no daemon, and reports an error if both are missing."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
PACKAGE = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent / "generated/packages/node"
sys.path[:0] = [str(SOURCE / "tests/integration" / folder) for folder in ("", "socket")]
from socket_case import BIN, H200, SocketCase  # noqa: E402

NODE = os.environ.get("GPUPROBE_NODE") or shutil.which("node")
# The code at the beginning of each script. told() prints a value as a line of JSON; kind() returns the class of the error with which a promise fails.
HEAD = f"""
import * as gpuprobe from {json.dumps(str(PACKAGE / "gpuprobe.js"))};
const path = process.env.TESTED_SOCKET;
const client = new gpuprobe.Client({{ socket: path }});
const told = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
const kind = (promise) => promise.then(() => "an answer", (problem) => problem.constructor.name);
"""


def node(script, path, timeout=60, **environment):
    """Runs a script and returns the values that it passes to told(). The process must end when the script has nothing left to wait for."""
    done = subprocess.run([NODE, "--input-type=module", "-"], input=HEAD + script, capture_output=True, text=True,
                          timeout=timeout, check=False, env={**os.environ, "TESTED_SOCKET": path, **environment})
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


ANSWERS = """
const choice = await client.select("ollama", { min_memory: 2 ** 30 });
told(choice.backend);
told(await kind(client.select("default", { only: ["sycl"] })));
told(await kind(client.select("nobody")));
told(await kind(client.select("default", { onyl: [] })));
told(await kind(client.call("Nothing")));
told(await kind(client.plan("much")));
const ask = [client.describe(), client.gpus(), client.recommend("torch"), client.plan(2 ** 33), client.doctor(),
             client.query(["driver>=550"])];
told((await Promise.all(ask)).map((answer) => Object.keys(answer)[0]));
told((await client.recommend("torch", { only: ["cpu"] })).variant);
"""
ANSWERED = ["cuda", "NoMatch", "UnknownName", "InvalidRequest", "Refused", "InvalidRequest",
            ["schema", "generation", "application", "is_estimate", "schema", "generation"], "cpu"]


@unittest.skipUnless(NODE, "node is not installed")
class NodePackage(SocketCase):
    def gpuprobectl_in_path(self, body):
        program = pathlib.Path(self.folder, "gpuprobectl")
        program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        program.chmod(0o755)
        return f"{self.folder}:{os.environ['PATH']}"

    def test_asks_the_daemon(self):
        self.start()
        self.assertEqual(node(ANSWERS, self.path), ANSWERED)

    def test_asks_gpuprobectl_where_no_daemon_is(self):
        path = self.gpuprobectl_in_path(f'shift\nexec {BIN}/gpuprobectl --replay={H200} "$@"')
        self.assertEqual(node(ANSWERS, f"{self.folder}/nothing", PATH=path), ANSWERED)

    def test_says_that_nobody_is_there(self):
        script = """
            told(await kind(client.select()));
            told(await kind(new gpuprobe.Client({ socket: path, daemonOnly: true }).describe()));
            told(await kind(client.watch().next()));
            told(await kind(client.probe()));"""
        self.assertEqual(node(script, f"{self.folder}/nothing", PATH=self.folder), ["Unavailable"] * 4)

    def test_waits_for_gpuprobectl_no_longer_than_for_a_daemon(self):
        path = self.gpuprobectl_in_path("exec sleep 60")
        script = "told(await kind(new gpuprobe.Client({ socket: path, timeout: 100 }).select()));"
        self.assertEqual(node(script, f"{self.folder}/nothing", timeout=20, PATH=path), ["TimedOut"])

    def test_tells_nonsense_of_gpuprobectl_apart(self):
        for body in ("echo nonsense", "exit 1", "echo '[1]'"):
            path = self.gpuprobectl_in_path(body)
            self.assertEqual(node("told(await kind(client.select()));", f"{self.folder}/nothing", PATH=path),
                             ["Unavailable"], body)

    def test_connects_again_when_the_daemon_was_restarted(self):
        script = """
            import { createInterface } from "node:readline";
            const alone = new gpuprobe.Client({ socket: path, daemonOnly: true });
            for await (const _ of createInterface({ input: process.stdin })) told(await kind(alone.select()));"""
        self.start()
        file = pathlib.Path(self.folder, "script.mjs")
        file.write_text(HEAD + script, encoding="utf-8")
        with subprocess.Popen([NODE, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "TESTED_SOCKET": self.path}) as program:
            def ask():
                print("once more", file=program.stdin, flush=True)
                return json.loads(program.stdout.readline())
            self.assertEqual(ask(), "an answer")
            self.end_daemon()
            self.assertEqual(ask(), "Unavailable")
            self.start()
            self.assertEqual(ask(), "an answer")
            self.end_daemon()
            self.start()
            self.assertEqual(ask(), "an answer")
            program.stdin.close()

    def test_answers_calls_in_turn(self):
        self.start()
        script = """
            const names = ["default", "ollama", "llama.cpp"];
            const asked = Array.from({ length: 300 }, (_, at) => names[at % 3]);
            const answers = await Promise.all(asked.map((name) => client.select(name)));
            told(answers.filter((answer, at) => answer.application !== asked[at]).length);"""
        self.assertEqual(node(script, self.path), [0])

    def test_follows_changes(self):
        self.start(f"--state-dir={self.folder}")
        script = """
            const seen = [];
            for await (const change of client.watch()) {
              seen.push(change.generation);
              if (seen.length === 1) await client.call("SetOverride", { application: "default", rule: { strict: true } });
              else break;
            }
            told(seen[1] > seen[0]);"""
        self.assertEqual(node(script, self.path), [True])
        self.wait_for_descriptors(self.descriptors())

    def test_probes_drivers(self):
        self.start()
        script = """told(await client.probe({ apis: ["vulkan"] }).then(() => "an answer", (problem) => problem.refusal));"""
        told = node(script, self.path)
        with self.client() as plain:
            plain.send("Probe", {"apis": ["vulkan"]}, more=True)
            try:
                self.assertIn("parameters", plain.receive())
                self.assertEqual(told, ["an answer"])
            except Exception as refused:  # the daemon replays a machine and has no drivers to probe
                self.assertEqual(told, [refused.parameters["name"]])

    def test_a_probe_falls_back_too(self):
        path = self.gpuprobectl_in_path("cat >/dev/null\necho '{\"generation\":7}'")
        self.assertEqual(node("told(await client.probe());", f"{self.folder}/nothing", PATH=path), [{"generation": 7}])

    def test_is_a_program(self):
        self.start()
        command = [NODE, PACKAGE / "main.js", f"--socket={self.path}"]

        def run(*words):
            return subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=60)
        done = run("select", "ollama")
        printed = self.gpuprobectl(f"--socket={self.path}", "-j", "select", "ollama")
        self.assertEqual((done.returncode, done.stdout), (0, printed.stdout), done.stderr)
        done = run("select", "nobody")
        self.assertEqual(done.returncode, 1)
        self.assertIn("UnknownApplication", json.loads(done.stdout)["error"]["name"])
        self.assertEqual(run("org.gpuprobe.Select", '{"request":{"only":["sycl"]}}').returncode, 3)
        for words in (["nothing"], ["--wrong"], ["recommend"], ["org.gpuprobe.Query", "{"]):
            self.assertEqual(run(*words).returncode, 2, words)


@unittest.skipUnless(NODE and shutil.which("npm") and shutil.which("npx"), "node, npm or npx is not installed")
class NodeArchive(SocketCase):
    """Tests the archive from `npm pack`, installed into a separate project without a registry."""

    def setUp(self):
        super().setUp()
        self.project = pathlib.Path(self.folder, "project")
        self.project.mkdir()
        (self.project / "package.json").write_text('{"name":"project","private":true,"type":"module"}', encoding="utf-8")
        (name,) = json.loads(self.run_in_project("npm", "pack", "--json", str(PACKAGE)).stdout)
        self.files = {file["path"] for file in name["files"]}
        self.run_in_project("npm", "install", "--no-audit", "--no-fund", f"./{name['filename']}")

    def run_in_project(self, *words, code=0, socket_path="/nonexistent"):
        done = subprocess.run(words, cwd=self.project, capture_output=True, text=True, timeout=100, check=False,
                              env={**os.environ, "HOME": self.folder, "npm_config_offline": "true", "npm_config_cache": f"{self.folder}/cache",
                                   "npm_config_update_notifier": "false", "GPUPROBE_SOCKET": socket_path})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_holds_what_is_needed_and_no_more(self):
        self.assertEqual(self.files, {"package.json", "README.md", "gpuprobe.js", "gpuprobe.d.ts", "interface.d.ts", "main.js", "LICENSES/Apache-2.0.txt", "LICENSES/MIT.txt"})

    def test_runs_with_npx(self):
        self.start()
        npx = ["npx", "--no-install", "gpuprobe"]
        done = self.run_in_project(*npx, "select", "ollama", socket_path=self.path)
        self.assertEqual(done.stdout, self.gpuprobectl(f"--socket={self.path}", "-j", "select", "ollama").stdout)
        done = self.run_in_project(*npx, f"--socket={self.path}", "org.gpuprobe.Select", '{"request":{"only":["sycl"]}}', code=3)
        self.assertIn("NoMatch", json.loads(done.stdout)["error"]["name"])
        self.assertIn("Usage: gpuprobe", self.run_in_project(*npx, "--help").stdout)

    def test_is_imported_by_its_name(self):
        self.start()
        script = 'import { Client } from "gpuprobe"; console.log((await new Client().select("ollama")).backend);'
        done = self.run_in_project(NODE, "--input-type=module", "-e", script, socket_path=self.path)
        self.assertEqual(done.stdout, "cuda\n")


class Server:
    """A fake daemon. `serve` is called with each connection and the number of earlier connections."""

    def __init__(self, test, serve):
        self.path = f"{test.folder}/fake"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen()
        test.addCleanup(self.socket.close)
        test.addCleanup(pathlib.Path(self.path).unlink)
        self.serve = serve
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        before = 0
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection, before), daemon=True).start()
            before += 1


def heard(connection):
    """Returns the next call on the connection, or None if the client has disconnected."""
    text = b""
    while not text.endswith(b"\0"):
        block = connection.recv(1 << 20)
        if not block:
            return None
        text += block
    return json.loads(text[:-1])


def answers(text):
    def serve(connection, _):
        with connection:
            while heard(connection):
                connection.sendall(text)
    return serve


@unittest.skipUnless(NODE, "node is not installed")
class NodeAgainstServers(SocketCase):
    KIND = "told(await kind(new gpuprobe.Client({ socket: path, daemonOnly: true, timeout: 5000 }).select()));"

    def test_gives_up_on_a_slow_daemon_and_asks_anew(self):
        def serve(connection, before):
            with connection:
                asked = heard(connection)
                if before == 0:
                    heard(connection)  # until the client disconnects
                    return
                application = json.dumps(asked["parameters"]["application"]).encode()
                connection.sendall(b'{"parameters":{"application":%b}}\0' % application)
                heard(connection)
        script = """
            const hasty = new gpuprobe.Client({ socket: path, timeout: 200 });
            told(await kind(hasty.select("first")));
            told((await hasty.select("second")).application);"""
        self.assertEqual(node(script, Server(self, serve).path), ["TimedOut", "second"])

    def test_takes_no_half_answer(self):
        def serve(connection, _):
            with connection:
                heard(connection)
                connection.sendall(b'{"parameters":{"backend":"cu')
        self.assertEqual(node(self.KIND, Server(self, serve).path), ["Unavailable"])

    def test_puts_pieces_together(self):
        def serve(connection, _):
            with connection:
                heard(connection)
                for byte in '{"parameters":{"word":"ü"}}\0'.encode():
                    connection.sendall(bytes([byte]))
                heard(connection)
        self.assertEqual(node("told((await client.describe()).word);", Server(self, serve).path), ["ü"])

    def test_takes_a_big_answer(self):
        text = b'{"parameters":{"word":"' + b"x" * (30 << 20) + b'"}}\0'
        self.assertEqual(node("told((await client.describe()).word.length);", Server(self, answers(text)).path),
                         [30 << 20])

    def test_takes_no_endless_answer(self):
        def serve(connection, _):
            with connection:
                heard(connection)
                try:
                    for _ in range(80):
                        connection.sendall(b"x" * (1 << 20))
                except OSError:
                    pass  # the connection was closed, as expected
        self.assertEqual(node(self.KIND, Server(self, serve).path), ["Failure"])

    def test_tells_nonsense_apart(self):
        for text in (b"nonsense\0", b"[1]\0", b"\0", b"null\0"):
            self.assertEqual(node(self.KIND, Server(self, answers(text)).path), ["Failure"], text)
            self.doCleanups()
            self.setUp()

    def test_knows_what_a_refusal_is(self):
        text = b'{"error":"org.gpuprobe.constructor","parameters":{"message":"no"}}\0'
        self.assertEqual(node(self.KIND, Server(self, answers(text)).path), ["Refused"])

    def test_a_stream_ends_where_the_daemon_says_or_goes(self):
        def serve(connection, before):
            with connection:
                self.assertTrue(heard(connection)["more"])
                connection.sendall(b'{"parameters":{"progress":0.5},"continues":true}\0{"parameters":{"progress":1}')
                connection.sendall(b"}\0" if before == 0 else b"")
        script = """
            for (const _ of [1, 2]) {
              const steps = [];
              const all = async () => { for await (const step of client.stream("Probe")) steps.push(step.progress); };
              told(await kind(all()));
              told(steps);
            }"""
        self.assertEqual(node(script, Server(self, serve).path), ["an answer", [0.5, 1], "Unavailable", [0.5]])

    def test_a_refusal_has_the_candidates(self):
        reason = {"code": "no-permission", "text": "this user cannot open the device nodes", "fix": "add the user to the group render",
                  "commands": ["sudo usermod -aG render me"], "subject": {"gpu": "pci:0", "api": None, "path": None}, "detail": {}}
        candidates = [{"backend": "cuda", "gpu": "pci:0", "verdict": "rejected", "reasons": [reason], "environment": {}}]
        refusal = {"error": "org.gpuprobe.NoMatch", "parameters": {"message": "no backend fits", "candidates": candidates}}
        script = "await client.select().catch((problem) => { told(problem.message); told(problem.candidates); });"
        self.assertEqual(node(script, Server(self, answers(json.dumps(refusal).encode() + b"\0")).path), ["no backend fits", candidates])

    def test_refuses_candidates_of_another_type(self):
        for candidates in ("null", "1", '"x"', "{}", '["x"]', "[null]", "[[]]"):
            with self.subTest(candidates):
                text = b'{"error":"org.gpuprobe.NoMatch","parameters":{"candidates":%b}}\0' % candidates.encode()
                self.assertEqual(node(self.KIND, Server(self, answers(text)).path), ["Failure"])
            self.doCleanups()
            self.setUp()

    def test_reports_the_progress_of_a_probe(self):
        def serve(connection, _):
            with connection:
                asked = heard(connection)
                self.assertEqual((asked["more"], asked["parameters"]), (True, {"apis": ["cuda"]}))
                for progress in (0, 0.5, 1.0):
                    connection.sendall(json.dumps({"parameters": {"progress": progress}, "continues": True}).encode() + b"\0")
                connection.sendall(b'{"parameters":{"progress":null,"generation":3,"probes":[]}}\0')
        script = """
            const seen = [];
            told(await client.probe({ apis: ["cuda"] }, { onProgress: (progress) => seen.push(progress) }));
            told(seen);
            told((await client.probe({ apis: ["cuda"] })).generation);"""
        self.assertEqual(node(script, Server(self, serve).path), [{"progress": None, "generation": 3, "probes": []}, [0, 0.5, 1], 3])

    def test_refuses_progress_that_is_not_a_number(self):
        for progress in ("null", '"0.5"', "true", "[]", "{}", "-1", "1.5"):
            with self.subTest(progress):
                text = b'{"parameters":{"progress":%b},"continues":true}\0' % progress.encode()
                self.assertEqual(node("told(await kind(client.probe()));", Server(self, answers(text)).path), ["Failure"])
            self.doCleanups()
            self.setUp()

    def test_a_failing_callback_ends_the_probe(self):
        text = b'{"parameters":{"progress":0.5},"continues":true}\0'
        script = """told(await kind(client.probe({}, { onProgress: () => { throw new RangeError(); } })));"""
        self.assertEqual(node(script, Server(self, answers(text)).path), ["RangeError"])

    def test_an_idle_client_does_not_keep_the_process(self):
        text = b'{"parameters":{}}\0'
        self.assertEqual(node("await client.describe(); told(1);", Server(self, answers(text)).path, timeout=20), [1])


class NodeTypes(SocketCase):
    def compile(self, text):
        pathlib.Path(self.folder, "node_modules").mkdir()
        pathlib.Path(self.folder, "node_modules/gpuprobe").symlink_to(PACKAGE)
        pathlib.Path(self.folder, "used.mts").write_text(text, encoding="utf-8")
        return subprocess.run(["tsc", "--noEmit", "--strict", "--module", "nodenext", "--moduleResolution", "nodenext",
                               "--target", "es2022", "used.mts"], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, check=False).stdout.splitlines()

    @unittest.skipUnless(shutil.which("tsc"), "tsc is not installed")
    def test_hold_for_a_program(self):
        right = """
            import { Client, NoMatch, SOCKET, type Gpu, type SelectAnswer } from "gpuprobe";
            const client = new Client({ socket: SOCKET, timeout: null });
            const names = (gpus: Gpu[]) => gpus.map((gpu) => gpu.name ?? "unknown");
            console.log(names((await client.gpus()).gpus), (await client.select("ollama", { min_memory: 1 })).backend);
            const onProgress = (progress: number) => console.log(progress.toFixed(2));
            console.log((await client.probe({ apis: ["cuda"] }, { onProgress })).probes?.length);
            for await (const change of client.watch()) if (change.state === "ready") break;
            for (const finding of (await client.doctor()).findings) console.log(finding.sentence, finding.commands.join(" && "));
            const plan = await client.plan(1, { margin: 1, gpus: [] });
            console.log(plan.host.need + plan.gpus[0].budget.bytes!, (await client.recommend("torch", { manifest: "{}" })).fallback[0]);
            const choice: SelectAnswer = await client.select();
            console.log(choice.candidates[0].reasons[0].code, choice.warnings.length);
            const { artifact } = await client.recommend("torch");
            console.log(artifact?.urls?.[0].length, (artifact?.size ?? 0) + 1);
            try { await client.call("Plan", { need: 1 }); }
            catch (problem) { if (problem instanceof NoMatch) for (const { text, fix, commands, subject } of problem.candidates[0].reasons)
              console.log(text?.length, fix?.length, commands?.join(" && "), subject?.gpu?.length, subject?.path); }
            const info = await client.call("org.varlink.service.GetInfo");
            declare const console: { log(...words: unknown[]): void };
        """
        self.assertEqual(self.compile(right), [])

    @unittest.skipUnless(shutil.which("tsc"), "tsc is not installed")
    def test_refuse_what_the_interface_does_not_have(self):
        wrong = ['client.select("ollama", { minimum_memory: 1 })', 'client.call("Nothing")', "client.plan({})", "client.diagnose()",
                 '(await client.gpus()).gpus[0].nam', '(await client.describe()).state === "asleep"',
                 "client.probe({}, { onProgress: 1 })", "for (const step of client.probe()) {}",
                 'client.call("Query", {})', "client.select(1)"]
        lines = ['import { Client } from "gpuprobe";', "const client = new Client();"]
        found = self.compile("\n".join([*lines, *(f"{text};" for text in wrong)]))
        told = {int(found_at[1]) for line in found if (found_at := re.match(r"used\.mts\((\d+),", line))}
        self.assertEqual(told, set(range(3, 3 + len(wrong))), found)


if __name__ == "__main__":
    unittest.main()
