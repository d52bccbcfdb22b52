# SPDX-License-Identifier: Apache-2.0
"""Tests the answers on the socket, the permissions of callers, and clients that violate the protocol."""
import ctypes
import json
import os
import pathlib
import re
import unittest

from socket_case import MACHINES, H200, Client, Refused, SocketCase

NAME = re.compile(r"[A-Za-z](?:_?[A-Za-z0-9])*\Z")


class Answers(SocketCase):
    def test_tells_who_answers(self):
        self.start()
        info = self.call("org.varlink.service.GetInfo")
        self.assertEqual(info["interfaces"], ["org.varlink.service", "org.gpuprobe"])
        self.assertEqual((info["product"], info["url"]), ("gpuprobe", "man:gpuprobed(8)"))

    def test_describes_each_interface_in_varlinks_grammar(self):
        self.start()
        for interface in self.call("org.varlink.service.GetInfo")["interfaces"]:
            text = self.call("org.varlink.service.GetInterfaceDescription", {"interface": interface})["description"]
            self.assertEqual(parse_description(text)["name"], interface)
        self.assertEqual(self.refused("org.varlink.service.GetInterfaceDescription", {"interface": "a.b"}).name,
                         "org.varlink.service.InterfaceNotFound")

    def test_answers_as_its_description_says(self):
        self.start()
        text = self.call("org.varlink.service.GetInterfaceDescription", {"interface": "org.gpuprobe"})["description"]
        interface = parse_description(text)
        gpu = self.call("ListGpus")["gpus"][0]["id"]
        calls = {"Describe": {}, "ListGpus": {}, "ListApplications": {}, "Diagnose": {},
                 "Select": {"application": "ollama"}, "Recommend": {"application": "torch"}, "Plan": {"need": 1 << 33},
                 "Query": {"terms": ["driver>=550", "glibc>=2.17"]}, "GetMemory": {"gpu": gpu},
                 "ListOverrides": {}, "ListQuarantine": {}, "Probe": {}}
        for method, parameters in calls.items():
            with self.subTest(method):
                answer = self.call(method, parameters)
                check_type(interface, interface["methods"][method][1], answer, method)

    def test_selects(self):
        self.start()
        answer = self.call("Select")
        self.assertEqual((answer["application"], answer["backend"]), ("default", "cuda"))
        self.assertEqual(self.call("Select", {"request": {"min_memory": 1 << 30}}),
                         self.call("Select", {"request": {"min-memory": 1 << 30}}))
        refused = self.refused("Select", {"request": {"only": ["sycl"]}})
        self.assertEqual(refused.name, "org.gpuprobe.NoMatch")
        self.assertTrue(refused.parameters["candidates"])
        self.assertIn("did you mean 'default'", self.refused("Select", {"application": "defualt"}).parameters["message"])
        self.assertEqual(self.refused("Select", {"request": {"onyl": []}}).name, "org.gpuprobe.InvalidRequest")

    def test_holds_terms_against_the_gpus_that_are_named_and_no_others(self):
        self.start(machine=MACHINES / "nvidia-h200-2")
        gpus = [gpu["id"] for gpu in self.call("ListGpus")["gpus"]]
        terms = ["driver>=550", "glibc>=2.17"]

        def asked(parameters):
            return [(item["term"], item["gpu"]) for item in self.call("Query", {"terms": terms, **parameters})["terms"]]

        of_host = [("glibc>=2.17", None)]
        self.assertEqual(asked({}), [("driver>=550", gpu) for gpu in gpus] + of_host)
        self.assertEqual(asked({"gpus": None}), asked({}))
        self.assertEqual(asked({"gpus": gpus[1:]}), [("driver>=550", gpus[1])] + of_host)
        self.assertEqual(asked({"gpus": []}), of_host)
        self.assertEqual(self.call("Query", {"terms": terms[:1], "gpus": []})["terms"], [])

    def test_refuses_what_it_does_not_know(self):
        self.start()
        for method, name in (("Nothing", "MethodNotFound"), ("org.example.Select", "InterfaceNotFound"),
                             ("org.gpuprobe", "InterfaceNotFound"), ("org.gpuprobe.", "MethodNotFound")):
            self.assertEqual(self.refused(method if "." in method else "org.gpuprobe." + method).name,
                             "org.varlink.service." + name)
        for method, parameters, wrong in (("Select", {"application": 1}, "application"), ("Select", {"what": 1}, "what"),
                                          ("Select", {"request": []}, "request"), ("GetMemory", {}, "gpu"),
                                          ("Query", {"terms": [1]}, "terms"), ("Plan", {"need": -1}, "need")):
            refused = self.refused(method, parameters)
            message = refused.parameters.pop("message")
            self.assertEqual((refused.name, refused.parameters),
                             ("org.varlink.service.InvalidParameter", {"parameter": wrong}))
            self.assertTrue(message.startswith(wrong), message)
        self.assertEqual(self.refused("Subscribe").name, "org.varlink.service.ExpectedMore")
        self.assertEqual(self.refused("GetMemory", {"gpu": "pci:nowhere"}).name, "org.gpuprobe.NoSuchGpu")

    def test_answers_calls_in_their_order(self):
        self.start()
        client = self.client()
        client.send("Select", {"application": "ollama"}, oneway=True)
        client.send("Subscribe", oneway=True, more=True)
        for index in range(50):
            client.send("Select", {"application": ("default", "ollama")[index % 2]})
        for index in range(50):
            self.assertEqual(client.receive()["parameters"]["application"], ("default", "ollama")[index % 2])

    def test_takes_a_call_in_any_pieces(self):
        self.start()
        client = self.client()
        for byte in b'{"method":"org.gpuprobe.ListApplications"}\0':
            client.send_raw(bytes([byte]))
        names = [application["name"] for application in client.receive()["parameters"]["applications"]]
        self.assertIn("default", names)

    def test_answers_one_who_says_that_this_was_all(self):
        self.start()
        client = self.client()
        client.send("Recommend", {"application": "torch"})
        client.socket.shutdown(1)
        self.assertEqual(client.receive()["parameters"]["application"], "torch")
        self.assertRaises(EOFError, client.receive)

    def test_shows_progress_of_a_probe_to_who_wants_it(self):
        self.start()
        client = self.client()
        client.send("Probe", {}, more=True)
        while (reply := client.receive()).get("continues"):
            self.assertIsNone(reply["parameters"]["generation"])
        self.assertTrue(reply["parameters"]["probes"])

    def test_tells_subscribers_of_the_present_state(self):
        self.start()
        client = self.client()
        client.send("Subscribe", more=True)
        reply = client.receive()
        self.assertTrue(reply["continues"])
        self.assertEqual(reply["parameters"]["state"], "ready")

    def test_tells_subscribers_of_changes(self):
        self.start(f"--state-dir={self.folder}")
        client = self.client()
        client.send("Subscribe", more=True)
        first = client.receive()["parameters"]["generation"]
        self.call("SetOverride", {"application": "default", "rule": {"only": ["cpu"]}})
        self.assertGreater(client.receive()["parameters"]["generation"], first)
        self.assertEqual(self.call("Select")["backend"], "cpu")  # not the cached earlier answer
        self.assertEqual(self.call("ListOverrides")["overrides"]["default"]["rule"], {"only": ["cpu"]})
        self.assertEqual(self.call("ClearOverride", {"application": "default"}),
                         {"application": "default", "cleared": True})
        self.assertEqual(self.call("Select")["backend"], "cuda")

    def test_notes_outcomes(self):
        self.start(f"--state-dir={self.folder}")
        outcome = {"application": "default", "outcome": "failed", "backend": "cuda"}
        self.assertEqual(self.call("ReportOutcome", outcome), outcome)
        self.assertNotEqual(self.call("Select")["backend"], "cuda")


