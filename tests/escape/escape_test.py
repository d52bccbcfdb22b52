# SPDX-License-Identifier: Apache-2.0
"""In these tests, a driver attacks everything that it can reach. Only the results of this driver may be lost, and everything else must stay
unchanged.

The driver is our own libcuda.so.1 (attacks.c). The test prints the driver's reports of success but ignores them, except reports made with breach(),
because only the driver can see whether a system call was allowed.

With ESCAPE_ONLY=name,name, the test makes only the attacks with these names. ESCAPE_RESULTS=file appends the table to a file. With
ESCAPE_BUILT=folder, the test compiles nothing: the folder contains the driver and the canary, and ESCAPE_FOLDER is the folder that describes the
victims.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unicodedata
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "integration/bus")]
from attack_table import ATTACKS  # noqa: E402
from bus_case import BIN, MANAGER, NAME, OPEN_POLICY, PROPERTIES, ROOT, Bus, Notify  # noqa: E402
from gi.repository import Gio, GLib  # noqa: E402
from victims import (  # noqa: E402
    CANARY_KEY, KEY, MARK, Canary, Files, Listeners, Queue, SystemV, Terminal, Watch, descendants, differences,
    left_in_the_system, remove, standing, strays)

HERE = pathlib.Path(__file__).parent
FAKES = pathlib.Path(os.environ.get("GPUPROBE_FAKES", "/nonexistent"))
BUILT = os.environ.get("ESCAPE_BUILT")
LIBRARIES = f"{FAKES}/nvidia/healthy:{FAKES}/intel/healthy"
PATIENCE = 20  # seconds for one call
SLOWEST = 12  # seconds; a call that takes longer was delayed by the attack
ONLY = [name for name in os.environ.get("ESCAPE_ONLY", "").split(",") if name]
PLACE = "GPUPROBE_ESCAPE"

WORKER = """#!/bin/sh
read -r attack pace < {folder}/attack
export {place}={folder} LD_LIBRARY_PATH={libraries}
case $1 in
cuda) export LD_LIBRARY_PATH="{folder}/drivers/$attack:$LD_LIBRARY_PATH";;
nvml|level_zero) if [ "$pace" = slow ]; then export FAULT=slow@enumerate; fi;;
esac
exec {bin}/gpuprobe-worker "$@"
"""

results = {}


def timeless(note):
    """Returns the note of a probe, or None if the note only reports that the driver was slow, because some tests slow down drivers on purpose."""
    return None if note and re.fullmatch(r"answered after \d+ s", note) else note


def others(report):
    """Returns the results of the APIs that do not attack, without the values that change from probe to probe."""
    found = {f"{probe['api']} {probe['driver']}": (probe["outcome"], probe["signal"], timeless(probe["note"]))
             for probe in report["probes"] if probe["api"] != "cuda"}
    for gpu in report["gpus"]:
        for api, view in gpu["apis"].items():
            if api != "cuda" and view["device"]:
                found[f"{gpu['id']} {api}"] = (view["outcome"], view["device"]["name"], view["device"].get("uuid"))
    return found


def own(report):
    return next(probe for probe in report["probes"] if probe["api"] == "cuda")


def texts(value):
    """Yields every string in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for entry in (*value, *value.values()) for text in texts(entry))
    elif isinstance(value, list):
        yield from (text for entry in value for text in texts(entry))


def moves_a_terminal(text):
    """Returns whether the text contains characters that control a terminal or change the direction of text."""
    return any(unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in "\n\t" for one in text)


