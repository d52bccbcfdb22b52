# SPDX-License-Identifier: Apache-2.0
"""Runs each example in docs/reference.md on each interface, and checks that all interfaces give the same answer.

GPUPROBE_ACCEPT=1 writes the answers to docs/reference-examples.json and generates the page again.
"""
import ctypes
import errno
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
sys.path[:0] = [str(SOURCE / "tools"), str(SOURCE / "src/python"), *(str(SOURCE / "tests/integration" / folder) for folder in ("bus", "socket"))]
from bus_case import BIN, BusCase  # noqa: E402
from socket_case import MACHINES, Client, Refused  # noqa: E402
from interface_reference.calls import arguments, gpu_path  # noqa: E402
from interface_reference.page import shown, without_moment  # noqa: E402

PAGE = SOURCE / "docs/reference.md"
EXAMPLES = SOURCE / "docs/reference-examples.json"
TYPES = BIN.parent / "generated/interface/types.json"
NODE = os.environ.get("GPUPROBE_NODE") or shutil.which("node")
SANITIZERS = os.environ.get("GPUPROBE_SANITIZE")
PATH = f"{BIN}:/usr/bin:/bin"
DATA = json.loads(EXAMPLES.read_text(encoding="utf-8"))
# Calls that are refused: (method, parameters, error). The page must list the error in the section about the method.
NOT_A_GPU = {"gpu": "pci:none"}
REFUSALS = [
    ("GetGpu", NOT_A_GPU, "NoSuchGpu"), ("GetMemory", NOT_A_GPU, "NoSuchGpu"), ("GetIdentifiers", NOT_A_GPU, "NoSuchGpu"),
    ("Select", {"application": "nothing"}, "UnknownApplication"), ("Select", {"request": {"gpus": ["pci:none"]}}, "NoSuchGpu"),
    ("Select", {"request": {"onyl": ["cuda"]}}, "InvalidRequest"), ("Select", {"request": {"only": ["sycl"]}}, "NoMatch"),
    ("Recommend", {"application": "nothing"}, "UnknownApplication"), ("Recommend", {"application": "default"}, "NotFound"),
    ("Recommend", {"manifest": "{}"}, "MalformedManifest"),
    ("Recommend", {"manifest": " " * (1 << 20) + "{}"}, "TooLarge"), ("Recommend", {"application": "torch", "request": {"onyl": []}}, "InvalidRequest"),
    ("Plan", {}, "InvalidRequest"), ("Plan", {"need": 1, "gpus": ["pci:none"]}, "NoSuchGpu"),
    ("Plan", {"model": " " * (1 << 20) + "{}"}, "TooLarge"), ("Plan", {"need": 1, "request": {"application": "nothing"}}, "UnknownApplication"),
    ("Plan", {"need": 1, "request": {"application": "shimmy-v2"}}, "NoMatch"),
    ("Query", {"terms": ["nothing>=1"]}, "InvalidRequest"), ("Query", {"terms": [], "gpus": ["pci:none"]}, "NoSuchGpu"),
    ("Probe", {"stage": "nothing"}, "InvalidRequest"), ("Probe", {"gpus": ["pci:none"]}, "NoSuchGpu"),
    ("ReportOutcome", {"application": "ollama", "outcome": "ok"}, "InvalidRequest"),
    ("ReportOutcome", {"application": "nothing", "outcome": "ok", "backend": "cuda"}, "UnknownApplication"),
    ("ReportOutcome", {"application": "ollama", "outcome": "ok", "backend": "cuda", "gpu": "pci:none"}, "NoSuchGpu"),
    ("SetOverride", {"application": "nothing", "rule": {"deny": ["cuda"]}}, "UnknownApplication"),
    ("SetOverride", {"application": "ollama", "rule": {"gpus": ["pci:none"]}}, "NoSuchGpu"),
    ("SetOverride", {"application": "ollama", "rule": {}}, "InvalidRequest"), ("ClearQuarantine", {}, "InvalidRequest"),
    ("Subscribe", {}, "ExpectedMore"),
]
# Errors that this test cannot cause, because they need a full disk, another caller or machine, or many calls.
NOT_PROVOKED = {"Failed", "NotAuthorized", "WouldWake", "TooManyRequests", "TooLarge"}


