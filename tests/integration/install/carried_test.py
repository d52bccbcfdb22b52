# SPDX-License-Identifier: Apache-2.0
"""Tests tools/packages: each client is installed offline into an empty folder. A client calls the daemon if a daemon runs; otherwise the client runs
the program in its package, which gives the same answers as gpuprobectl.

GPUPROBE_FILE is the program that the packages contain, made by tools/portable. If GPUPROBE_FILE is not set, the packages contain gpuprobectl from the
tested build. GPUPROBE_MACHINES=all replays all recorded machines instead of every tenth."""
import base64
import csv
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "socket"), str(HERE.parents[1] / "support")]
import built_clients  # noqa: E402
from socket_case import BIN, MACHINES, SOURCE, SocketCase  # noqa: E402

BUILD = BIN.parent
FILE = pathlib.Path(os.environ.get("GPUPROBE_FILE") or BIN / "gpuprobectl-whole")
ASK = HERE / "carried"
NOBODY = 65534
QUESTIONS = [("Select", {"application": "llama.cpp"}), ("Recommend", {"application": "torch"}), ("Diagnose", {"environment": {}})]
# The environment of a process without gpuprobectl, a daemon or a home folder.
ALONE = {"PATH": "/usr/bin:/bin", "GPUPROBE_SOCKET": "/nothing", "HOME": "/nothing", "LC_ALL": "C.UTF-8"}


def replayed():
    """Returns the folders of the recorded machines that are replayed."""
    machines = sorted(path for path in MACHINES.iterdir() if path.is_dir() and path.name != "LICENSES")
    return machines if os.environ.get("GPUPROBE_MACHINES") == "all" else machines[::10]


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