def judged(row, calm, report):
    """Returns the differences between the report and the earlier results of the APIs that do not attack, and unexpected results of the attacking
    driver."""
    problems = differences("answer", calm, others(report))
    probe = own(report)
    note = probe["note"] or ""
    if probe["outcome"] not in row.outcomes:
        problems.append(f"cuda: {probe['outcome']}: {note[:80]}")
    elif probe["outcome"] == "failed" and f"attack={row.name};" not in note and not row.silent:
        problems.append(f"the attack did not run: {note[:80]}")
    if breached := re.search(r"breach: ?([^;]*);", note):
        problems += [f"allowed: {breached[1].strip(' ,')}"] if breached[1].strip() else []
    problems += [f"shows a terminal: {text[:80]!r}" for text in texts(report) if moves_a_terminal(text)]
    return problems + [f"quarantine: {entry['api']}" for entry in report["quarantine"] if entry["api"] != "cuda"]


class Trouble(Exception):
    """A call was not answered."""


class World:
    """The folder with the drivers, and all objects that are watched for changes."""

    def __init__(self, folder, user=None):
        self.folder = folder
        self.user = user
        self.prefix = (["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all"]
                       if user else [])
        self.worker = folder / "worker"
        self.kept = [folder / name for name in ("home", "state", "cache", "tmp")]
        self.victims = folder / "victims"
        self.mark = f"{PLACE}={folder}".encode()
        self.build()
        self.own(folder)
        self.watched = []
        self.watch()

    def build(self):
        """Compiles the attacking driver, and makes a link to it in a folder for each attack."""
        for name in ("drivers", "state", "cache", "tmp", "home", "sockets", "vulkan", "opencl", "services"):
            (self.folder / name).mkdir()
        library = self.folder / "drivers/libcuda.so.1"
        if BUILT:
            shutil.copy(f"{BUILT}/libcuda.so.1", library)
            shutil.copy(f"{BUILT}/canary", self.folder)
        else:
            compile_driver(self.victims, library)
            compile_c([str(HERE / "canary.c"), "-o", str(self.folder / "canary")])
        self.check_names(library)
        for name in ("none", *(row.name for row in ATTACKS)):
            (self.folder / "drivers" / name).mkdir()
            os.link(library, self.folder / "drivers" / name / "libcuda.so.1")
        if not BUILT:
            shutil.copy(FAKES / "vulkan/gpu/gpu.json", self.folder / "vulkan")
            shutil.copy(FAKES / "opencl/gpu/gpu.icd", self.folder / "opencl")
        self.worker.write_text(WORKER.format(folder=self.folder, place=PLACE, libraries=LIBRARIES, bin=BIN),
                               encoding="utf-8")
        self.worker.chmod(0o755)
        self.folder.chmod(0o755)

    def check_names(self, library):
        """Checks that the table in attack_table.py lists the same attacks as the driver."""
        name = ctypes.CDLL(str(library)).attack_name
        name.restype = ctypes.c_char_p
        found = [text.decode() for text in iter(lambda count=iter(range(1000)): name(next(count)), None)]
        if found != [row.name for row in ATTACKS]:
            raise AssertionError(f"attack_table.py differs: {sorted({*found} ^ {row.name for row in ATTACKS})}")

    def own(self, folder):
        if self.user:
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, self.user, self.user, follow_symlinks=False)

    def watch(self):
        """Replaces the watched objects with new ones."""
        self.unwatch()
        for name in ("outside", "sockets"):
            remove(self.folder / name)
        (self.folder / "sockets").mkdir()
        self.files = Files(self.folder / "outside", [self.worker, self.folder / "attack"], self.user)
        self.listeners = Listeners(self.folder / "sockets")
        self.terminal = Terminal()
        self.queue = Queue()
        self.memory = SystemV()
        self.canary = Canary(str(self.folder / "canary"), str(self.folder / "outside/other"), self.prefix)
        self.watched = [self.files, self.listeners, self.terminal, self.queue, self.memory, self.canary]

    def unwatch(self):
        for one in self.watched:
            one.end()
        self.watched = []

    def choose(self, name, pace="-"):
        self.victims.unlink(missing_ok=True)
        (self.folder / "attack").write_text(f"{name} {pace}\n", encoding="utf-8")
        (self.folder / "new").symlink_to(f"drivers/{name}")
        (self.folder / "new").rename(self.folder / "current")
        self.files.before = self.files.look()

    def describe(self, name, daemon, **more):
        """Writes the file with the victims. The driver attacks as soon as the file with the victims exists."""
        text = {"attack": name, "mark": MARK, "daemon": daemon, "canary": self.canary.pid, "page": self.canary.page,
                "outside": self.files.folder, "home": self.folder / "home", "worker": self.worker,
                "canary_in_tmp": self.files.shared[0], "canary_in_shm": f"/{self.files.shared[1].name}",
                "canary_queue": self.queue.name, "secret_at_home": self.files.secrets[0],
                "secret_of_root": self.files.secrets[1], "key": KEY, "canary_key": CANARY_KEY,
                "terminal": self.terminal.name, "gpuprobectl": BIN / "gpuprobectl", "folder": self.folder,
                "journal": self.listeners.names["path_datagram"], **self.listeners.names, **more}
        new = self.victims.with_suffix(".new")
        new.write_text("".join(f"{key}={value}\n" for key, value in text.items()), encoding="utf-8")
        new.rename(self.victims)

    def changes(self, watch):
        found = strays(self.mark, watch)
        for one in self.watched:
            found += one.changes()
        return found + left_in_the_system() + self.left_at_home()

    def is_marked(self, path):
        """Returns whether the file's name or content contains the mark of an attack."""
        if MARK in path.name:
            return True
        with contextlib.suppress(FileNotFoundError):
            return path.is_file() and path.stat().st_size < 1 << 20 and MARK.encode() in path.read_bytes()
        return False

    def left_at_home(self):
        """Returns files that the attack left in our folders, and files of the daemon that contain the attack's mark. Waits first, because the daemon
        removes large numbers of files only after it has answered."""
        late = time.monotonic() + PATIENCE
        while (found := [path for place in self.kept for path in [place, *self.tree(place)] if self.is_marked(path)]):
            if time.monotonic() > late:
                break
            time.sleep(0.1)
        names = sorted(re.sub(r"\d+", "N", path.as_posix().replace(f"{self.folder}/", "").replace(MARK, "MARK-"))
                       for path in found)
        return [f"left: {len(found)} files: {', '.join(dict.fromkeys(names))[:160]}"] if found else []

    def tree(self, folder):
        """Yields the paths in a folder tree. Skips very deep levels, because an attack may create a tree that is too deep to walk."""
        for root, folders, files in os.walk(folder):
            if len(root) > 1000:
                folders.clear()
            yield from (pathlib.Path(root) / name for name in (*folders, *files))

    def forget(self):
        """Removes all files that drivers and the daemon have stored."""
        for name in ("home", "state", "cache", "tmp"):
            remove(self.folder / name)
            (self.folder / name).mkdir()
            self.own(self.folder / name)

    def end(self):
        self.unwatch()
        left_in_the_system()
        remove(self.folder)


