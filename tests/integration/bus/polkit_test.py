# SPDX-License-Identifier: Apache-2.0
"""Tests of permissions, with a fake polkit that allows the action, denies it, hangs or sends an invalid reply."""
import os
import pty
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from bus_case import BIN, MANAGER, NAME, OPEN_POLICY, ROOT, SOURCE, BusCase
from gi.repository import Gio, GLib

ERROR = NAME + ".Error."
POLKIT = "org.freedesktop.PolicyKit1"
NOBODY = 65534
ADDRESS = "0000:03:00.0"
PATH = ROOT + "/gpu/pci_0000_03_00_0"
WAKE = (ROOT, MANAGER, "Probe", "aoasa{sv}", "1", PATH, "0", "1", "allow-wake", "b", "true")
# The D-Bus type of CheckAuthorization's reply. Some tests reply with another type.
VERDICT = "((bba{ss}))"
INTERFACE = """
<node><interface name="org.freedesktop.PolicyKit1.Authority"><method name="CheckAuthorization">
  <arg type="(sa{sv})" direction="in"/><arg type="s" direction="in"/><arg type="a{ss}" direction="in"/>
  <arg type="u" direction="in"/><arg type="s" direction="in"/><arg type="%s" direction="out"/>
</method></interface></node>"""


class FakePolkit:
    """Replies to every request with `answer`. If `answer` is a function, the function computes the reply from the request. If the reply is a string,
    sends a D-Bus error with this name; if the reply is None, sends nothing."""

    def __init__(self, bus, answer, signature=VERDICT):
        self.answer = answer
        self.signature = signature
        self.questions = []
        self.connection = bus.connect()
        info = Gio.DBusNodeInfo.new_for_xml(INTERFACE % signature[1:-1])
        self.connection.register_object("/org/freedesktop/PolicyKit1/Authority", info.interfaces[0],
                                        self.asked, None, None)
        self.connection.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                  "RequestName", GLib.Variant("(su)", (POLKIT, 0)), None,
                                  Gio.DBusCallFlags.NONE, -1, None)

    def asked(self, _bus, _sender, _path, _interface, _method, parameters, invocation):
        self.questions.append(parameters.unpack())
        answer = self.answer(self.questions[-1]) if callable(self.answer) else self.answer
        if isinstance(answer, str):
            invocation.return_dbus_error(answer, "no")
        elif answer is not None:
            invocation.return_value(GLib.Variant(self.signature, answer))