class Carried:
    """Tests of a client's package: the program in the package replays the machine in $MACHINE."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        cls.place.chmod(0o755)
        cls.file = cls.place / "program"
        run("cc", "-O", "-static", f'-DPROGRAM="{FILE}"', "-o", cls.file, ASK / "program.c")
        run(SOURCE / "tools/packages", "--program", cls.file, "--built", BUILD, cls.place / "packages", cls.KIND)
        cls.packages = cls.place / "packages"
        cls.questions = cls.place / "questions"
        cls.asked = [(str(machine), *question) for machine in replayed() for question in QUESTIONS]
        cls.questions.write_text(json.dumps(cls.asked), encoding="utf-8")
        cls.ask = cls.installed()

    def answers(self, *, user=None, file=None, **environment):
        """Returns the answers that a program with the installed client prints."""
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        text = run(*as_user, *self.ask, file or self.questions, env={**ALONE, **environment}, cwd="/")
        return [json.loads(line) for line in text.splitlines()]

    def one_question(self, machine="", method="Describe"):
        path = self.place / "question"
        path.write_text(json.dumps([(machine, method, {})]), encoding="utf-8")
        return path

    def assert_contains(self, program, *names):
        """Checks that the archive contains the files in `names`, and the program in a file whose name begins with `program`."""
        (archive,) = self.packages.glob("*.tar.gz")
        with tarfile.open(archive) as members:
            held = {member.name.partition("/")[2]: member for member in members.getmembers()}
            self.assertLessEqual(set(names), set(held))
            (file,) = (member for name, member in held.items() if name.startswith(program) and not name.endswith(".go") and member.isfile())
            self.assertEqual((file.mode & 0o111, members.extractfile(file).read()), (0o111, self.file.read_bytes()))

    def test_answers_as_gpuprobectl_does(self):
        found = self.answers()
        self.assertEqual(len(found), len(self.asked))
        for (machine, method, parameters), answer in zip(self.asked, found):
            with self.subTest(machine=machine, method=method):
                direct = subprocess.run([BIN / "gpuprobectl", f"--replay={machine}", "-j", "-q", "call", f"org.gpuprobe.{method}", "-"], text=True,
                                        input=json.dumps(parameters), capture_output=True, timeout=60, check=False).stdout
                wanted = json.loads(direct)
                self.assertEqual(answer, wanted.get("error", wanted))

    @unittest.skipIf(os.geteuid() != 0, "only root can become another user")
    def test_answers_as_nobody(self):
        self.assertEqual(self.answers(user=NOBODY, file=self.one_question(str(replayed()[0]))),
                         self.answers(file=self.one_question(str(replayed()[0]))))

    @unittest.skipIf(os.geteuid() != 0, "only root can make all folders read-only")
    def test_writes_to_no_disk(self):
        script = 'mount -o remount,bind,ro / && mount --bind -o ro /tmp /tmp && ! touch /tmp/x 2>/dev/null && exec "$@"'
        text = run("unshare", "--mount", "sh", "-c", script, "sh", *self.ask, self.one_question(str(replayed()[0])), env=ALONE, cwd="/")
        self.assertEqual([json.loads(text)], self.answers(file=self.one_question(str(replayed()[0]))))

    def test_asks_the_daemon_if_one_runs(self):
        self.start()
        (found,) = self.answers(file=self.one_question(), GPUPROBE_SOCKET=self.path)
        self.assertEqual(found, self.call("Describe"))
        self.end_daemon()
        with self.assertRaises(AssertionError):  # the program ends with status 9 and without an answer
            self.answers(file=self.one_question(), GPUPROBE_SOCKET=self.path)


class Wheel(Carried, SocketCase):
    KIND = "python"

    @classmethod
    def installed(cls):
        (cls.wheel,) = (cls.packages / "python").glob("gpuprobe-*manylinux*.whl")
        environment = cls.place / "environment"
        run("/usr/bin/python3", "-m", "venv", "--without-pip", environment)
        run("/usr/bin/python3", "-m", "pip", "--python", environment, "install", "--no-index", "--no-cache-dir", cls.wheel)
        cls.command = environment / "bin/gpuprobectl"
        return [environment / "bin/python", ASK / "ask.py"]

    def test_records_what_it_contains(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = {name.rpartition("/")[2]: name for name in wheel.namelist()}
            rows = list(csv.reader(wheel.read(names["RECORD"]).decode().splitlines()))
            self.assertEqual({row[0] for row in rows}, set(wheel.namelist()))
            for name, digest, _ in rows[:-1]:
                value = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
                self.assertEqual(digest, f"sha256={value}", name)
            self.assertLessEqual({"MIT.txt", "Apache-2.0.txt"}, set(names))
            self.assertEqual(wheel.read("gpuprobe/gpuprobectl"), self.file.read_bytes())

    def test_has_the_command(self):
        direct = run(BIN / "gpuprobectl", "--version")
        self.assertEqual(run(self.command, "--version", env=ALONE), direct)
        self.assertEqual(run(self.ask[0], "-c", "import gpuprobe; print(gpuprobe.program())", env=ALONE).strip(),
                         str(next(self.command.parents[1].glob("lib/python3*/site-packages/gpuprobe/gpuprobectl"))))

    def test_awaits_the_program(self):
        script = "import asyncio, gpuprobe\nasync def ask():\n  async with gpuprobe.AsyncClient() as client:\n    return await client.describe()\n" \
                 "print(asyncio.run(ask())['schema'])"
        self.assertEqual(run(self.ask[0], "-c", script, env={**ALONE, "MACHINE": str(replayed()[0])}).strip(),
                         str(self.answers(file=self.one_question(str(replayed()[0])))[0]["schema"]))


@unittest.skipUnless(shutil.which("npm"), "npm is not installed: tools/install-dependencies --test")
class Npm(Carried, SocketCase):
    KIND = "node"

    @classmethod
    def installed(cls):
        cls.folder_of_project = cls.place / "project"
        cls.folder_of_project.mkdir()
        (cls.folder_of_project / "package.json").write_text('{"private": true}', encoding="utf-8")
        run("npm", "install", "--offline", "--no-audit", "--no-fund", f"--cache={cls.place}/cache", *cls.packages.glob("*.tgz"),
            cwd=cls.folder_of_project)
        shutil.copy(ASK / "ask.mjs", cls.folder_of_project)
        return [shutil.which("node"), cls.folder_of_project / "ask.mjs"]

    def test_has_the_command(self):
        direct = run(BIN / "gpuprobectl", "--version")
        self.assertEqual(run(self.folder_of_project / "node_modules/.bin/gpuprobectl", "--version", env=ALONE), direct)

    def test_names_the_program_as_an_optional_dependency(self):
        found = json.loads((self.folder_of_project / "node_modules/gpuprobe/package.json").read_text(encoding="utf-8"))
        (name,) = found["optionalDependencies"]
        program = json.loads((self.folder_of_project / f"node_modules/{name}/package.json").read_text(encoding="utf-8"))
        self.assertEqual((program["os"], program["version"]), (["linux"], found["optionalDependencies"][name]))


@built_clients.needs_go
class GoModule(Carried, SocketCase):
    KIND = "go"

    @classmethod
    def installed(cls):
        (archive,) = cls.packages.glob("*.tar.gz")
        with tarfile.open(archive) as members:
            members.extractall(cls.place)
        module = cls.place / archive.name.removesuffix(".tar.gz")
        project = cls.place / "project"
        project.mkdir()
        shutil.copy(ASK / "ask.go", project / "main.go")
        (project / "go.mod").write_text("module example\n\ngo 1.19\n", encoding="utf-8")
        environment = {**built_clients.go_environment(), "GOWORK": "off", "GOFLAGS": "-mod=mod", "HOME": str(cls.place)}
        run("go", "mod", "edit", "-require=gpuprobe.invalid/gpuprobe@v0.0.0", f"-replace=gpuprobe.invalid/gpuprobe={module}",
            cwd=project, env=environment)
        run("go", "vet", "./...", cwd=module, env=environment)
        run("go", "build", "-o", cls.place / "ask", ".", cwd=project, env=environment)
        return [cls.place / "ask"]

    def test_contains_the_program(self):
        self.assert_contains("program/gpuprobectl-", "LICENSES/MIT.txt", "interface.go")


@built_clients.needs_rust
class RustCrate(Carried, SocketCase):
    KIND = "rust"

    @classmethod
    def installed(cls):
        (archive,) = cls.packages.glob("*.tar.gz")
        with tarfile.open(archive) as members:
            members.extractall(cls.place)
        crate = cls.place / archive.name.removesuffix(".tar.gz")
        project = cls.place / "project"
        (project / "src").mkdir(parents=True)
        shutil.copy(ASK / "ask.rs", project / "src/main.rs")
        (project / "Cargo.toml").write_text(f'[package]\nname = "ask"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nserde_json = "1"\n'
                                            f'gpuprobe-client = {{ path = "{crate}", features = ["bundled"] }}\n', encoding="utf-8")
        run("cargo", "build", "--quiet", "--offline", cwd=project,
            env={**built_clients.cargo_environment(cls.place / "cargo"), "CARGO_TARGET_DIR": str(built_clients.RUST_TARGET), "HOME": str(cls.place)})
        return [shutil.copy(built_clients.RUST_TARGET / "debug/ask", cls.place)]

    def test_contains_the_program(self):
        self.assert_contains("program/", "LICENSES/MIT.txt", "src/interface.rs")

if __name__ == "__main__":
    unittest.main()