@unittest.skipUnless(os.geteuid() == 0, "only root can become other users")
class Callers(SocketCase):
    def as_nobody(self, ask):
        """Runs `ask` in a process of the user nobody, and returns the result of `ask`, which the process sends as JSON."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                os.write(theirs, json.dumps(ask()).encode())
            finally:
                os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return json.loads(text)

    def outcome_of(self, method, parameters=None):
        def ask():
            try:
                return [None, self.call(method, parameters)]
            except Refused as refused:
                return [refused.name, refused.parameters]
        return self.as_nobody(ask)

    def test_lets_only_administrators_decide_for_all(self):
        self.start(f"--state-dir={self.folder}")
        for method, parameters in (("SetOverride", {"application": "default", "rule": {"strict": True}}),
                                   ("ClearOverride", {"application": "default"}), ("ClearQuarantine", {"all": True}),
                                   ("Probe", {"force": True}), ("Probe", {"allow_wake": True})):
            self.assertEqual(self.outcome_of(method, parameters)[0], "org.gpuprobe.NotAuthorized", method)
        self.assertIsNone(self.outcome_of("Select")[0])

    def enter_container(self):
        """Makes the current process root in new namespaces, as rootless containers do. There, /mnt is the daemon's folder and /tmp is empty.
        Source: user_namespaces(7)."""
        libc = ctypes.CDLL(None, use_errno=True)
        user, group = os.getuid(), os.getgid()
        libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: setuid() has cleared this flag, and only a dumpable process owns /proc/self
        if libc.unshare(0x10000000 | 0x20000) != 0:  # CLONE_NEWUSER, CLONE_NEWNS
            return os.strerror(ctypes.get_errno())
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            pathlib.Path("/proc/self", name).write_text(text, encoding="ascii")
        if (libc.mount(self.folder.encode(), b"/mnt", None, 0x5000, None) != 0  # MS_BIND, MS_REC
                or libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None) != 0):
            return os.strerror(ctypes.get_errno())
        self.path = "/mnt/org.gpuprobe"
        return None

    def test_answers_in_a_container_for_the_user_that_its_root_is_outside(self):
        self.start(f"--state-dir={self.folder}")

        def ask():
            if problem := self.enter_container():
                return problem
            outside = [os.getuid(), os.path.exists(self.folder)]
            names = []
            for method, parameters in (("Select", {}), ("SetOverride", {"application": "default", "rule": {"strict": True}})):
                try:
                    self.call(method, parameters)
                    names.append(None)
                except Refused as refused:
                    names.append(refused.name)
            return outside + names
        told = self.as_nobody(ask)
        if isinstance(told, str):
            self.skipTest(f"user namespaces cannot be created here: {told}")
        self.assertEqual(told, [0, False, None, "org.gpuprobe.NotAuthorized"])

    def test_limits_what_costs(self):
        self.start(f"--state-dir={self.folder}")
        outcome = {"application": "default", "outcome": "ok", "backend": "cuda"}

        def ask():
            names = []
            for _ in range(32):
                try:
                    self.call("ReportOutcome", outcome)
                    names.append(None)
                except Refused as refused:
                    names.append(refused.name)
            return names
        self.assertEqual(self.as_nobody(ask), [None] * 30 + ["org.gpuprobe.TooManyRequests"] * 2)


class SameAnswers(SocketCase):
    """Tests that the answers on the socket and gpuprobectl's output for the same machine are equal byte for byte."""

    QUESTIONS = (
        (("select", "default"), "Select", {"application": "default"}),
        (("select", "ollama", "--explain"), "Select", {"application": "ollama", "request": {"explain": True}}),
        (("select", "llama.cpp", "--backend=rocm", "--strict"), "Select",
         {"application": "llama.cpp", "request": {"backend": "rocm", "strict": True}}),
        (("select", "default", "--only=sycl"), "Select", {"application": "default", "request": {"only": ["sycl"]}}),
        (("select", "defualt"), "Select", {"application": "defualt"}),
        (("recommend", "torch"), "Recommend", {"application": "torch"}),
        (("recommend", "torhc"), "Recommend", {"application": "torhc"}),
        (("doctor",), "Diagnose", {}),
        (("list",), "ListGpus", {}),
        (("describe",), "Describe", {}),
        (("apps",), "ListApplications", {}),
        (("plan", "--memory=8192MiB"), "Plan", {"need": 8192 << 20}),
        (("quarantine",), "ListQuarantine", {}),
        (("override",), "ListOverrides", {}),
    )

    def printed(self, where, words):
        text = self.gpuprobectl(where, "-j", *words).stdout.removesuffix("\n")
        return text.removeprefix('{"error":').removesuffix("}") if text.startswith('{"error":') else text

    def test_on_recorded_machines(self):
        steady = re.compile(r'"generation":\d+|"(created|free_at)_usec":\d+')
        for machine in sorted(file.parent for file in MACHINES.glob("*/capture.json"))[::8]:
            self.start(machine=machine)
            with Client(self.path) as client:
                for words, method, parameters in self.QUESTIONS:
                    with self.subTest(f"{machine.name}: {' '.join(words)}"):
                        told = client.text_of(method, parameters)
                        self.assertEqual(steady.sub("", self.printed(f"--replay={machine}", words)),
                                         steady.sub("", told))
                        self.assertEqual(self.printed(f"--socket={self.path}", words), told)
            self.end_daemon()


