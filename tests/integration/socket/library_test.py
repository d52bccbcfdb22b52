# SPDX-License-Identifier: Apache-2.0
"""Tests of libgpuprobe with a daemon, with only gpuprobectl, and with invalid servers."""
import contextlib
import ctypes
import errno
import itertools
import json
import os
import pathlib
import re
import select
import socket
import subprocess
import sys
import threading
import unittest

from socket_case import BIN, H200, SOURCE, SocketCase

DAEMON_ONLY = 1
SANITIZERS = os.environ.get("GPUPROBE_SANITIZE")
# Errors that the library returns as -EIO, because programs do not have to distinguish them.
OWN_FAULTS = {"Failed", "ProbeFailed", "Internal"}
LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class Library:
    """A client of the C library."""

    lib = None

    def __init__(self, path, flags=0):
        if not Library.lib:
            Library.lib = ctypes.CDLL(str(BIN / "libgpuprobe.so.1"), use_errno=True)
            Library.lib.gpuprobe_value.restype = ctypes.c_void_p
        self.handle = ctypes.c_void_p()
        self.opened = self.lib.gpuprobe_open(ctypes.byref(self.handle), path.encode(), flags)

    def close(self):
        self.lib.gpuprobe_close(self.handle)

    def ask(self, method, parameters=None):
        """Makes a call, and returns the return code of the library and the answer as text or None."""
        text = ctypes.c_void_p()
        given = None if parameters is None else json.dumps(parameters).encode()
        code = self.lib.gpuprobe_call(self.handle, method.encode(), given, ctypes.byref(text))
        return code, self.taken(text)

    def ask_more(self, method):
        """Makes a call with several replies. Returns the return code of the library, the last reply as text or None, and the earlier replies."""
        text, heard = ctypes.c_void_p(), []
        listener = LISTENER(lambda _context, json: heard.append(json.decode()))
        code = self.lib.gpuprobe_call_more(self.handle, method.encode(), None, listener, None, ctypes.byref(text))
        return code, self.taken(text), heard

    def next_event(self):
        text = ctypes.c_void_p()
        code = self.lib.gpuprobe_watch_next(self.handle, ctypes.byref(text))
        return code, self.taken(text)

    def taken(self, text):
        if not text.value:
            return None
        content = ctypes.string_at(text.value).decode()
        self.lib.gpuprobe_free(text)
        return content

    def value(self, document, pointer):
        return self.taken(ctypes.c_void_p(self.lib.gpuprobe_value(document.encode(), pointer.encode())))


