# SPDX-License-Identifier: Apache-2.0
"""Tests that the clients for Go and Rust behave alike: with a daemon, with a restarted daemon, with other servers, and without a daemon."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "socket"), str(HERE.parents[1] / "support")]
import built_clients  # noqa: E402
from hostile_answers import ANSWERS, REFUSED, Row, Server  # noqa: E402
from socket_case import BIN, DAEMON, SOURCE, SocketCase  # noqa: E402


class Steps:
    """Tests with a program that makes the call in each line of its input, all with one client."""

    def begin(self, *words, path=None, **environment):
        """Starts the program."""
        process = subprocess.Popen([self.program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "GPUPROBE_SOCKET": str(path or self.path), "HOME": self.folder, **environment})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        return process

    def read(self, process):
        return process.stdout.readline().rstrip("\n")

    def ask(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return self.read(process)

    def answers(self, *lines, words=("daemon-only",), **more):
        process = self.begin(*words, **more)
        return [self.ask(process, line) for line in lines]

    def test_answer_with_types(self):
        self.start()
        lines = {"select ollama": "cuda", "select default cpu": "cpu", "recommend torch": self.call("Recommend", {"application": "torch"})["variant"],
                 "plan 8589934592": "8589934592", "list": "1", "describe": "linux"}
        self.assertEqual(dict(zip(lines, self.answers(*lines))), lines)

    def test_diagnose_with_the_environment_of_the_process(self):
        self.daemon = subprocess.Popen([DAEMON, "--bus=none", f"--socket={self.path}", "--no-cache"], env=self.environment(),
                                       stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_daemon)
        self.notify.wait_for("READY=1", self.daemon)
        self.assertEqual(self.answers("doctor", VK_DRIVER_FILES="/nothing.json"), ["drivers-overridden"])
        self.assertNotEqual(self.answers("doctor"), ["drivers-overridden"])

    def test_send_only_what_is_set(self):
        """Tests that the clients do not send unset members: the daemon rejects null and an empty list of GPUs, but if the list is missing, any GPU is
        acceptable."""
        self.start()
        self.assertEqual(self.answers("select default cuda", "select-nothing"), ["cuda", "refused: InvalidRequest"])

    def test_name_errors(self):
        self.start()
        found = self.answers("select nobody", "recommend nobody", "select default sycl")
        self.assertEqual(found[:2], ["refused: UnknownApplication", "refused: UnknownApplication"])
        self.assertRegex(found[2], r"^no match: \w+: the request allows only sycl$")

    def test_survive_a_restart_of_the_daemon(self):
        self.start()
        process = self.begin("daemon-only")
        self.assertEqual(self.ask(process, "select ollama"), "cuda")
        self.end_daemon()
        self.assertEqual(self.ask(process, "select ollama"), "unavailable")
        self.start()
        self.assertEqual(self.ask(process, "select ollama"), "cuda")
        self.end_daemon()
        self.start()
        self.assertEqual(self.ask(process, "select ollama"), "cuda")

    def test_follow_changes(self):
        self.start(f"--state-dir={self.folder}")
        process = self.begin("daemon-only")
        self.assertEqual(self.ask(process, "watch"), "ready")
        self.call("SetOverride", {"application": "default", "rule": {"strict": True}})
        self.assertEqual(self.read(process), "true")

    def test_are_shared(self):
        self.start()
        self.assertEqual(self.answers("together default ollama llama.cpp"), ["same"])

    def test_run_gpuprobectl_if_no_daemon_answers(self):
        nowhere = f"{self.folder}/nothing"
        self.assertEqual(self.answers("describe", words=(), path=nowhere, PATH=str(BIN)), ["linux"])
        self.assertEqual(self.answers("select nobody", words=(), path=nowhere, PATH=str(BIN)), ["refused: UnknownApplication"])
        self.assertEqual(self.answers("describe", "probe", words=(), path=nowhere, PATH=self.folder), ["unavailable"] * 2)
        self.assertEqual(self.answers("describe", "probe", path=nowhere, PATH=str(BIN)), ["unavailable"] * 2)

    def test_report_the_progress_of_a_probe(self):
        shares = [{"parameters": {"progress": share}, "continues": True} for share in (0, 0.5, 1.0)]
        wrong = [{"parameters": {"progress": share}, "continues": True} for share in (None, "0.5", -1, 1.5)]
        last = {"parameters": {"progress": None, "generation": 3, "probes": []}}
        rows = [Row("right", ANSWERS, self.messages(*shares, last))]
        rows += [Row(f"wrong-{at}", ANSWERS, self.messages(each, last)) for at, each in enumerate(wrong)]
        with Server(self.folder, rows) as server:
            found = [self.answers("probe cuda", path=server.path(row))[0] for row in rows]
        self.assertEqual(found, ["[0 0.5 1] 3", *["invalid"] * len(wrong)])

    def test_refuse_candidates_of_another_type(self):
        rows = [Row(f"row-{at}", REFUSED, self.messages({"error": "org.gpuprobe.NoMatch", "parameters": {"message": "no", "candidates": each}}))
                for at, each in enumerate((1, "x", {}, ["x"], [[]]))]
        with Server(self.folder, rows) as server:
            self.assertEqual([self.answers("select x", path=server.path(row))[0] for row in rows], ["invalid"] * len(rows))

    def output(self, program):
        """Starts a daemon and returns the output of a program that needs no input."""
        self.start()
        return subprocess.run([program], env={**os.environ, "GPUPROBE_SOCKET": str(self.path), "HOME": self.folder}, timeout=60,
                              stdout=subprocess.PIPE, text=True, check=True).stdout

    def messages(self, *documents):
        return b"".join(json.dumps(each).encode() + b"\0" for each in documents)


def page_source(name, page, language, before, after):
    """Writes a file with the only block in a given language on a page, between `before` and `after`."""
    text = (SOURCE / page).read_text(encoding="utf-8")
    (shown,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    built_clients.KEPT.mkdir(exist_ok=True)
    path = built_clients.KEPT / name
    path.write_text(before + shown + after, encoding="utf-8")
    return path


@built_clients.needs_go
class GoClient(Steps, SocketCase):
    @classmethod
    def setUpClass(cls):
        cls.program = built_clients.go_program(HERE / "steps.go")

    def test_ends_a_call_with_its_context(self):
        with Server(self.folder, [Row("late", ANSWERS)]) as server:
            self.assertEqual(self.answers("cancel", path=server.path(server.rows[0])), ["late"])

    def test_the_page_shows_a_program(self):
        imports = "".join(f'import "{name}"\n' for name in ("context", "errors", "fmt", "gpuprobe.invalid/gpuprobe"))
        source = page_source("page.go", "src/go/README.md", "go", f"package main\n\n{imports}\nfunc main() {{\nctx := context.Background()\n", "}\n")
        done = subprocess.run([built_clients.go_program(source)], capture_output=True, text=True, timeout=60, check=True,
                              env={**os.environ, "PATH": str(BIN), "GPUPROBE_SOCKET": f"{self.folder}/nothing"})
        self.assertNotEqual(done.stdout, "")

    def test_the_page_for_adopters_finds_the_vendor(self):
        imports = "".join(f'import "{name}"\n' for name in ("context", "fmt", "gpuprobe.invalid/gpuprobe"))
        source = page_source("adopting.go", "docs/adopting.md", "go", f"package main\n\n{imports}\n",
                             "\nfunc main() {\nfmt.Println(preferredVendor(context.Background()))\n}\n")
        self.assertEqual(self.output(built_clients.go_program(source)), "nvidia <nil>\n")

    def test_needs_no_cgo(self):
        done = subprocess.run(["readelf", "-d", self.program], capture_output=True, text=True, check=True)
        self.assertNotIn("NEEDED", done.stdout)


@built_clients.needs_rust
class RustClient(Steps, SocketCase):
    @classmethod
    def setUpClass(cls):
        cls.program = built_clients.rust_program(HERE / "steps.rs")

    def test_the_page_shows_a_program(self):
        source = page_source("page.rs", "src/rust/README.md", "rust", "fn main() {\n", "}\n")
        done = subprocess.run([built_clients.rust_program(source)], capture_output=True, text=True, timeout=60, check=True,
                              env={**os.environ, "PATH": str(BIN), "GPUPROBE_SOCKET": f"{self.folder}/nothing"})
        self.assertNotEqual(done.stdout, "")

    def test_the_page_for_adopters_finds_the_vendor(self):
        source = page_source("adopting.rs", "docs/adopting.md", "rust", "",
                             '\nfn main() {\n    println!("{:?}", preferred_vendor().expect("an answer"));\n}\n')
        self.assertEqual(self.output(built_clients.rust_program(source)), 'Some("nvidia")\n')


if __name__ == "__main__":
    unittest.main()
