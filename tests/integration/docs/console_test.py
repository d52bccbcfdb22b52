# SPDX-License-Identifier: Apache-2.0
"""Runs every command on the documentation pages in the root folder and in docs/.

In a block marked `console`, each line "$ command" is run, and must print the lines that follow; a line "…" matches any
lines, and "…" within a line matches any text. A block marked `sh` is run as a script and must succeed. The commands of README and of "Getting
started" are run in tools/tour, which users of these two pages start first. For the commands of all other pages, there is a system bus with a daemon
that replays the captured H200, as in the examples.
"""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
MACHINE = SOURCE / "tests/data/machines/nvidia-h200-1"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
# {beginning of a command: the reason why the test does not run the command}.
NOT_RUN = {
    "varlinkctl": "Debian 12 has no varlinkctl; tests/system/guest runs it on Debian 13",
    "tools/build": "takes minutes, and is how this test's programs were built",
    "tools/quickstart": "the class Quickstart runs it",
    "tools/test": "takes minutes, and runs this test",
    "tools/fuzz": "takes minutes; tools/test --all runs it",
    "tools/torture": "takes minutes; tests/integration/torture runs it for a shorter time",
    "tools/interface-files": "writes files of the source; lint.dbus compares them",
    "cmake --preset": "takes minutes; bench/run uses that build",
    "ctest": "runs all tests, including this test",
    "go mod": "needs a folder with the Go client; tests/integration/languages builds programs with it",
    "scp ": "needs another machine",
    "podman ": "needs images from the network; tests/integration/fleet reads the Containerfile",
    "systemctl ": "needs a running systemd; tests/system enables these units",
    "sudo ": "changes the machine",
    "gpuprobectl export otlp | curl": "needs a collector; tools/test --collector runs one",
    "ffmpeg -hwaccel vaapi": "needs a GPU; tests/integration/backends/ffmpeg_test.py runs such commands with our own VA driver",
    'cd "$(mktemp -d)" && strace': "needs strace and a vendor's driver",
}

TOUR = (SOURCE / "README.md", SOURCE / "docs/getting-started.md")
OTHERS = [page for folder in ("", "docs", "docs/internals") for page in sorted((SOURCE / folder).glob("*.md")) if page not in TOUR]


def commands(page):
    """Yields (command, expected lines or None) for each command that this test runs."""
    for language, text in FENCE.findall(page.read_text(encoding="utf-8")):
        pairs = {"console": steps, "sh": lambda text: [(text.strip(), None)]}.get(language, lambda _: [])(text)
        yield from ((command, wanted) for command, wanted in pairs if not command.removeprefix("./").startswith(tuple(NOT_RUN)))


def is_command(line):
    """Returns whether a line of a block without a language begins with a program or with a shell prompt."""
    word = re.sub(r"^(?:[A-Z_]+=\S* )*", "", line).split(" ")[0]
    return line.startswith(("$ ", *NOT_RUN)) or bool(re.match(r"[\w./-]+$", word) and (
        shutil.which(word, path=f"{BIN}:/usr/bin:/bin") or (SOURCE / word).is_file()))


def steps(text):
    """Yields (command, expected lines) for each command in a console block."""
    command, wanted = None, []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, wanted
            command, wanted = line[2:], []
        else:
            wanted.append(line)
    if command:
        yield command, wanted


def pattern_of(wanted):
    parts = [r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in wanted]
    return "".join(parts) + r"\Z"