@unittest.skipIf(SANITIZERS, "Python does not load the sanitizers' library first")
class ClientLibrary(SocketCase):
    def library(self, path=None, flags=0):
        library = Library(path or self.path, flags)
        self.addCleanup(library.close)
        return library

    def test_answers_what_gpuprobectl_prints(self):
        self.start()
        library = self.library()
        for words, method, parameters in ((("select", "ollama"), "Select", {"application": "ollama"}),
                                          (("recommend", "torch"), "Recommend", {"application": "torch"}),
                                          (("select", "default", "--only=sycl"), "Select", {"request": {"only": ["sycl"]}}),
                                          (("select", "nobody"), "Select", {"application": "nobody"})):
            with self.subTest(" ".join(words)):
                printed = self.gpuprobectl(f"--socket={self.path}", "-j", *words).stdout
                self.assertEqual(library.ask(method, parameters)[1] + "\n", printed)

    def test_tells_refusals_by_code(self):
        self.start()
        library = self.library()
        for method, parameters, code in (("Select", {"request": {"only": ["sycl"]}}, errno.ENODATA),
                                         ("Select", {"application": "nobody"}, errno.ENOENT),
                                         ("Select", {"request": {"onyl": []}}, errno.EINVAL),
                                         ("Select", {"application": 1}, errno.EINVAL),
                                         ("GetMemory", {"gpu": "pci:no"}, errno.ENODEV),
                                         ("Recommend", {"application": "x", "manifest": "{"}, errno.EBADMSG),
                                         ("Nothing", {}, errno.EOPNOTSUPP), ("Select", {"x": "y" * (3 << 20)}, errno.E2BIG)):
            self.assertEqual(library.ask(method, parameters)[0], -code, method)
        self.assertEqual(library.ask("Select")[0], 0)

    def test_knows_each_error(self):
        self.start()
        text = self.call("org.varlink.service.GetInterfaceDescription", {"interface": "org.gpuprobe"})["description"]
        names = re.findall(r"^error (\w+) ", text, re.MULTILINE)
        self.assertGreater(len(names), 10)
        for name in names:
            with self.server(f'{{"error":"org.gpuprobe.{name}","parameters":{{}}}}\0'.encode()) as path:
                code, failure = self.library(path, DAEMON_ONLY).ask("Select")
                self.assertEqual(code == -errno.EIO, name in OWN_FAULTS, name)
                self.assertEqual(json.loads(failure), {"error": {"name": f"org.gpuprobe.{name}"}})

    @contextlib.contextmanager
    def server(self, answer, waits=False):
        """Runs a fake daemon that answers each call with the given bytes and then closes the connection, or keeps the connection open if `waits` is
        set."""
        path = f"{self.folder}/other"
        pathlib.Path(path).unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            ended = threading.Event()

            def serve():
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = listening.accept()
                        with connection:
                            connection.recv(1 << 16)
                            connection.sendall(answer)
                            if waits:
                                ended.wait(10)
            thread = threading.Thread(target=serve)
            thread.start()
            try:
                yield path
            finally:
                ended.set()
                listening.shutdown(socket.SHUT_RDWR)
                thread.join()

    def test_takes_no_harm_from_what_is_no_answer(self):
        for answer in (b"", b"\0", b"{", b"{}\0", b'{"parameters":1}\0', b'{"parameters":{\0', b'{"error":1}\0',
                       b'{"error":"\\ud800\\', b"[" * 4096 + b"\0", b'{"parameters":"' + b"x" * 100000):
            with self.subTest(answer[:30]), self.server(answer) as path:
                self.assertLess(self.library(path, DAEMON_ONLY).ask("Select")[0], 0)

    def test_tells_what_keeps_it_from_an_answer(self):
        with self.server(b"") as path:
            self.assertEqual(self.library(path, DAEMON_ONLY).ask("Select"), (-errno.ECONNRESET, None))
        told = self.in_child(self.folder, "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\nprint(library.ask('Select')[0])")
        self.assertEqual(told, f"{-errno.EMFILE}\n")
        with self.server(b'{"parameters":{"word":"' + b"x" * (40 << 20) + b'"}}\0') as path:
            little = "int(open('/proc/self/statm').read().split()[0]) * 4096 + (60 << 20)"
            told = self.in_child(self.folder, f"import resource\nresource.setrlimit(resource.RLIMIT_AS, ({little},) * 2)\n"
                                              "print(library.ask('Select')[0])", path)
            self.assertEqual(told, f"{-errno.ENOMEM}\n")

    def test_the_header_has_each_error(self):
        header = (SOURCE / "include/gpuprobe/gpuprobe.h").read_text(encoding="utf-8")
        listed = set(re.findall(r"-(E[A-Z0-9]+)", header.partition("#ifdef")[0]))
        code = (SOURCE / "src/wire/gpuprobe.c").read_text(encoding="utf-8")
        returned = set(re.findall(r"(?<!== )-(E[A-Z0-9]+)", code))
        self.assertGreater(len(returned), 15)
        self.assertEqual(returned - listed, set())

    def test_passes_on_the_replies_before_the_last_one(self):
        half, whole = (f'{{"parameters":{{"progress":{share}}},"continues":true}}\0' for share in (0.5, 1))
        done = '{"parameters":{"generation":2}}\0'
        refused = '{"error":"org.gpuprobe.WouldWake"}\0'
        progress = ['{"progress":0.5}', '{"progress":1}']
        for answer, *wanted in ((half + whole + done, 0, '{"generation":2}', progress),
                                (done, 0, '{"generation":2}', []),
                                (half + whole + refused, -errno.EBUSY, '{"error":{"name":"org.gpuprobe.WouldWake"}}', progress),
                                (half, -errno.ECONNRESET, None, progress[:1]),
                                (half + "[]\0", -errno.EPROTO, None, progress[:1]),
                                (half + done + done, -errno.EPROTO, None, progress[:1]),
                                (refused[:-2] + ',"continues":true}\0', -errno.EPROTO, None, [])):
            with self.subTest(answer), self.server(answer.encode()) as path:
                self.assertEqual(self.library(path, DAEMON_ONLY).ask_more("Probe"), tuple(wanted))
        with self.server((half + done).encode()) as path:
            self.assertEqual(self.library(path, DAEMON_ONLY).ask("Probe"), (-errno.EPROTO, None))

    def test_passes_on_the_progress_of_a_probe(self):
        self.start()
        code, answer, heard = self.library().ask_more("Probe")
        self.assertEqual((code, set(json.loads(answer))), (0, {"generation", "probes"}))
        shares = [json.loads(each)["progress"] for each in heard]
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(self.library().ask("Probe")[0], 0)

    def test_gives_up_in_time(self):
        with self.server(b'{"parameters":', waits=True) as path:
            library = self.library(path, DAEMON_ONLY)
            library.lib.gpuprobe_set_timeout(library.handle, 100)
            self.assertEqual(library.ask("Select"), (-errno.ETIMEDOUT, None))

    def test_connects_again(self):
        self.start()
        library = self.library(flags=DAEMON_ONLY)
        self.assertEqual(library.ask("Select")[0], 0)
        self.end_daemon()
        self.assertEqual(library.ask("Select")[0], -errno.ECONNREFUSED)
        self.start()
        self.assertEqual(library.ask("Select")[0], 0)
        self.end_daemon()
        self.start()
        self.assertEqual(library.ask("Select")[0], 0)

    def test_is_shared_by_threads(self):
        self.start()
        library = self.library()
        wrong = []

        def ask(application):
            for _ in range(100):
                code, text = library.ask("Select", {"application": application})
                if code != 0 or json.loads(text)["application"] != application:
                    wrong.append((code, text))
        threads = [threading.Thread(target=ask, args=(name,)) for name in ("default", "ollama", "llama.cpp")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_follows_changes(self):
        self.start(f"--state-dir={self.folder}")
        library = self.library()
        descriptor = library.lib.gpuprobe_watch(library.handle)
        self.assertGreaterEqual(descriptor, 0)
        generations = []
        for _ in range(2):
            self.assertTrue(select.select([descriptor], [], [], 10)[0])
            code, text = library.next_event()
            self.assertEqual(code, 1)
            generations.append(json.loads(text)["generation"])
            self.assertEqual(library.next_event()[0], 0)
            self.call("SetOverride", {"application": "default", "rule": {"strict": True}})
        self.assertGreater(generations[1], generations[0])
        self.end_daemon()
        while (code := library.next_event()[0]) > 0:
            pass
        self.assertEqual(code, -errno.ECONNRESET)
        self.assertEqual(library.lib.gpuprobe_watch(library.handle), -errno.ECONNREFUSED)

    def in_child(self, path, code, socket_path=None):
        """Runs Python code in a new process with the given PATH, and returns its output. In the code, `library` is a client."""
        program = (f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
                   f"from library_test import Library\nlibrary = Library({socket_path or self.folder + '/nothing'!r})\n{code}")
        return subprocess.run([sys.executable, "-c", program], env={**os.environ, "PATH": path}, check=True,
                              capture_output=True, text=True, timeout=60).stdout

    def test_asks_gpuprobectl_where_no_daemon_is(self):
        program = pathlib.Path(self.folder, "gpuprobectl")
        program.write_text(f'#!/bin/sh\nshift\nexec {BIN}/gpuprobectl --replay={H200} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        for words, parameters in ((("select", "ollama"), {"application": "ollama"}),
                                  (("select", "default", "--only=sycl"), {"request": {"only": ["sycl"]}})):
            told = self.in_child(f"{self.folder}:/usr/bin:/bin", f"print(library.ask('Select', {parameters!r})[1])")
            self.assertEqual(told, self.gpuprobectl(f"--replay={H200}", "-j", *words).stdout)

    def program(self, name, select):
        """Compiles a program that answers a Select call with the given backend, and a Subscribe call with two changes."""
        code, program = pathlib.Path(self.folder, f"{name}.c"), pathlib.Path(self.folder, name)
        code.write_text(f"""
            #include <stdio.h>
            #include <string.h>
            #include <unistd.h>
            int main(int count, char** words) {{
                char parameters[100] = "";
                int follows = count == 8 && !strcmp(words[5], "org.gpuprobe.Subscribe") && !strcmp(words[7], "--more");
                if (strcmp(words[1], "--direct") || !fgets(parameters, sizeof parameters, stdin) || parameters[0] != '{{')
                    return 1;
                puts(follows ? "{{\\"generation\\":1}}\\n{{\\"generation\\":2}}" : "{{\\"backend\\":\\"{select}\\"}}");
                fflush(stdout);
                return follows ? (int)sleep(60) : 0;
            }}""", encoding="utf-8")
        subprocess.run(["cc", "-o", program, code], check=True, timeout=60)
        return program

    def test_runs_the_program_that_the_caller_bundles(self):
        library, program = self.library(f"{self.folder}/nothing"), self.program("bundled", "from a file")
        self.assertEqual(library.lib.gpuprobe_set_program(library.handle, str(program).encode()), 0)
        self.assertEqual(library.ask("Select"), (0, '{"backend":"from a file"}'))
        for path in (f"{self.folder}/none", str(self.folder)):
            self.assertEqual(library.lib.gpuprobe_set_program(library.handle, path.encode()), 0)
            self.assertEqual(library.ask("Select"), (-errno.ECONNREFUSED, None))
        self.assertEqual(library.lib.gpuprobe_set_program(library.handle, b""), -errno.EINVAL)
        self.assertEqual(library.lib.gpuprobe_set_program(None, b"x"), -errno.EINVAL)

    def test_runs_the_program_that_the_caller_has_in_memory(self):
        library, content = self.library(f"{self.folder}/nothing"), self.program("stored", "from memory").read_bytes()
        for _ in range(2):  # the second call replaces the first
            self.assertEqual(library.lib.gpuprobe_set_program_bytes(library.handle, content, ctypes.c_size_t(len(content))), 0)
            self.assertEqual(library.ask("Select"), (0, '{"backend":"from memory"}'))
        open_files = len(os.listdir("/proc/self/fd"))
        self.assertEqual(library.lib.gpuprobe_set_program(library.handle, None), 0)
        self.assertEqual(len(os.listdir("/proc/self/fd")), open_files - 1)
        self.assertEqual(library.lib.gpuprobe_set_program_bytes(library.handle, content, ctypes.c_size_t(0)), -errno.EINVAL)
        self.assertEqual(library.lib.gpuprobe_set_program_bytes(library.handle, None, ctypes.c_size_t(1)), -errno.EINVAL)

    def test_runs_the_program_that_the_environment_names(self):
        program = self.program("named", "from the environment")
        code = f"import os; os.environ['GPUPROBE_PROGRAM'] = {str(program)!r}\nprint(library.ask('Select'))"
        self.assertEqual(self.in_child("/usr/bin:/bin", code), "(0, '{\"backend\":\"from the environment\"}')\n")

    def test_asks_the_daemon_before_it_runs_a_program(self):
        self.start()
        library = self.library()
        self.assertEqual(library.lib.gpuprobe_set_program(library.handle, str(self.program("bundled", "unused")).encode()), 0)
        self.assertNotIn("unused", library.ask("Select")[1])

    def test_follows_changes_through_a_program(self):
        def children():
            words = ["ps", "--no-headers", "--ppid", str(os.getpid()), "-o", "comm"]
            return subprocess.run(words, capture_output=True, text=True, check=False).stdout

        library = self.library(f"{self.folder}/nothing")
        library.lib.gpuprobe_set_program(library.handle, str(self.program("bundled", "x")).encode())
        descriptor = library.lib.gpuprobe_watch(library.handle)
        self.assertGreaterEqual(descriptor, 0)
        self.assertTrue(select.select([descriptor], [], [], 10)[0])
        self.assertEqual([library.next_event() for _ in range(3)], [(1, '{"generation":1}'), (1, '{"generation":2}'), (0, None)])
        self.assertIn("bundled", children())
        library.lib.gpuprobe_set_program(library.handle, b"/nothing")
        self.assertEqual(library.lib.gpuprobe_watch(library.handle), -errno.ECONNREFUSED)
        self.assertEqual(library.next_event()[0], -errno.ECONNRESET)
        self.assertNotIn("bundled", children())

    def test_says_that_nobody_is_there(self):
        self.assertEqual(self.in_child(self.folder, "print(library.ask('Select'))"), f"({-errno.ECONNREFUSED}, None)\n")
        self.assertEqual(Library(f"{self.folder}/nothing", DAEMON_ONLY).opened, -errno.ECONNREFUSED)
        self.assertEqual(ctypes.get_errno(), errno.ENOENT)

    def test_reads_json(self):
        library = self.library(f"{self.folder}/nothing")
        document = json.dumps({"a/b": {"~": "x"}, "list": [1, {"k": None}, "\u00e9\U0001f600\n\"\\"], "e": ""}, ensure_ascii=True)
        for pointer, value in (("/a~1b/~0", "x"), ("/list/0", "1"), ("/list/2", "\u00e9\U0001f600\n\"\\"), ("/list/1/k", None),
                               ("/list/3", None), ("/nothing", None), ("list", None), ("/e", ""), ("/list/1", '{"k": null}')):
            self.assertEqual(library.value(document, pointer), value, pointer)


def reason_line(reason):
    """Returns the line that client_header.cpp prints for a reason."""
    subject = reason.get("subject") or {}
    return "|".join((reason["code"], reason.get("text") or "", reason.get("fix") or "", subject.get("gpu") or "",
                     str(len(reason.get("commands") or [])), json.dumps(reason["detail"], ensure_ascii=False, separators=(",", ":"))))


class ClientHeader(SocketCase):
    """Tests of the library's C++ header."""

    def test_asks_all_that_the_library_can(self):
        program = f"{self.folder}/client_header"
        subprocess.run(["c++", *([f"-fsanitize={SANITIZERS}"] if SANITIZERS else []), "-std=c++20", "-Wall", "-Wextra", "-Wshadow",
                        "-Wconversion", "-Werror", f"-I{SOURCE / 'include'}", f"-I{BIN.parent / 'generated/interface'}",
                        pathlib.Path(__file__).with_name("client_header.cpp"), f"-L{BIN}", f"-Wl,-rpath,{BIN}", "-lgpuprobe", "-o", program], check=True, timeout=100)
        self.start(f"--state-dir={self.folder}")
        printed = {words: self.gpuprobectl(f"--socket={self.path}", "-j", *words).stdout.rstrip("\n")
                   for words in (("recommend", "torch", "--exclude=cu132", "--memory=1024MiB"), ("doctor",), ("list",),
                                 ("select", "ollama"), ("select", "default", "--only=sycl"), ("call", "Plan", '{"need":1073741824}'))}
        plan = list(printed.values())[-1]
        found, doctor, listed, chosen, refusal, planned = map(json.loads, printed.values())
        findings, gpu, candidates = doctor["findings"], listed["gpus"][0], refusal["error"]["candidates"]
        refused = "org.gpuprobe.GpuProbe1.Error."
        with subprocess.Popen([program, self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asking:
            def lines():
                return list(itertools.takewhile(lambda line: line != "waits ", (line.rstrip("\n") for line in iter(asking.stdout.readline, ""))))
            *answers, first = lines()
            self.assertEqual(answers, [
                f"select cuda {gpu['id']} {chosen['decision']} {len(chosen['candidates'])}", f"no match {refusal['error']['message']}",
                *(f"reason {each['backend']}|{reason_line(reason)}" for each in candidates for reason in each["reasons"]),
                f"recommend {found['variant']} accepted {found['version']} {found['platform']} {gpu['id']} {found['fallback'][0]}",
                f"artifact {found['artifact']['type']} {found['artifact']['urls'][0]}",
                *(f"variant {each['variant']} {each['verdict']} {each['tier']} {len(each['reasons'])}" for each in found["candidates"]),
                "none none none", "manifest plain", f"unknown {refused}UnknownApplication",
                f"plan {1 << 30} 0 {planned['gpus'][0]['fit']} {planned['host']['fit']}", f"plan {refused}NoSuchGpu", "terms true",
                f"memory {gpu['memory']['physical']}", f"report {gpu['id']} {gpu['id']}",
                *("finding " + "|".join((each["id"], each["severity"], each["gpu"] or "", each["sentence"], each["fix"] or "",
                                         *each["commands"][:1])) for each in findings),
                f"call {plan}", "refused org.varlink.service.MethodNotFound"])
            self.assertTrue(findings)
            self.call("SetOverride", {"application": "default", "rule": {"strict": True}})
            (second,) = lines()
            generations = [int(re.fullmatch(r"change (\d+) ready", line)[1]) for line in (first, second)]
            self.assertGreater(generations[1], generations[0])
            self.end_daemon()
            asking.stdin.write("\n")
            asking.stdin.close()
            self.assertEqual(asking.stdout.read().splitlines(), [f"{name} {refused}Unavailable" for name in ("left", "watch", "nobody")])
            self.assertEqual(asking.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