@unittest.skipUnless(os.geteuid() == 0, "only root can make calls as another user")
class Polkit(BusCase):
    # By default, a bus accepts only connections of the user that runs the bus.
    POLICY = OPEN_POLICY.replace("<allow own", '<allow user="*"/>\n    <allow own')

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        machine = self.capture()
        machine.add_gpu(ADDRESS, status="suspended")
        self.start_on(machine, f"--socket={self.socket}")

    def start_as(self, uid, *arguments, interactive=False):
        return subprocess.Popen(
            ["busctl", f"--address={self.bus.address}", "--timeout=60",
             f"--allow-interactive-authorization={'yes' if interactive else 'no'}", "call", NAME, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=uid, group=uid, extra_groups=[])

    def end_of(self, busctl):
        """Returns the exit code and output of busctl. Runs the main loop until busctl ends, so that the fake polkit can answer requests."""
        self.wait_until(lambda: busctl.poll() is not None, "busctl's end")
        out, err = busctl.communicate()
        return busctl.returncode, out + (err or "")

    def call_as(self, uid, *arguments, **options):
        return self.end_of(self.start_as(uid, *arguments, **options))

    def wake(self, uid=NOBODY, **options):
        return self.call_as(uid, *WAKE, **options)

    def assert_denied(self, answer, word):
        code, text = answer
        self.assertNotEqual(code, 0, text)
        self.assertIn("org.gpuprobe.allow-wake", text)
        self.assertIn(word, text)
        self.assert_same_daemon()

    def test_polkit_is_asked_about_the_caller(self):
        polkit = FakePolkit(self.bus, ((True, False, {}),))
        code, text = self.wake()
        self.assertEqual(code, 0, text)
        (subject, action, _details, flags, _cancellation), = polkit.questions
        self.assertEqual(subject[0], "system-bus-name")
        self.assertRegex(subject[1]["name"], r"^:1\.\d+$")
        self.assertNotEqual(subject[1]["name"], self.connection.get_unique_name())
        self.assertEqual((action, flags), ("org.gpuprobe.allow-wake", 0))

    def test_measuring_what_others_use_needs_leave(self):
        force = (ROOT, MANAGER, "Probe", "aoasa{sv}", "0", "0", "2", "force", "b", "true", "stage", "s", "measure")
        code, text = self.call_as(NOBODY, *force)
        self.assertNotEqual(code, 0, text)
        self.assertIn("org.gpuprobe.measure-in-use", text)
        polkit = FakePolkit(self.bus, ((True, False, {}),))
        self.assertEqual(self.call_as(NOBODY, *force)[0], 0)
        self.assertEqual(polkit.questions[0][1], "org.gpuprobe.measure-in-use")

    def test_the_call_says_whether_people_may_be_asked(self):
        polkit = FakePolkit(self.bus, ((True, False, {}),))
        self.assertEqual(self.wake(interactive=True)[0], 0)
        self.assertEqual(polkit.questions[0][3], 1)

    def override_as_nobody(self, terminal):
        """Returns the exit code and output of gpuprobectl. If `terminal` is set, polkit could ask a user on the terminal for a password."""
        master, slave = pty.openpty()
        os.fchown(slave, NOBODY, -1)
        done = subprocess.Popen(
            [BIN / "gpuprobectl", f"--socket={self.socket}", "override", "set", "default", "--strict"],
            stdin=slave if terminal else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, text=True,
            user=NOBODY, group=NOBODY, extra_groups=[], env={"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"})  # pkttyagent must not find a bus
        os.close(slave)
        self.addCleanup(os.close, master)
        return self.end_of(done)

    def test_gpuprobectl_lets_people_be_asked_on_a_terminal_only(self):
        # This fake polkit requires a password: it gives permission only if the call allows polkit to ask for the password.
        polkit = FakePolkit(self.bus, lambda question: ((question[3] == 1, question[3] == 0, {}),))
        for terminal, flags in ((True, [0, 1]), (False, [0])):
            code, text = self.override_as_nobody(terminal)
            self.assertEqual(code, 0 if terminal else 5, text)
            self.assertEqual([(question[1], question[3]) for question in polkit.questions],
                             [("org.gpuprobe.set-override", flag) for flag in flags])
            polkit.questions.clear()

    def override_on_the_socket(self):
        """Returns the process id, exit code and output of gpuprobectl."""
        done = subprocess.Popen(
            [BIN / "gpuprobectl", f"--socket={self.socket}", "override", "set", "default", "--strict"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=NOBODY, group=NOBODY, extra_groups=[])
        return done.pid, *self.end_of(done)

    def test_polkit_is_asked_about_the_process_on_the_socket(self):
        _pid, code, text = self.override_on_the_socket()
        self.assertEqual(code, 5, text)
        self.assertIn("org.gpuprobe.set-override", text)
        polkit = FakePolkit(self.bus, ((True, False, {}),))
        pid, code, text = self.override_on_the_socket()
        self.assertEqual(code, 0, text)
        (subject, action, _details, flags, _cancellation), = polkit.questions
        self.assertEqual(subject, ("unix-process", {"pid": pid, "start-time": 0, "uid": NOBODY}))
        self.assertEqual((action, flags), ("org.gpuprobe.set-override", 0))
        polkit.answer = ((False, False, {}),)
        _pid, code, text = self.override_on_the_socket()
        self.assertEqual(code, 5, text)

    def test_a_no_is_a_no(self):
        FakePolkit(self.bus, ((False, False, {}),))
        self.assert_denied(self.wake(), "denied permission")

    def test_a_challenge_is_a_no(self):
        FakePolkit(self.bus, ((False, True, {}),))
        self.assert_denied(self.wake(), "needs to ask the user")

    def test_no_polkit_is_a_no(self):
        self.assert_denied(self.wake(), "only root may do this because polkit is not installed")

    def test_an_error_is_a_no(self):
        FakePolkit(self.bus, POLKIT + ".Error.Failed")
        self.assert_denied(self.wake(), "Error.Failed")

    def test_garbage_is_a_no(self):
        FakePolkit(self.bus, ("yes",), "(s)")
        self.assert_denied(self.wake(), "polkit did not answer")

    def test_an_end_in_the_middle_is_a_no(self):
        polkit = FakePolkit(self.bus, None)
        busctl = self.start_as(NOBODY, *WAKE)
        self.wait_until(lambda: polkit.questions, "a question to polkit")
        polkit.connection.close_sync(None)
        self.assert_denied(self.end_of(busctl), "polkit did not answer")

    def test_silence_is_a_no_and_holds_nobody_up(self):
        polkit = FakePolkit(self.bus, None)
        busctl = self.start_as(NOBODY, *WAKE)
        self.wait_until(lambda: polkit.questions, "a question to polkit")
        self.assertEqual(self.gpus(), [PATH])
        self.assertIsNone(busctl.poll())
        self.assert_denied(self.end_of(busctl), "polkit did not answer")

    def test_one_user_has_eight_questions_and_another_has_his_own(self):
        polkit = FakePolkit(self.bus, None)
        decide = (ROOT, MANAGER, "SetOverride", "sa{sv}", "torch", "1", "only", "as", "1", "cpu")

        def start(uid):
            busctl = self.start_as(uid, *decide, interactive=True)
            self.addCleanup(busctl.wait)
            self.addCleanup(busctl.kill)

        for _ in range(8):
            start(NOBODY)
        self.wait_until(lambda: len(polkit.questions) == 8, "eight questions to polkit")
        code, text = self.call_as(NOBODY, *decide, interactive=True)
        self.assertNotEqual(code, 0)
        self.assertIn("too many polkit checks are pending", text)
        start(1)  # the user "daemon", which exists on every Debian system
        self.wait_until(lambda: len(polkit.questions) == 9, "somebody else's question")

    def test_root_need_not_ask(self):
        polkit = FakePolkit(self.bus, ((False, False, {}),))
        code, text = self.wake(uid=0)
        self.assertEqual(code, 0, text)
        self.assertEqual(polkit.questions, [])

    def test_without_allow_wake_nobody_is_asked(self):
        polkit = FakePolkit(self.bus, ((False, False, {}),))
        code, text = self.call_as(NOBODY, ROOT, MANAGER, "Probe", "aoasa{sv}", "0", "0", "0")
        self.assertEqual(code, 0, text)
        self.assertEqual(polkit.questions, [])


class PolicyFile(unittest.TestCase):
    def setUp(self):
        self.root = ElementTree.parse(BIN.parent / "data" / "org.gpuprobe.policy").getroot()

    def test_it_holds_the_actions_that_the_daemon_asks_for(self):
        source = (SOURCE / "src/calls/methods.h").read_text()
        table = source[source.index("names_of(Action)"):]
        words = {line.split('"')[1] for line in table[:table.index("}}};")].splitlines() if '"' in line}
        self.assertEqual({action.get("id") for action in self.root.iter("action")},
                         {f"org.gpuprobe.{word}" for word in words})

    def test_polkit_answers_the_daemons_user(self):
        user = next(line.split()[1] for line in (BIN.parent / "systemd/gpuprobe.conf").read_text().splitlines()
                    if line.startswith("u "))
        for action in self.root.iter("action"):
            owners = [note.text for note in action.iter("annotate")
                      if note.get("key") == "org.freedesktop.policykit.owner"]
            self.assertEqual(owners, [f"unix-user:{user}"], action.get("id"))

    def test_nobody_from_afar_may_do_anything_unasked(self):
        for action in self.root.iter("action"):
            self.assertIn("auth_admin", action.findtext("defaults/allow_any"))
            self.assertTrue(action.findtext("message"))


if __name__ == "__main__":
    unittest.main()
