# SPDX-License-Identifier: Apache-2.0
"""Tests that no output for people contains characters that hide, reorder or break text, whatever the source of the output is."""
import json
import pathlib
import shutil
import socket
import tempfile
import threading
import unicodedata
import unittest

from cli_case import SOURCE, run, run_in_terminal

H200 = SOURCE / "tests/data/machines/nvidia-h200-1"
CATEGORIES = {"Cc", "Cf", "Cn", "Co", "Zl", "Zp"}
INVISIBLE = (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10), 0xFFA0,
             *range(0xE0100, 0xE01F0))
SELDOM = {"Cn", "Co"}  # most code points; this test uses a sample, because tests/unit/base tests all of them


def every_odd_character():
    odd = [chr(point) for point in range(1, 0x110000)
           if (category := unicodedata.category(chr(point))) in CATEGORIES and (category not in SELDOM or point % 0x3FF == 0)]
    return "".join(odd + [chr(point) for point in INVISIBLE])


ODD = every_odd_character()
# The dangerous characters as one argument of a command line, and in pieces with the maximum length of a name.
WORD = "x" + ODD + "z"
PIECES = ["x" + ODD[start:start + 55] + "z" for start in range(0, len(ODD), 55)]
TOWER = "e" + "\u0301" * 500


def is_odd(character):
    return character not in "\n\t" and (unicodedata.category(character) in CATEGORIES or ord(character) in INVISIBLE)


class TextCase(unittest.TestCase):
    maxDiff = None

    def assert_clean(self, text, message=""):
        self.assertEqual(sorted({hex(ord(each)) for each in text if is_odd(each)}), [], message)
        self.assertNotIn("\u0301" * 5, text, message)

    def clean(self, *words, **more):
        """Runs gpuprobectl, checks that the output is safe for a terminal, and returns the finished process."""
        done = run(*words, **more)
        self.assert_clean(done.stdout + done.stderr, words[:3])
        return done


class OddArguments(TextCase):
    def test_are_repeated_without_them(self):
        for words in (["ODD"], ["--ODD"], ["-ODD"], ["show", "ODD"], ["select", "ODD"], ["select", "--backend=ODD"],
                      ["select", "--memory=ODD"], ["env", "ODD"], ["recommend", "ODD"], ["recommend", "--manifest=/tmp/ODD"],
                      ["recommend", "torch", "--force=ODD"], ["plan", "--gguf=/tmp/ODD"], ["run", "ODD", "--", "true"],
                      ["run", "--", "/nonexistent/ODD"], ["help", "ODD"], ["export", "ODD"], ["export", "nfd", "--output=/nonexistent/ODD"],
                      ["call", "ODD"], ["call", "Select", "ODD"], ["capture", "/nonexistent/ODD"], ["knowledge", "verify", "/tmp/ODD"],
                      ["quarantine", "clear", "ODD"], ["override", "set", "ODD", "--backend=cpu"], ["probe", "ODD"], ["selector", "ODD"],
                      ["verify", "ODD", "/tmp/ODD"], ["complete", "select", "ODD"], ["list", "--replay=/tmp/ODD"],
                      ["list", "--socket=/tmp/ODD"], ["doctor", "--bug-report=/nonexistent/ODD"], ["watch", "ODD"],
                      ["report-outcome", "ODD", "--failed"], ["bench", "ODD"], ["completion", "ODD"]):
            for odd in (WORD, TOWER):
                with self.subTest(words=words):
                    named = [word.replace("ODD", odd) for word in words]
                    self.clean(*named)
                    self.clean(f"--replay={H200}", *named)

    def test_that_are_not_utf8(self):
        for words in ([b"x\xff\xfez"], ["show", b"\xc0\xaf\xed\xa0\x80"], ["select", b"\xf4\x90\x80\x80"]):
            done = self.clean(f"--replay={H200}", *words)
            self.assertIn("\ufffd", done.stderr)


class OddVariables(TextCase):
    def test_of_the_caller(self):
        for name in ("CUDA_VISIBLE_DEVICES", "VK_DRIVER_FILES", "OLLAMA_IGPU_ENABLE", "XDG_CACHE_HOME", "GPUPROBE_SOCKET", "TERM", "LANG"):
            for verb in (["select", "llama.cpp", "--explain"], ["doctor"], ["recommend", "torch"], ["status"]):
                with self.subTest(name=name, verb=verb):
                    self.clean(f"--replay={H200}", *verb, **{name: WORD})