class Console(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            cls.folder = stack.enter_context(tempfile.TemporaryDirectory())
            bus = subprocess.Popen(
                ["dbus-daemon", "--session", "--nofork", "--print-address=1",
                 f"--address=unix:path={cls.folder}/bus"], stdout=subprocess.PIPE, text=True)
            stack.callback(lambda: (bus.terminate(), bus.wait(), bus.stdout.close()))
            address = bus.stdout.readline().strip()
            daemon = subprocess.Popen([BIN / "gpuprobed", f"--bus={address}", f"--socket={cls.folder}/socket", f"--replay={MACHINE}",
                                       f"--state-dir={cls.folder}/state", f"--cache-dir={cls.folder}/cache"])
            stack.callback(lambda: (daemon.terminate(), daemon.wait()))
            cls.environment = {
                "PATH": f"{BIN}:/usr/bin:/bin", "HOME": cls.folder, "LANG": "C.UTF-8", "COLUMNS": "100",
                "DBUS_SYSTEM_BUS_ADDRESS": address, "GPUPROBE_SOCKET": f"{cls.folder}/socket",
                # Let the commands use the packages for Python and C as if these were
                # installed.
                "PYTHONPATH": f"{SOURCE}/src/python:{SOURCE}/src/variant_provider", "CPATH": str(SOURCE / "include"),
                "LIBRARY_PATH": str(BIN), "LD_LIBRARY_PATH": str(BIN)}
            if sanitizer := os.environ.get("GPUPROBE_SANITIZE"):  # the library is built with these sanitizers
                wrapper = pathlib.Path(cls.folder, "bin/cc")
                wrapper.parent.mkdir()
                wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/cc -fsanitize={sanitizer} "$@"\n', encoding="utf-8")
                wrapper.chmod(0o755)
                cls.environment["PATH"] = f"{wrapper.parent}:{cls.environment['PATH']}"
            while cls.run_command("busctl status org.gpuprobe.GpuProbe1 >/dev/null 2>&1").returncode:
                if daemon.poll() is not None:
                    raise RuntimeError("gpuprobed ended")
                time.sleep(0.02)
            cls.addClassCleanup(stack.pop_all().close)

    @classmethod
    def run_command(cls, command):
        return subprocess.run(["/bin/bash", "-c", command], cwd=SOURCE, env=cls.environment, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_every_command_is_in_a_block_that_is_run_or_has_a_reason(self):
        blocks = [(page.name, *block) for page in (*TOUR, *OTHERS) for block in FENCE.findall(page.read_text(encoding="utf-8"))]
        unmarked = [(page, text.split("\n")[0]) for page, language, text in blocks if not language and is_command(text.split("\n")[0])]
        self.assertEqual(unmarked, [], "mark these blocks as console or sh")
        shown = "\n".join(text.replace("./", "") for _, _, text in blocks)
        self.assertEqual([start for start in NOT_RUN if start not in shown], [], "no page shows these commands")

    def test_every_command_prints_what_the_page_shows(self):
        ran = 0
        for page in OTHERS:
            for command, wanted in commands(page):
                with self.subTest(page=page.name, command=command):
                    result = self.run_command(command)
                    ran += 1
                    if wanted is None:
                        self.assertEqual(result.returncode, 0, result.stdout)
                    elif not re.match(pattern_of(wanted), result.stdout):
                        self.assertEqual(result.stdout, "\n".join(wanted) + "\n")
        self.assertGreater(ran, 10)


class Changelog(unittest.TestCase):
    def test_has_short_entries_each_on_one_line(self):
        entries = (SOURCE / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1].split("\n\n")[-1].strip().split("\n")
        self.assertEqual([line for line in entries if not line.startswith("- ") or len(line) > 150], [])
        self.assertLessEqual(len(entries), 12)


class Tour(unittest.TestCase):
    """Tests the commands of README and of "Getting started", which are typed one after another into tools/tour."""
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = {"GPUPROBE_BIN": str(BIN), "PATH": "/usr/bin:/bin", "HOME": folder.name, "LANG": "C.UTF-8", "COLUMNS": "100"}

    def tour(self, *words, typed=""):
        return subprocess.run([SOURCE / "tools/tour", *words], cwd=SOURCE, env=self.environment, input=typed, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def test_every_command_prints_what_readme_shows(self):
        self.check(TOUR[0], at_least=3)

    def test_every_command_prints_what_the_page_for_newcomers_shows(self):
        self.check(TOUR[1], at_least=15)

    def check(self, page, at_least):
        self.assertIn("./tools/tour", page.read_text(encoding="utf-8"))
        pairs = list(commands(page))
        self.assertGreater(len(pairs), at_least)
        done = self.tour(typed="".join(f"{{ {command}\n}} </dev/null\nprintf '\\f'\n" for command, _ in pairs))
        self.assertEqual(done.returncode, 0, done.stdout)
        banner, answers = done.stdout.split("\n", 1)
        self.assertIn("until 'exit'", banner)
        answers = answers.split("\f")
        self.assertEqual((len(answers), answers[-1]), (len(pairs) + 1, ""))
        for (command, wanted), answer in zip(pairs, answers):
            with self.subTest(command=command):
                if not re.match(pattern_of(wanted), answer):
                    self.assertEqual(answer, "\n".join(wanted) + "\n")

    def test_can_be_repeated(self):
        """Tests that the commands leave only gpuprobe's cache and state in the home folder, so that they can be run again."""
        for _ in range(2):
            self.check(TOUR[1], at_least=15)
        home = pathlib.Path(self.environment["HOME"])
        left = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
        own = {path for path in left if path.startswith((".cache/gpuprobe/", ".local/state/gpuprobe/"))}
        self.assertEqual(left - own, set())

    def test_ends_as_its_command_and_leaves_nothing(self):
        done = self.tour("sh", "-c", 'echo "$DBUS_SYSTEM_BUS_ADDRESS"; exit 7')
        self.assertEqual(done.returncode, 7, done.stdout)
        self.assertFalse(pathlib.Path(done.stdout.strip().removeprefix("unix:path=")).parent.exists())

    def test_here_it_is_this_machine(self):
        told = self.tour("--here", "gpuprobectl", "describe", "-j")
        self.assertEqual(told.returncode, 0, told.stdout)
        self.assertNotIn("replay", told.stdout)

    def test_says_what_its_daemon_said(self):
        broken = pathlib.Path(self.environment["HOME"], "bin")
        broken.mkdir()
        (broken / "gpuprobectl").symlink_to(BIN / "gpuprobectl")
        (broken / "gpuprobed").write_text("#!/bin/sh\necho no such machine >&2\nexit 1\n", encoding="utf-8")
        (broken / "gpuprobed").chmod(0o755)
        self.environment["GPUPROBE_BIN"] = str(broken)
        done = self.tour("true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\Atools/tour: the daemon did not start:\n(.*\n)*no such machine\n\Z")


class Quickstart(unittest.TestCase):
    def test_shows_the_main_job_directly_and_through_a_daemon(self):
        home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, home)
        environment = {**os.environ, "GPUPROBE_BIN": str(BIN), "HOME": home}
        result = subprocess.run([SOURCE / "tools/quickstart"], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=100)
        self.assertEqual(result.returncode, 0, result.stdout)
        for wanted in ("default: CPU" if not pathlib.Path("/dev/nvidia0").exists() else "default:",
                       "Candidates", "requested=auto", '"Backend"', "busctl call"):
            self.assertIn(wanted, result.stdout)
        self.assertRegex(result.stdout, r"\n==> done in \d+ min \d+ s; what to type next\n")
        self.assertIn(". tools/env", result.stdout.split("what to type next")[1])

    def test_refuses_what_it_does_not_know(self):
        for words in (["--nope"], ["--package"], ["--package", "/nonexistent.deb"]):
            result = subprocess.run([SOURCE / "tools/quickstart", *words], capture_output=True, text=True, timeout=20)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn("--package", result.stderr)


class Announced(unittest.TestCase):
    """Tests the messages of tools/quickstart before it downloads or compiles anything, in a source tree of 200 files that has not been built."""
    APT_GET = """#!/bin/sh
[ "$1" = update ] && exit
for share in 0.0 12.5 25.0 60.1 100.0; do echo "dlstatus:1:$share:words" >&3; done
echo "pmstatus:package:33.3:words" >&3
echo "much that nobody reads"
[ -z "$BROKEN" ] || { echo "E: no space left" >&2; exit 100; }
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        for name in ("tools", "src", "bin"):
            (self.tree / name).mkdir()
        for name in ("quickstart", "install-dependencies", "install-packages"):
            shutil.copy(SOURCE / "tools" / name, self.tree / "tools")
        for number in range(200):
            (self.tree / f"src/{number}.cpp").touch()
        (self.tree / "package.deb").touch()
        self.program("apt-get", self.APT_GET)
        self.program("dpkg-query", "#!/bin/sh\nexit 1\n")
        self.program("nproc", "#!/bin/sh\necho 2\n")
        self.program("id", "#!/bin/sh\necho 0\n")
        self.program("tools/build", "#!/bin/sh\necho '[1/2] one'; echo '[2/2] two'; exit 1\n", self.tree)

    def program(self, name, text, folder=None):
        path = (folder or self.tree / "bin") / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def quickstart(self, *words, **settings):
        environment = {"PATH": f"{self.tree}/bin:/usr/bin:/bin", "HOME": str(self.tree), **settings}
        return subprocess.run([self.tree / "tools/quickstart", *words], env=environment, stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=60)

    def test_the_time_of_all_of_it_comes_first(self):
        done = self.quickstart()
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"""\A
==> this takes about 6 minutes: 2 for \d\d packages and what they need, from Debian, 4 to compile on 2 processors, then this machine answers

==> 1 of 3: packages
==> installing with apt-get: build-essential .*
    download 0 %
    download 25 %
    download 50 %
    download 100 %
    install 25 %

==> 2 of 3: the build, in build/release
\[1/2\] one
\[2/2\] two
\Z""")

    def test_each_step_is_shown_when_it_is_done(self):
        self.program("dpkg-query", "#!/bin/sh\necho installed\n")
        self.program("tools/build", f"#!/bin/sh\necho '[1/2] one'; cat {self.tree}/fifo; exit 1\n", self.tree)
        os.mkfifo(self.tree / "fifo")
        environment = {"PATH": f"{self.tree}/bin:/usr/bin:/bin", "HOME": str(self.tree)}
        child = subprocess.Popen([self.tree / "tools/quickstart"], env=environment, stdout=subprocess.PIPE, text=True)
        with child:
            self.assertIn("[1/2] one\n", iter(child.stdout.readline, ""))
            (self.tree / "fifo").write_text("[2/2] two\n", encoding="utf-8")
            self.assertEqual(child.stdout.read(), "[2/2] two\n")

    def test_so_it_does_for_a_package(self):
        done = self.quickstart("--package", str(self.tree / "package.deb"), BROKEN="yes")
        self.assertNotEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("\n==> this takes about a minute: "), done.stdout)
        self.assertIn("    download 100 %\n", done.stdout)
        self.assertTrue(done.stdout.endswith("much that nobody reads\nE: no space left\n"), done.stdout)

    def test_a_build_that_is_there_takes_seconds(self):
        self.program("dpkg-query", "#!/bin/sh\necho installed\n")
        (self.tree / "build/release/src").mkdir(parents=True)
        self.program("gpuprobectl", "#!/bin/sh\n", self.tree / "build/release/src")
        told = self.quickstart().stdout
        self.assertTrue(told.startswith("\n==> this takes seconds: "), told)
        self.assertNotIn("apt-get", told)

    def test_says_what_is_missing_to_who_may_not_install(self):
        self.program("id", "#!/bin/sh\necho 1000\n")
        (self.tree / "bin/apt-get").unlink()
        done = self.quickstart("--package", str(self.tree / "package.deb"), PATH=f"{self.tree}/bin:{self.without_sudo()}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"neither root nor sudo to install them:\n  {self.tree}/package.deb\n", done.stdout)

    def missing(self, *words):
        return subprocess.run([self.tree / "tools/install-dependencies", *words], capture_output=True, text=True, timeout=20, check=False,
                              env={"PATH": f"{self.tree}/bin:/usr/bin:/bin"})

    def test_options_of_what_is_missing_add_up_and_a_list_installs_nothing(self):
        self.program("apt-get", "#!/bin/sh\necho installed\n")
        for words in (["--list", "--test", "--system"], ["--system", "--test", "--list"]):
            done = self.missing(*words)
            names = done.stdout.split()
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.assertLessEqual({"cmake", "chromium", "debhelper"}, set(names))
            self.assertEqual(len(names), len(set(names)))
            self.assertNotIn("installed", names)

    def test_an_unknown_option_installs_nothing(self):
        done = self.missing("--list", "--al")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("unknown option '--al'", done.stderr)

    def without_sudo(self):
        folder = self.tree / "programs"
        folder.mkdir()
        for name in ("bash", "env", "dirname", "realpath"):
            (folder / name).symlink_to(shutil.which(name))
        return folder


class Environment(unittest.TestCase):
    """Tests `. tools/env` in a tree in which only the program is built."""

    def test_puts_the_built_programs_first(self):
        with tempfile.TemporaryDirectory() as tree:
            for name in ("tools/env", "data/completions/gpuprobectl.bash"):
                target = pathlib.Path(tree, name)
                target.parent.mkdir(parents=True)
                shutil.copy(SOURCE / name, target)
            built = pathlib.Path(tree, "build/release/src/gpuprobectl")
            built.parent.mkdir(parents=True)
            built.symlink_to(BIN / "gpuprobectl")
            for shell, folder in (("bash", "/"), ("zsh", "/"), ("dash", tree)):
                script = f"cd {folder}; . {tree}/tools/env; command -v gpuprobectl"
                found = subprocess.run([shell, "-c", script], capture_output=True, text=True, timeout=20)
                self.assertEqual((found.stdout, found.stderr), (f"{built}\n", ""), shell)

    def test_says_how_to_build_where_nothing_is(self):
        with tempfile.TemporaryDirectory() as tree:
            pathlib.Path(tree, "tools").mkdir()
            shutil.copy(SOURCE / "tools/env", pathlib.Path(tree, "tools"))
            told = subprocess.run(["bash", "-c", f". {tree}/tools/env"], capture_output=True, text=True, timeout=20)
            self.assertIn("tools/quickstart", told.stderr)


if __name__ == "__main__":
    unittest.main()