# A parser for the part of Varlink's grammar that descriptions use ----------------------------------

TOKEN = re.compile(r"\s+|#[^\n]*\n|(->|\[\]|\[string\]|[():,?]|[A-Za-z][A-Za-z0-9_.-]*)")


def tokens_of(text):
    place = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if not match:
            raise ValueError(f"no token at {text[place:place + 40]!r}")
        if match.group(1):
            yield match.group(1)
        place = match.end()
    yield None


class Parser:
    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.token = next(self.tokens)

    def take(self, wanted=None):
        token = self.token
        if token is None or (wanted is not None and token != wanted):
            raise ValueError(f"expected {wanted or 'more'}, found {token}")
        self.token = next(self.tokens)
        return token

    def name(self):
        name = self.take()
        if not NAME.match(name):
            raise ValueError(f"not a name: {name}")
        return name

    def type(self):
        if self.token in ("?", "[]", "[string]"):
            kind = self.take()
            inner = self.type()
            if inner[0] == "?":  # systemd's parser does not accept lists of optional values either
                raise ValueError(f"{kind} of an optional type")
            return (kind, inner)
        if self.token == "(":
            return self.members()
        name = self.name()
        return ("basic", name) if name in ("bool", "int", "float", "string", "object") else ("named", name)

    def members(self):
        self.take("(")
        members = {}
        while self.token != ")":
            name = self.name()
            if name in members:
                raise ValueError(f"{name} occurs twice")
            members[name] = None
            if self.token == ":":
                self.take(":")
                members[name] = self.type()
            if self.token != ")":
                self.take(",")
        self.take(")")
        return ("members", members)