class OddMachines(TextCase):
    """Tests with strings from drivers, which may contain any character."""
    VERBS = (["status"], ["list"], ["show"], ["doctor"], ["doctor", "--fix-script"], ["select", "--explain"],
             ["select", "llama.cpp", "--explain"], ["recommend", "torch", "--explain"], ["env", "0", "--all"], ["env", "llama.cpp"],
             ["describe"], ["bench"], ["probe"], ["export", "prometheus"], ["export", "nfd"], ["export", "slurm-gres"])

    def machine(self, piece):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-odd-")
        self.addCleanup(folder.cleanup)
        machine = pathlib.Path(folder.name) / "machine"
        shutil.copytree(H200, machine, symlinks=True)
        for file in (machine / "probes").glob("*.json"):
            text = file.read_text(encoding="utf-8")
            for name in ("NVIDIA H200", "580.159.04", "NVIDIA Corporation"):
                text = text.replace(name, json.dumps(piece + name)[1:-1])
            file.write_text(text, encoding="utf-8")
        return machine

    def test_are_shown_without_them(self):
        for piece in [PIECES[0], PIECES[-1], TOWER]:
            machine = self.machine(piece)
            for words in self.VERBS:
                self.clean(f"--replay={machine}", *words)
        for piece in PIECES[1:-1]:
            self.clean(f"--replay={self.machine(piece)}", "show")

    def test_do_not_break_a_table(self):
        machine = self.machine(TOWER)
        for words in (["list"], ["probe"]):
            code, text = run_in_terminal(100, f"--replay={machine}", *words, NO_COLOR="1")
            self.assertEqual(code, 0)
            self.assertEqual([line for line in text.splitlines() if sum(not unicodedata.combining(each) for each in line) > 100], [])

    def test_are_escaped_in_documents(self):
        machine = self.machine(PIECES[0])
        for words in (["describe", "-j"], ["list", "-j"], ["doctor", "-j"], ["export", "json"]):
            done = run(f"--replay={machine}", *words)
            self.assert_clean(done.stdout, words)
            json.loads(done.stdout)


class OddDocuments(TextCase):
    def test_texts_of_an_application(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, piece in enumerate([WORD[:300], TOWER[:300]]):
                selection = {"backends": ["cpu"], "cpu": "last", "integrated": "never", "strict": False,
                             "messages": {"selected": "".join(c for c in piece if c >= " ")[:200]}}
                document = {"schema": "gpuprobe.application/1", "name": f"odd-{number}", "description": piece, "selection": selection}
                (pathlib.Path(folder) / f"{number}.json").write_text(json.dumps(document), encoding="utf-8")
            for words in (["select", "odd-0"], ["select", "odd-1", "--explain"], ["apps"], ["env", "odd-0"], ["status"]):
                self.clean(f"--replay={H200}", f"--applications={folder}", *words)

    def test_a_file_whose_name_has_them(self):
        with tempfile.TemporaryDirectory() as folder:
            for piece in PIECES[:6]:
                name = piece.replace("/", "")[:60] + ".json"
                (pathlib.Path(folder) / name).write_text("{", encoding="utf-8")
            for words in (["select", "none"], ["select"], ["status"], ["apps"], ["doctor"]):
                self.clean(f"--replay={H200}", f"--applications={folder}", *words)


class OddServers(TextCase):
    """Tests with strings from the server on the socket, which is not trusted either."""

    def serve(self, answer):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-odd-")
        self.addCleanup(folder.cleanup)
        path = f"{folder.name}/socket"
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen()

        def speak():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    while connection.recv(65536):
                        connection.sendall(answer + b"\0")
        threading.Thread(target=speak, daemon=True).start()
        return path

    def test_errors_and_answers(self):
        texts = {key: WORD for key in ("text", "message", "description", "problem", "name", "method", "parameter", "application", "backend")}
        for answer in ({"error": "org.gpuprobe.GpuProbe1.Error.Failed", "parameters": texts}, {"error": "org.gpuprobe.GpuProbe1.Error.InvalidRequest", "parameters": texts},
                       {"error": WORD, "parameters": texts}, {"error": "org.varlink.service.InvalidParameter", "parameters": texts},
                       {"parameters": texts}, {"parameters": {"applications": [WORD], "manifests": [WORD], "report": texts}}):
            for form in (json.dumps(answer), json.dumps(answer, ensure_ascii=False)):
                path = self.serve(form.encode())
                for words in (["select", "llama.cpp"], ["env"], ["list"], ["status"], ["apps"], ["recommend", "torch"], ["version"],
                              ["quarantine", "clear"], ["call", "ListGpus"]):
                    with self.subTest(answer=sorted(answer), words=words):
                        self.clean(f"--socket={path}", *words, GPUPROBE_SOCKET=path)


if __name__ == "__main__":
    unittest.main()