class Section:
    """Parses the page's section about a method: the calls of the method by interface, the errors, and the lines of the answer."""

    def __init__(self, name, text):
        self.name = name
        cells = re.findall(r"^\| (gpuprobectl|D-Bus|socket|Python|Node|C|C\+\+) \| (.*) \|$", text, re.M)
        self.calls = {interface: re.findall(r"`([^`]*)`", codes) for interface, codes in cells}
        self.errors = re.findall(r"`(\w+)`", re.search(r"^- \[Errors\]\(#errors\): (.*)$", text, re.M)[1])
        self.answer = re.search(r"^```\n(.*?)\n```$", text, re.M | re.S)[1].split("\n")


def sections():
    methods = PAGE.read_text(encoding="utf-8").split("\n## Methods\n")[1].split("\n## Types\n")[0]
    return [Section(*part.split("\n", 1)) for part in methods.split("\n### ")[1:]]


def program(language):
    """Returns the program in a given language on the page."""
    return re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)[1]


def with_call(text, call, replacement):
    """Returns the program with its call replaced by another call."""
    if text.count(call) != 1:
        raise AssertionError(f"the program on the page must contain exactly once: {call}")
    return text.replace(call, replacement)


class ReferenceCase(BusCase):
    """Base class of tests with a daemon that replays the machine of the examples. The daemon's answers on the socket are the expected answers."""
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.start("--replay", str(MACHINES / DATA["machine"]), f"--socket={self.socket}")
        self.environment_of_calls = {"PATH": PATH, "HOME": self.folder, "LANG": "C.UTF-8", "GPUPROBE_SOCKET": self.socket,
                                     "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address, "LD_LIBRARY_PATH": str(BIN)}

    def on_socket(self, section):
        """Returns the answer to the call that the page shows for the socket."""
        self.prepare(section)
        with Client(self.socket) as client:
            client.send_raw(section.calls["socket"][0].encode() + b"\0")
            return client.receive()["parameters"]

    def prepare(self, section):
        """Calls the methods that must be called before the call of the example."""
        for name in DATA["examples"][section.name].get("after", []):
            with Client(self.socket) as client:
                client.call(name, DATA["examples"][name]["parameters"])

    def run_command(self, *words, **options):
        done = subprocess.run(words, env=self.environment_of_calls, capture_output=True, text=True, timeout=60, check=False, **options)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done.stdout

    def check(self, interface, answer_of, has=lambda section: True):
        """Compares the answers of an interface with the answers on the socket."""
        compared = 0
        for section in sections():
            if interface in section.calls and has(section):
                with self.subTest(section.name):
                    wanted = without_moment(self.on_socket(section))
                    self.prepare(section)
                    self.assertEqual(without_moment(answer_of(section, section.calls[interface])), wanted)
                    compared += 1
        return compared

    def first_line(self, *words):
        """Returns the first line of output of a program that does not end by itself."""
        with subprocess.Popen(words, env=self.environment_of_calls, stdout=subprocess.PIPE, text=True) as process:
            try:
                return process.stdout.readline()
            finally:
                process.kill()


class ReferencePage(ReferenceCase):
    def test_the_answers_are_those_of_the_socket(self):
        if os.environ.get("GPUPROBE_ACCEPT") == "1":
            self.accept()
        for section in sections():
            with self.subTest(section.name):
                self.assertEqual(section.answer, shown(self.on_socket(section)), "read the difference, then run with GPUPROBE_ACCEPT=1")

    def accept(self):
        # First, write the parameters in the file to the calls on the page; then record the answers to these calls.
        write = [SOURCE / "tools/interface-files", "--write", "reference", TYPES]
        subprocess.run(write, check=True)
        data = json.loads(EXAMPLES.read_text(encoding="utf-8"))
        for section in sections():
            data["examples"][section.name]["answer"] = shown(self.on_socket(section))
        EXAMPLES.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        subprocess.run(write, check=True)

    def test_gpuprobectl_prints_them(self):
        compared = self.check("gpuprobectl", lambda _, codes: json.loads(self.run_command("/bin/bash", "-c", codes[0])))
        self.assertGreater(compared, 15)

    def test_python_returns_them(self):
        import gpuprobe

        class Done(Exception):
            pass

        def answer_of(section, codes):
            printed = []

            def keep(answer):
                printed.append(answer)
                raise Done  # otherwise, a subscription would never end

            own = 'print(client.call("ListApplications"))'
            code = codes[0] if section.name == "Subscribe" else f"print({codes[0]})"
            with self.assertRaises(Done):
                exec(with_call(program("python"), own, code), {"print": keep, "gpuprobe": gpuprobe})
            return printed[0]

        with mock.patch.dict(os.environ, self.environment_of_calls):
            self.assertGreater(self.check("Python", answer_of), 15)

def errors():
    """Returns {error: (code in C, class of the exception, exit status)} from the table on the page."""
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(-E\w+)` \| `(\w+)` \| (\d) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    return {error: (code, exception, int(status)) for error, code, exception, status in rows}


class ReferenceErrors(ReferenceCase):
    def test_each_error_of_a_method_can_be_had(self):
        listed = {section.name: set(section.errors) for section in sections()}
        provoked = {name: set() for name in listed}
        for method, parameters, error in REFUSALS:
            with self.subTest(method=method, error=error), Client(self.socket) as client:
                with self.assertRaises(Refused) as caught:
                    client.call(method, parameters)
                self.assertEqual(caught.exception.name.rpartition(".")[2], error)
                self.assertIn(error, listed[method])
                provoked[method].add(error)
        for method, missing in {method: listed[method] - provoked[method] for method in listed}.items():
            self.assertLessEqual(missing, NOT_PROVOKED, method)

    def test_gpuprobectl_ends_with_the_status_of_the_table(self):
        for method, parameters, error in REFUSALS:
            with self.subTest(method=method, error=error):
                done = subprocess.run([BIN / "gpuprobectl", "call", method, "-"], input=json.dumps(parameters), env=self.environment_of_calls,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(json.loads(done.stdout)["error"]["name"].rpartition(".")[2], error)
                self.assertEqual(done.returncode, errors()[error][2])

    def test_python_raises_the_exception_of_the_table(self):
        import gpuprobe
        for method, parameters, error in REFUSALS:
            with self.subTest(method=method, error=error), gpuprobe.Client(self.socket, daemon_only=True) as client:
                with self.assertRaises(gpuprobe.Refused) as caught:
                    client.call(method, parameters)
                self.assertEqual(type(caught.exception).__name__, errors()[error][1])

    @unittest.skipIf(SANITIZERS, "Python does not load the sanitizers' library first")
    def test_the_c_library_returns_the_code_of_the_table(self):
        library = ctypes.CDLL(str(BIN / "libgpuprobe.so.1"))
        client = ctypes.c_void_p()
        self.assertEqual(library.gpuprobe_open(ctypes.byref(client), self.socket.encode(), 1), 0)
        self.addCleanup(library.gpuprobe_close, client)
        for method, parameters, error in REFUSALS:
            with self.subTest(method=method, error=error):
                code = library.gpuprobe_call(client, method.encode(), json.dumps(parameters).encode(), None)
                self.assertEqual(f"-{errno.errorcode[-code]}", errors()[error][0])


@unittest.skipUnless(TYPES.exists(), "the types of the interface are not built")
class ReferenceOnBus(ReferenceCase):
    def setUp(self):
        super().setUp()
        document = json.loads(TYPES.read_text(encoding="utf-8"))
        self.methods = {method["name"]: method for method in document["methods"]}
        self.definitions = {definition["name"]: definition for definition in document["definitions"]}

    def test_dbus_answers_the_same(self):
        compared = 0
        for section in sections():
            for form, code in zip(self.methods[section.name]["bus"], section.calls.get("D-Bus", []), strict=True):
                with self.subTest(section.name, member=form["member"]):
                    answer = self.on_socket(section)
                    self.prepare(section)
                    printed = self.run_command("/bin/bash", "-c", code.replace("busctl call", "busctl --json=short call"))
                    self.assertEqual(without_moment_on_bus(bus_values(printed, form)),
                                     without_moment_on_bus(self.wanted(section.name, form, answer)))
                    compared += 1
        self.assertGreater(compared, 15)

    def wanted(self, method, form, answer):
        """Returns the values of the D-Bus reply that corresponds to an answer on the socket."""
        members = {member["name"]: member["type"] for member in self.methods[method]["result"]}
        values = []
        for name, signature in arguments(form["out"]):
            if signature == "h":
                continue
            if name == "json":
                values.append(answer)
            elif name == "answer":
                hidden = {*form["explained"].split(), *(key for key in form["optional"].split() if not answer[key])}
                values.append(self.record({key: value for key, value in answer.items() if key not in hidden}, members))
            elif signature == "ao":
                values.append([gpu_path(gpu["id"]) for gpu in answer[name]])
            else:
                value = self.translated(answer[name], members[name])
                values.append({bus_key(key): each for key, each in value.items()} if signature == "a{ss}" else value)
        return values

    def record(self, value, members):
        return {bus_key(key): self.translated(each, members[key], key) for key, each in value.items() if each is not None}

    def translated(self, value, kind, key=""):
        word = kind["kind"]
        if word == "nullable":
            return self.translated(value, kind["item"], key)
        if word == "list":
            return [self.translated(each, kind["item"], key) for each in value]
        if word == "map":
            return {name: self.translated(each, kind["item"]) for name, each in value.items()}
        if word == "named" and self.definitions[kind["name"]]["members"]:
            return self.record(value, {member["name"]: member["type"] for member in self.definitions[kind["name"]]["members"]})
        if word == "json":
            return without_null(value)
        return gpu_path(value) if key in ("gpu", "gpus") else value


def bus_key(key):
    return "".join(word[:1].upper() + word[1:] for word in key.split("_"))


def without_null(value):
    """Converts a JSON value as for D-Bus, which has no null: an empty list replaces null."""
    if isinstance(value, dict):
        return {key: without_null(each) for key, each in value.items()}
    return [without_null(each) for each in value] if isinstance(value, list) else [] if value is None else value


def bus_values(printed, form):
    """Returns the values that busctl prints, without their types."""
    def plain(value):
        if isinstance(value, dict):
            return plain(value["data"]) if value.keys() == {"type", "data"} else {key: plain(each) for key, each in value.items()}
        return [plain(each) for each in value] if isinstance(value, list) else value

    values = plain(json.loads(printed)["data"]) if form["out"] and not form["out"].endswith(":h") else []
    return [json.loads(value) if form["out"].startswith("json:") else value for value in values]


def without_moment_on_bus(value):
    """Like without_moment(), but for keys of D-Bus."""
    if isinstance(value, list):
        return [without_moment_on_bus(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: 0 if re.fullmatch(r"[Gg]eneration|\w+Usec|\w+_usec|SetByUid", key) else without_moment_on_bus(each) for key, each in value.items()}


@unittest.skipUnless(NODE, "node is not installed")
class ReferenceInNode(ReferenceCase):
    def test_node_returns_them(self):
        folder = pathlib.Path(self.folder, "node")
        (folder / "node_modules").mkdir(parents=True)
        (folder / "node_modules/gpuprobe").symlink_to(SOURCE / "src/node")
        file = folder / "example.mjs"

        def answer_of(section, codes):
            code = codes[0] if section.name == "Subscribe" else f"console.log({codes[0]});"
            text = with_call(program("js"), 'console.log(await client.call("ListApplications"));', code)
            file.write_text('console.log = (answer) => process.stdout.write(JSON.stringify(answer) + "\\n");\n' + text, encoding="utf-8")
            return json.loads(self.first_line(NODE, file))

        self.assertGreater(self.check("Node", answer_of), 15)


class ReferenceInC(ReferenceCase):
    """Tests with one program that contains all examples, and whose argument is the name of the method to call."""

    def built(self, compiler, name, text):
        source = pathlib.Path(self.folder, name)
        source.write_text(text, encoding="utf-8")
        words = [f"-fsanitize={SANITIZERS}"] if SANITIZERS else []  # the library is built with these sanitizers
        self.run_command("/usr/bin/env", *compiler, "-Wall", "-Wextra", "-Werror", *words, f"-I{SOURCE / 'include'}", f"-I{TYPES.parent}", f"-L{BIN}", source,
                         "-o", source.with_suffix(""), "-lgpuprobe")
        return source.with_suffix("")

    def test_c_returns_them(self):
        cases = "".join(f'if (strcmp(words[1], "{section.name}") == 0) {self.statement(section.calls["C"])}\n' for section in sections())
        text = with_call(program("c"), 'code = gpuprobe_call(client, "ListApplications", NULL, &json);', "{\n" + cases + "}")
        text = with_call(text, "int main(void) {", "int main(int count, char** words) {\n(void)count;")
        example = self.built(("cc",), "example.c", "#include <poll.h>\n#include <string.h>\n" + text)
        self.assertGreater(self.check("C", lambda section, _: json.loads(self.run_command(example, section.name))), 15)

    @staticmethod
    def statement(codes):
        if len(codes) == 1:
            return f"code = {codes[0]};"
        watch, following = codes
        return f"{{ struct pollfd ready = {{{watch}, POLLIN, 0}}; poll(&ready, 1, -1); code = {following} < 0; }}"


class ReferenceInCpp(ReferenceInC):
    test_c_returns_them = None

    def test_cpp_returns_them(self):
        cases = "".join(f'if (std::strcmp(words[1], "{section.name}") == 0) {self.statement(section.calls["C++"])}\n' for section in sections())
        text = with_call(program("cpp"), "std::cout << client.call(\"ListApplications\") << '\\n';", cases)
        text = with_call(text, "int main() {", "int main(int, char** words) {")
        head = "#include <cstring>\n#include <poll.h>\n#include \"answer_json.h\"\n"
        example = self.built(("c++", "-std=c++20", f"-I{SOURCE / 'tests/integration/docs'}"), "example.cpp", head + text)
        for section in sections():
            with self.subTest(section.name):
                wanted = known(without_moment(self.on_socket(section)))
                self.prepare(section)
                printed = self.run_command(example, section.name)
                self.assertEqual(known(without_moment(json.loads(printed))) if printed else wanted, wanted)

    @staticmethod
    def statement(codes):
        if len(codes) == 1:
            return f"answer_json::print([&] {{ return {codes[0]}; }});"
        watch, following = codes
        return f"{{ pollfd ready{{{watch}, POLLIN, 0}}; poll(&ready, 1, -1); answer_json::print([&] {{ return {following}; }}); }}"


def known(value):
    """Removes unknown and empty members, which a C++ struct cannot leave out, and private members of manifests, which a C++ struct does
    not have."""
    if isinstance(value, list):
        return [known(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: known(each) for key, each in value.items() if each not in (None, [], {}) and not key.startswith("x-")}


if __name__ == "__main__":
    unittest.main()