def parse_description(text):
    parser = Parser(text)
    parser.take("interface")
    found = {"name": parser.take(), "types": {}, "methods": {}, "errors": {}}
    while parser.token is not None:
        kind = parser.take()
        name = parser.name()
        first = parser.members()
        if kind == "method":
            parser.take("->")
            first = (first, parser.members())
        if any(name in found[other] for other in ("types", "methods", "errors")):
            raise ValueError(f"{name} occurs twice")
        found[kind + "s"][name] = first
    return found


def check_type(interface, kind, value, where):
    """Raises AssertionError if the value does not have the given type."""
    what, inner = kind
    if what == "?":
        return None if value is None else check_type(interface, inner, value, where)
    if what == "[]":
        return [check_type(interface, inner, item, f"{where}[]") for item in value]
    if what == "[string]":
        return [check_type(interface, inner, item, f"{where}.{key}") for key, item in value.items()]
    if what == "named":
        return check_type(interface, interface["types"][inner], value, where)
    if what == "members" and None in inner.values():
        assert value in inner, f"{where}: {value}"
        return None
    if what == "members":
        assert set(value) <= set(inner), f"{where}: {set(value) - set(inner)}"
        for key, member in inner.items():
            assert key in value or member[0] == "?", f"{where}: missing {key}"
            if key in value:
                check_type(interface, member, value[key], f"{where}.{key}")
        return None
    python = {"bool": bool, "int": int, "float": (float, int), "string": str, "object": (dict, list, str, int, bool)}
    assert isinstance(value, python[inner]), f"{where}: {value!r} is not of type {inner}"
    return None


if __name__ == "__main__":
    unittest.main()
