# SPDX-License-Identifier: Apache-2.0
"""Tests that every interface gives the same answer: the socket, the C library, the Python package (blocking and with asyncio), the
Node package, the clients for Go and Rust (with and without types), D-Bus, and gpuprobectl with the socket and in direct mode. With
GPUPROBE_PORTABLE=FILE, the portable program is also tested.

GPUPROBE_INTERFACES=500 makes 500 calls on every recorded machine, and GPUPROBE_INTERFACES=500:nvidia-h200-1 makes 500 calls on one
machine. Without GPUPROBE_INTERFACES, the test makes one call of each kind on three machines. The test prints a table of interfaces. All bytes of an
answer must be equal, with these exceptions:

- answers of the Node package are compared as JSON values, because JavaScript writes 1 for 1.0 and sorts keys that look like numbers;
- answers of the Rust client, which sorts keys, are also compared as JSON values, as are answers that a client has read into types and
  written again, in which a missing member is null, and members of a manifest that have no type are lost;
- on D-Bus, a record is a dictionary, without an order and without unknown members; a GPU is an object path, or "/" if the GPU is
  faked; and if no candidate matches, the reply is an answer with a generation. The test converts the socket's answer to this form;
- a Varlink error is named next to its document on the socket, and inside the document on all other interfaces;
- generation, created_usec and free_at_usec depend on the process that answers.
"""
import asyncio
import collections
import ctypes
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(SOURCE / "src/python"), str(SOURCE / "tests/integration/socket"),
                str(SOURCE / "tests/support")]
import built_clients  # noqa: E402
import questions  # noqa: E402
from socket_case import BIN, DEADLINE, MACHINES, SocketCase  # noqa: E402
from bus_case import MANAGER, NAME, ROOT, Bus, Gio, GLib  # noqa: E402

import gpuprobe  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
NODE = os.environ.get("GPUPROBE_NODE") or shutil.which("node")
PORTABLE = os.environ.get("GPUPROBE_PORTABLE")
WANTED, _, ONE = os.environ.get("GPUPROBE_INTERFACES", "").partition(":")
MOMENTARY = re.compile(r'"generation":\d+|"(created|free_at)_usec":\d+')