def compile_c(arguments):
    subprocess.run(["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", *arguments, "-lrt", "-lpthread", "-ldl"], check=True)


def compile_driver(victims, library):
    sources = sorted(str(path) for path in HERE.glob("*.c") if path.name != "canary.c")
    compile_c(["-shared", "-fPIC", f'-DVICTIMS="{victims}"', *sources, "-o", str(library)])


class Cage(unittest.TestCase):
    """The base class of the tests of attacks. Each derived class starts workers in a different way."""

    SKIPPED = ()
    USER = None

    def setUp(self):
        self.world = World(self.new_folder(), self.USER)
        self.addCleanup(self.world.end)
        self.watch = None
        self.addCleanup(lambda: self.watch and self.watch.end())
        results[type(self).__name__] = self.results = {}

    def new_folder(self):
        """Creates the folder for the test."""
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        if not os.access(BIN.parent, os.W_OK):
            self.skipTest(f"{BIN.parent} cannot be written")
        return pathlib.Path(tempfile.mkdtemp(prefix="escape-", dir=BIN.parent))

    def run_all(self):
        self.begin()
        for row in ATTACKS:
            if row.name in self.SKIPPED or (ONLY and row.name not in ONLY):
                continue
            with self.subTest(attack=row.name):
                problems = self.attack(row)
                self.results[row.name] = problems
                if problems:
                    self.renew()
                self.assertEqual(problems, [], f"{row.name}: {row.harm}")
        self.assertTrue(self.results, "no such attack")

    def attack(self, row):
        """Runs an attack, and returns everything that changed except the results of the hostile driver."""
        world = self.world
        self.prepare(row)
        world.choose(row.name, "slow" if row.beside else "-")
        problems = []
        report = {}
        started = time.monotonic()
        try:
            for _ in range(2 if row.again else 1):
                report = self.ask(row.name)
                problems += judged(row, self.calm, report)
        except Trouble as trouble:
            problems.append(str(trouble))
        if (taken := time.monotonic() - started) > SLOWEST:
            problems.append(f"took {taken:.0f} s")
        problems += self.after() + world.changes(self.watch)
        self.watch.end()
        self.watch = None
        note = own(report)["note"] if report else None
        print(f"{row.name}: {problems or 'own answer only'} [{note}] in {taken:.1f} s", flush=True)
        return list(dict.fromkeys(problems))

    def look_after(self, pid):
        """Watches the processes that the test process starts."""
        seen = self.watch.end() if self.watch else {}
        self.watch = Watch(f"{self.world.victims}.peers", lambda: self.peers(pid), seen)

    def peers(self, pid):
        """Returns the processes of all workers that are running."""
        return descendants(pid)

    def prepare(self, row):
        """Called before each attack."""

    def after(self):
        """Returns the changes in the process that started the attacking worker."""
        return []

    def renew(self):
        self.world.watch()
        self.world.forget()

    @classmethod
    def tearDownClass(cls):
        lines = [f"{cls.__name__} {name}: {'; '.join(problems) or 'own answer only'}"
                 for name, problems in results.get(cls.__name__, {}).items()]
        reached = sum(not line.endswith(": own answer only") for line in lines)
        print("\n" + "\n".join([*lines, f"{cls.__name__}: {len(lines)} attacks, {reached} reached beyond their worker"]))
        if os.environ.get("ESCAPE_RESULTS"):
            with open(os.environ["ESCAPE_RESULTS"], "a", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")


class OnBus(Cage):
    """A daemon with a bus and a socket."""

    ASKED = ("cuda", "nvml", "level_zero", "opencl", "vulkan")

    def call(self, interface, method, parameters=None, path=ROOT):
        try:
            return self.connection.call_sync(NAME, path, interface, method, parameters, None, Gio.DBusCallFlags.NONE,
                                             PATIENCE * 1000, None).unpack()
        except GLib.Error as error:
            raise Trouble(self.state_of_daemon() or f"{method}: {error.message[:100]}") from None

    def state_of_daemon(self):
        for _ in range(20):
            if self.daemon.poll() is not None:
                return f"daemon: ended: {self.daemon.returncode}"
            time.sleep(0.01)
        return None

    def ask(self, name):
        self.look_after(self.daemon.pid)
        self.world.describe(name, self.daemon.pid, **self.places())
        self.call(MANAGER, "ClearQuarantine", GLib.Variant("(a{sv})", ({"all": GLib.Variant("b", True)},)))
        self.call(MANAGER, "Probe", GLib.Variant("(aoasa{sv})", (
            [], self.ASKED, {})))
        return json.loads(self.call(MANAGER, "Describe")[0])

    def after(self):
        try:
            return self.changes_of_daemon()
        except Trouble as trouble:
            return [str(trouble)]

    def changes_of_daemon(self):
        problems = [self.state_of_daemon()] if self.daemon.poll() is not None else []
        if problems:
            return problems
        problems += differences("daemon", self.standing, standing(self.daemon.pid))
        self.call("org.freedesktop.DBus.Peer", "Ping")
        if overrides := self.call(MANAGER, "ListOverrides")[0]:
            problems.append(f"overrides: {sorted(overrides)}")
        level = self.call(PROPERTIES, "Get", GLib.Variant("(ss)", ("org.freedesktop.LogControl1", "LogLevel")),
                          "/org/freedesktop/LogControl1")[0]
        if level != "info":
            problems.append(f"log level: {level}")
        problems += ["notify: was spoken to" for text in self.drain_notices() if b"forged" in text]
        return problems + self.changes_of_socket()

    def changes_of_socket(self):
        """Checks that the daemon still answers on its socket."""
        try:
            with socket.socket(socket.AF_UNIX) as asked:
                asked.settimeout(PATIENCE)
                asked.connect(str(self.places()["varlink"]))
                asked.sendall(b'{"method":"org.varlink.service.GetInfo"}\0')
                whom = struct.unpack("3i", asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
                said = asked.recv(65536)
        except OSError as error:
            return [f"socket: {error}"]
        return [] if b"org.gpuprobe" in said and whom in self.owners() else [f"socket: process {whom} says {said[:80]}"]

    def owners(self):
        """Returns the processes that the daemon's socket may report as its creator."""
        return (self.daemon.pid,)


@unittest.skipUnless((BIN / "gpuprobed").exists(), "gpuprobed is not built")
class Spawn(OnBus):
    """Tests with a daemon that is on a bus and starts workers as its children."""

    LAUNCHED_BY = ()

    def test_each_costs_its_own_answer_only(self):
        self.run_all()

    def begin(self):
        folder = self.world.folder
        (folder / "services/escape.service").write_text(
            f"[D-BUS Service]\nName=org.gpuprobe.EscapeCanary\nExec=/usr/bin/touch {folder}/outside/activated\n",
            encoding="ascii")
        self.bus = Bus(str(folder), f"{OPEN_POLICY}\n  <servicedir>{folder}/services</servicedir>")
        self.addCleanup(self.bus.stop)
        self.notify = Notify(str(folder))
        self.addCleanup(self.notify.close)
        self.daemon = None
        self.addCleanup(self.end_daemon)
        self.start()

    def places(self):
        """Returns the paths and addresses of the daemon, which the attack uses."""
        folder = self.world.folder
        return {"state": folder / "state", "cache": folder / "cache", "bus": self.bus.address, "notify": self.notify.path,
                "varlink": folder / "varlink"}

    def start(self):
        folder = self.world.folder
        self.world.choose("none")
        log = open(folder / "log", "ab")
        self.addCleanup(log.close)
        self.daemon = subprocess.Popen(
            [*self.LAUNCHED_BY, str(BIN / "gpuprobed"), f"--bus={self.bus.address}", "--launcher=spawn", f"--worker={self.world.worker}",
             f"--state-dir={folder}/state", f"--cache-dir={folder}/cache", f"--vulkan-drivers={folder}/vulkan",
             f"--opencl-vendors={folder}/opencl", f"--socket={folder}/varlink", "--deadline-ms=4000"],
            env={**os.environ, "NOTIFY_SOCKET": self.notify.path, "HOME": f"{folder}/home", "TMPDIR": f"{folder}/tmp"},
            stderr=log, start_new_session=True)
        self.world.describe("none", self.daemon.pid)
        self.await_ready()
        self.connection = self.bus.connect()
        self.calm = others(self.ask("none"))
        self.standing = standing(self.daemon.pid)
        self.watch.end()

    def await_ready(self):
        late = time.monotonic() + PATIENCE
        while time.monotonic() < late and self.daemon.poll() is None:
            try:
                if "READY=1" in self.notify.socket.recv(4096).decode():
                    return
            except TimeoutError:
                continue
        self.fail("the daemon did not start: " + (self.world.folder / "log").read_text(encoding="utf-8")[-500:])

    def end_daemon(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGCONT)
            self.daemon.kill()
        if self.daemon:
            self.daemon.wait()

    def renew(self):
        self.end_daemon()
        super().renew()
        self.drain_notices()
        self.start()

    def prepare(self, row):
        self.drain_notices()

    def drain_notices(self):
        found = []
        self.notify.socket.setblocking(False)
        try:
            while True:
                found.append(self.notify.socket.recv(4096))
        except BlockingIOError:
            pass
        self.notify.socket.settimeout(0.1)
        return found


class SpawnWithoutNamespaces(Spawn):
    """Runs the same tests without namespaces, as if a container or the administrator forbade namespaces. Only Landlock and the system-call filters
    protect against the driver."""

    LAUNCHED_BY = ("unshare", "--user", "--map-current-user", "sh", "-c",
                   'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh")

    def setUp(self):
        tried = subprocess.run([*self.LAUNCHED_BY, "true"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            self.skipTest(f"a limit on namespaces cannot be set: {tried.stderr.strip()}")
        super().setUp()


@unittest.skipUnless((BIN / "gpuprobectl").exists(), "gpuprobectl is not built")
class Direct(Cage):
    """Tests with gpuprobectl, which starts workers as its children."""

    # These attacks need a daemon.
    SKIPPED = ("set-override", "start-by-bus", "notify-readiness", "varlink-connect", "varlink-decide",
               "varlink-impersonate")

    def test_each_costs_its_own_answer_only(self):
        self.run_all()

    def begin(self):
        self.world.choose("none")
        self.calm = others(self.ask("none"))
        self.watch.end()

    def prepare(self, row):
        self.world.forget()

    def ask(self, name):
        home = self.world.folder / "home"
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            asked = subprocess.Popen(
                [*self.world.prefix, str(BIN / "gpuprobectl"), "--direct", "--no-cache",
                 f"--worker={self.world.worker}", "describe", "-j"],
                stdout=output, stderr=errors, stdin=subprocess.DEVNULL, start_new_session=True,
                env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(self.world.folder / "tmp")})
            self.look_after(asked.pid)
            self.world.describe(name, asked.pid, state=home / ".local/state/gpuprobe", cache=home / ".cache/gpuprobe")
            try:
                asked.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                asked.kill()
                asked.wait()
                raise Trouble(f"gpuprobectl: no answer within {PATIENCE} s") from None
            output.seek(0)
            errors.seek(0)
            if asked.returncode != 0:
                raise Trouble(f"gpuprobectl: ended: {asked.returncode} {errors.read()[-100:].decode(errors='replace')}")
            return json.loads(output.read())

    def after(self):
        return [f"left: {path.name}" for path in sorted((self.world.folder / "tmp").iterdir())
                if MARK not in path.name]


@unittest.skipUnless((BIN / "gpuprobectl").exists(), "gpuprobectl is not built")
class DirectAsUser(Direct):
    """Runs the same tests as an unprivileged user, if the tests run as root."""

    USER = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None

    def setUp(self):
        if self.USER is None:
            self.skipTest("only root can become another user; Direct is this test then")
        if not shutil.which("setpriv"):
            self.skipTest("no setpriv")
        for folder in [BIN, *BIN.parents]:
            if not folder.stat().st_mode & 0o001:
                self.skipTest(f"{folder} is closed to other users")
        super().setUp()

    def test_each_costs_its_own_answer_only(self):
        self.run_all()


def tearDownModule():
    """Prints the results by attack and mode, if more than one mode was tested."""
    if len(results) < 2:
        return
    width = max(len(row.name) for row in ATTACKS) + 2
    print("\n" + " " * width + "".join(f"{mode:<18}" for mode in results))
    for row in ATTACKS:
        cells = [mode.get(row.name) for mode in results.values()]
        if any(cell is not None for cell in cells):
            words = ["-" if cell is None else "REACHED" if cell else "own answer only" for cell in cells]
            print(f"{row.name:<{width}}" + "".join(f"{word:<18}" for word in words))


if __name__ == "__main__":
    unittest.main()