def machines():
    if ONE:
        return [MACHINES / ONE]
    if WANTED:
        return sorted(file.parent for file in MACHINES.glob("*/capture.json"))
    return [MACHINES / name for name in ("nvidia-h100-mig-mixed", "pc-three-vendors", "software-only")]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Library:
    """A client of the C library, libgpuprobe.so.1."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(BIN / "libgpuprobe.so.1"))
        self.library.gpuprobe_call.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
        self.library.gpuprobe_free.argtypes = [ctypes.c_void_p]
        self.library.gpuprobe_close.argtypes = [ctypes.c_void_p]
        self.client = ctypes.c_void_p()
        if self.library.gpuprobe_open(ctypes.byref(self.client), path.encode(), 1) < 0:
            raise OSError("gpuprobe_open")

    def call(self, method, parameters):
        text = ctypes.c_void_p()
        self.library.gpuprobe_call(self.client, method.encode(), json.dumps(parameters).encode(), ctypes.byref(text))
        answer = ctypes.string_at(text.value).decode()
        self.library.gpuprobe_free(text)
        return answer

    def close(self):
        self.library.gpuprobe_close(self.client)


# D-Bus ------------------------------------------------------------------------------------------------------------

MAPS = ("environment", "answers")  # the keys of these members are data, such as names of variables, so they are not renamed


def camel(key):
    return "".join(word[:1].upper() + word[1:] for word in key.split("_"))


def path_of(gpu, paths):
    """Returns the object path of a GPU, or of a partition below the path of its GPU; "/" for an unknown GPU."""
    whole, _, unit = gpu.partition("/")
    return paths[whole] + (f"/{re.sub('[^A-Za-z0-9]', '_', unit)}" if unit else "") if whole in paths else "/"


def as_reason(reason, path_of_gpu):
    words = {key: value for key, value in reason.items() if key != "detail"}
    words["subject"] = as_dictionary(reason["subject"], path_of_gpu)
    return as_dictionary(words, path_of_gpu) | ({"Detail": as_data(reason["detail"])} if reason["detail"] else {})


def as_data(value):
    """Converts a JSON value as for D-Bus, which has no null: an empty list replaces null (src/wire/bus.h)."""
    if isinstance(value, dict):
        return {key: as_data(each) for key, each in value.items()}
    return [as_data(each) for each in value] if isinstance(value, list) else [] if value is None else value


def as_dictionary(record, path_of_gpu):
    found = {}
    for key, value in record.items():
        if value is None:
            continue
        if key in ("also", "also_environment") and not value:
            continue
        if key in ("gpu", "gpus", "also"):
            value = path_of_gpu(value) if key == "gpu" else [path_of_gpu(each) for each in value]
        elif key in ("reasons", "warnings"):
            value = [as_reason(each, path_of_gpu) for each in value]
        elif key == "candidates":
            value = [as_dictionary(each, path_of_gpu) for each in value]
        elif key not in MAPS:
            value = as_data(value)
        found[camel(key)] = value
    return found


def variant(value):
    if isinstance(value, bool):
        return GLib.Variant("b", value)
    if isinstance(value, int):
        return GLib.Variant("t" if value >= 0 else "x", value)
    if isinstance(value, list):
        return GLib.Variant("as", value)
    return GLib.Variant("a{ss}", value) if isinstance(value, dict) else GLib.Variant("s", value)


class BusInterface:
    def __init__(self, bus):
        self.connection = bus.connect()

    def call(self, method, parameters=None):
        return self.connection.call_sync(NAME, ROOT, MANAGER, method, parameters, None, Gio.DBusCallFlags.NONE, DEADLINE * 1000,
                                         None).unpack()[0]

    def asks(self, method, parameters):
        if method == "Plan":  # only the socket has these parameters
            return not {"need", "margin", "gpus"} & parameters.keys()
        return method in ("Describe", "Diagnose", "ListApplications", "Select", "Recommend")

    def plan(self, parameters):
        request = {key: variant(value) for key, value in parameters["request"].items()}
        return self.call("Plan", GLib.Variant("(a{sv}s)", (request, parameters.get("model", ""))))

    def dictionary(self, method, parameters):
        request = {key: variant(value) for key, value in parameters["request"].items()} | {"explain": GLib.Variant("b", True)}
        if method == "Select":
            return self.call("SelectBackend", GLib.Variant("(sa{sv})", (parameters["application"], request)))
        return self.call("RecommendVariant", GLib.Variant("(ssa{sv})", (parameters["application"], "", request)))

    def large_report(self):
        """Reads the report from a file descriptor, because the size of a reply is limited."""
        _, descriptors = self.connection.call_with_unix_fd_list_sync(
            NAME, ROOT, MANAGER, "DescribeFd", None, None, Gio.DBusCallFlags.NONE, DEADLINE * 1000, None, None)
        with os.fdopen(descriptors.get(0), "rb") as file:
            return file.read().decode()

    def answer(self, method, parameters):
        """Returns the answer on D-Bus: a JSON document or a dictionary, or the name and the message of an error."""
        try:
            if method in ("Select", "Recommend"):
                return self.dictionary(method, parameters)
            return self.plan(parameters) if method == "Plan" else self.call(method)
        except GLib.Error as problem:
            if method == "Describe" and (Gio.DBusError.get_remote_error(problem) or "").endswith(".TooLarge"):
                report = self.large_report()
                if len(report) <= 256 << 10:  # InlineBudget::kMaxReply
                    raise AssertionError(f"Describe is TooLarge for {len(report)} bytes") from problem
                return report
            return {"Name": Gio.DBusError.get_remote_error(problem), "Message": problem.message.partition(": ")[2]}


def wanted_of_bus(method, text, paths):
    """Converts an answer on the socket to the form that the answer has on D-Bus."""
    document = json.loads(text)
    if method == "ListApplications":
        return [{key.capitalize(): value for key, value in one.items() if value is not None} for one in document["applications"]]
    if method not in ("Select", "Recommend", "Plan"):
        return text
    no_match = document.get("name", "").endswith(".NoMatch") and method == "Select"
    if "message" in document and not no_match:
        return {"Name": document["name"], "Message": document["message"]}
    if method == "Plan":
        return text
    if no_match:
        document = {key: value for key, value in document.items() if key not in ("name", "message")}
        document |= {"backend": "", "gpus": []}
    wanted = as_dictionary(document, lambda gpu: path_of(gpu, paths))
    if wanted.get("Assumes"):
        wanted["Assumes"] = {key.capitalize(): value for key, value in document["assumes"].items() if value is not None}
    for key in ("Answers", "Messages", "Warnings", "Assumed") if method == "Select" else ("Assumed",):
        if not wanted.get(key):
            wanted.pop(key, None)
    return wanted


# {exit status: commands with names that do not exist}, as in the table of the manual page.
STATUSES = {
    1: ["show nothing", "show 0 nothing", "describe 99", "env nothing", "env default --gpu=nothing", "select nothing",
        "select default --gpu=nothing", "recommend nothing", "plan --memory=8MiB --gpu=nothing", "plan --memory=8MiB --application=nothing",
        "plan --gguf=/nonexistent", "probe nothing", "bench nothing", "selector nothing cu128 --orchestrator=nfd", "export pip nothing",
        "export prometheus nothing", "override set default --gpu=nothing", "report-outcome default ok --backend=cpu --gpu=nothing",
        "watch 4194304 --once"],
    2: ["nothing", "select default --backend=nothing", "select default --only=nothing", "select default --exclude=nothing",
        "select default --require=nothing>=1", "select llama.cpp --installed=nothing", "recommend torch --force=nothing",
        "selector torch nothing --orchestrator=nfd", "selector torch cu128 --orchestrator=nothing", "selector torch cu128 --orchestrator=nfd --platform=nothing",
        "export nothing", "probe --api=nothing", "bench --api=vulkan,nothing", "quarantine clear nothing",
        "override set default --backend=nothing", "report-outcome default ok --backend=nothing",
        "report-outcome llama.cpp ok --variant=nothing", "run default --expect=nothing -- true", "help nothing"],
    125: ["run nothing -- true", "run default --gpu=nothing -- true"],
}
# Commands whose requirements the recorded machine does not meet, or for which the recorded machine has no data.
UNSATISFIED = ["select default --backend=rocm --strict", "select default --memory=1TiB --strict", "recommend torch --only=nothing",
               "plan --memory=99999999MiB", "env 0"]


class Interfaces(SocketCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = {}
        if not built_clients.go_problem():
            cls.programs["Go"] = built_clients.go_program(HERE / "ask.go")
        if not built_clients.rust_problem():
            cls.programs["Rust"] = built_clients.rust_program(HERE / "ask.rs")

    def test_are_complete(self):
        for problem in (built_clients.go_problem(), built_clients.rust_problem(), None if NODE else "node is not installed"):
            if problem:
                self.skipTest(problem)

    def start_on(self, *options):
        bus = Bus(self.folder)
        self.addCleanup(bus.stop)
        self.daemon = subprocess.Popen(
            [BIN / "gpuprobed", f"--bus={bus.address}", f"--socket={self.path}", "--no-cache", *options],
            env=self.environment(), stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_daemon)
        self.notify.wait_for("READY=1", self.daemon)
        return bus

    def printed(self, where, words, program=BIN / "gpuprobectl"):
        done = subprocess.run([program, where, "-j", "-q", *words], env=self.environment(), capture_output=True, text=True, timeout=60, check=False)
        text = done.stdout.removesuffix("\n")
        return text.removeprefix('{"error":').removesuffix("}") if text.startswith('{"error":') else text

    def by_program(self, asked, *command):
        """Runs a program that makes all calls, and returns the lines of the program's output."""
        file = pathlib.Path(self.folder, "questions.json")
        file.write_text(json.dumps([question[:2] for question in asked]), encoding="utf-8")
        done = subprocess.run([*command, self.path, file], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def assert_typed(self, machine, asked, told, language, program):
        """Checks the two lines that a program prints for each call: the answer as received, and the answer after the client has read it into
        types."""
        lines = self.by_program(asked, program)
        self.assertEqual(len(lines), 2 * len(asked))
        for question, text, plain, typed in zip(asked, told, lines[::2], lines[1::2]):
            wanted = json.loads(text)
            self.count(machine, question, language, plain == text if language == "Go" else json.loads(plain) == wanted, plain, text)
            if typed != "null":
                same = as_typed(json.loads(typed)) == as_typed(wanted)
                self.count(machine, question, f"{language}, typed", same, typed, text)

    def by_python(self, client, method, parameters):
        try:
            return compact(client.call(method, parameters))
        except gpuprobe.Refused as refused:
            return compact(refused.details)

    async def by_asyncio(self, asked):
        answers = []
        async with gpuprobe.AsyncClient(self.path, daemon_only=True) as client:
            for method, parameters, _ in asked:
                try:
                    answers.append(compact(await client.call(method, parameters)))
                except gpuprobe.Refused as refused:
                    answers.append(compact(refused.details))
        return answers

    def assert_same(self, machine, question, interface, found, told, is_moment=False):
        if is_moment:
            found, told = MOMENTARY.sub("", found), MOMENTARY.sub("", told)
        self.count(machine, question, interface, found == told, found, told)

    def count(self, machine, question, interface, is_same, found, told):
        """Counts the calls and the machines of each interface, and stores the differences between answers."""
        self.asked[interface] += 1
        self.machines[interface].add(machine.name)
        if not is_same:
            self.different.append((machine.name, interface, str(question[:2])[:400], shorter(found, told)))

    def ask_all(self, machine, count):
        bus = self.start_on(f"--replay={machine}")
        with self.client(timeout=60) as socket, gpuprobe.Client(self.path, daemon_only=True) as python:
            report = json.loads(socket.text_of("Describe", {}))
            asked = list(itertools.islice(self.questions(report), count))
            told = [socket.text_of(method, parameters) for method, parameters, _ in asked]
            named = [with_name(method, text) for (method, _, _), text in zip(asked, told)]
            library, on_bus = Library(self.path), BusInterface(bus)
            self.addCleanup(library.close)
            paths = dict(zip((gpu["id"] for gpu in json.loads(socket.text_of("ListGpus", {}))["gpus"]),
                             on_bus.call("ListGpus", GLib.Variant("(a{sv})", ({},)))))
            for question, text, with_its_name in zip(asked, told, named):
                method, parameters, _ = question
                by_library = library.call(method, parameters)
                by_library = by_library.removeprefix('{"error":').removesuffix("}") if by_library.startswith('{"error":') else by_library
                self.assert_same(machine, question, "C", by_library, with_its_name)
                self.assert_same(machine, question, "Python", self.by_python(python, method, parameters), text)
                if on_bus.asks(method, parameters):
                    self.assert_bus(machine, question, on_bus, text, paths)
                self.assert_programs(machine, question, with_its_name)
            for question, text, found in zip(asked, told, asyncio.run(self.by_asyncio(asked))):
                self.assert_same(machine, question, "Python, asyncio", found, text)
            by_node = self.by_program(asked, NODE, HERE / "ask.mjs", SOURCE / "src/node/gpuprobe.js") if NODE else []
            for question, text, line in zip(asked, told, by_node):
                self.count(machine, question, "Node", json.loads(line) == json.loads(text), line, text)
            for language, program in self.programs.items():
                self.assert_typed(machine, asked, told, language, program)
        self.end_daemon()
        self.doCleanups()
        self.setUp()
        return len(asked)

    def questions(self, report):
        first = questions.first([gpu["id"] for gpu in report["gpus"]])
        return itertools.chain(first, questions.further(report))

    def assert_bus(self, machine, question, on_bus, text, paths):
        found, wanted = on_bus.answer(*question[:2]), wanted_of_bus(question[0], text, paths)
        if isinstance(wanted, dict) and wanted.get("Backend") == "":
            found.pop("Generation", None)
        self.count(machine, question, "D-Bus", found == wanted, *(json.dumps(each, sort_keys=True) for each in (found, wanted)))

    def assert_programs(self, machine, question, text):
        method, parameters, words = question
        said = words or ["call", method, json.dumps(parameters)]
        interfaces = {"gpuprobectl --socket": f"--socket={self.path}", "gpuprobectl --replay": f"--replay={machine}"}
        for interface, where in interfaces.items():
            self.assert_same(machine, question, interface, self.printed(where, said), text, interface.endswith("replay"))
        if PORTABLE:
            self.assert_same(machine, question, "portable", self.printed(f"--replay={machine}", said, PORTABLE), text, True)

    def table(self):
        rows = [f"| {interface} | {count:,} | {len(self.machines[interface])} | {sum(interface == each[1] for each in self.different)} |"
                for interface, count in self.asked.items()]
        return "\n".join(["| interface beside the socket | answers compared | captures | differences |", "| --- | --- | --- | --- |", *rows])

    def test_read_what_slows_a_gpu_down_when_they_are_asked(self):
        machine = pathlib.Path(self.folder, "hot")
        shutil.copytree(MACHINES / "lact-intel-b580", machine, symlinks=True)
        throttle = next(machine.glob("root/sys/devices/*/0000:09:00.0")) / "tile0/gt0/freq0/throttle"
        throttle.mkdir(parents=True)
        for name, text in (("status", "1"), ("reason_thermal", "1"), ("reason_pl1", "0")):
            (throttle / name).write_text(text + "\n", encoding="utf-8")
        self.start_on(f"--replay={machine}")
        for interface in (f"--socket={self.path}", f"--replay={machine}"):
            found = {each["id"]: each["evidence"] for each in json.loads(self.printed(interface, ["doctor"]))["findings"]}
            self.assertEqual(found.get("slowed-by-heat", {}).get("slowdowns"), "thermal", interface)
        with self.client() as socket:
            self.assertIn("slowed-by-heat", socket.text_of("Diagnose", {}))
        self.end_daemon()
        on_bus = BusInterface(self.start_on(f"--replay={machine}"))
        self.assertIn("slowed-by-heat", on_bus.call("Diagnose"))

    def test_look_around_this_machine_alike(self):
        on_bus = BusInterface(self.start_on())
        with self.client() as socket:
            told = socket.text_of("Diagnose", {})
            self.assertEqual(on_bus.call("Diagnose"), told)
            hidden = socket.text_of("Diagnose", {"environment": {"VK_DRIVER_FILES": "/nothing.json"}})
            self.assertIn("drivers-overridden", hidden)
            self.assertNotIn("drivers-overridden", told)

    def test_exit_with_the_same_status(self):
        machine = f"--replay={MACHINES / 'pc-three-vendors'}"
        self.start_on(machine)
        interfaces = ["--direct", machine, f"--socket={self.path}"]
        rows = [(status, line.split(), interface) for status, lines in STATUSES.items() for line in lines for interface in interfaces]
        rows += [(3, line.split(), interface) for line in UNSATISFIED for interface in interfaces[1:]]
        different = [f"{interface} {' '.join(words)}: {found.returncode}, not {status}: {found.stderr}{found.stdout}"
                     for status, words, interface in rows for more in ([], ["-j"])
                     if (found := self.gpuprobectl(interface, *more, *words)).returncode != status]
        self.assertEqual("\n".join(different), "")

    def test_give_the_same_answers(self):
        self.different, self.asked, self.machines = [], collections.Counter(), collections.defaultdict(set)
        asked = sum(self.ask_all(machine, int(WANTED or 30)) for machine in machines())
        told = "\n".join(str(each) for each in self.different[:8])
        self.assertEqual(len(self.different), 0, f"of {asked} questions:\n{told}")
        print(self.table())


def with_name(method, text):
    """Returns the document in an answer. If the answer is a Varlink error, adds the name of the error to the document."""
    errors = {'{"parameter":': "InvalidParameter", '{"method":': "MethodNotFound"}
    name = next((name for start, name in errors.items() if text.startswith(start)), None)
    return f'{{"name":"org.varlink.service.{name}",{text[1:]}' if name else text


def as_typed(value):
    """Removes unknown members from a document, and members of a manifest that have no type, such as x-archive."""
    if isinstance(value, dict):
        return {key: as_typed(each) for key, each in value.items() if each is not None and not key.startswith("x-")}
    return [as_typed(each) for each in value] if isinstance(value, list) else value


def shorter(found, told):
    """Returns the part of each of two strings around the first difference."""
    at = next((at for at, (one, other) in enumerate(zip(found, told)) if one != other), min(len(found), len(told)))
    return found[max(0, at - 60):at + 80], told[max(0, at - 60):at + 80]


if __name__ == "__main__":
    unittest.main()
