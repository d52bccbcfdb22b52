# SPDX-License-Identifier: Apache-2.0
"""Tests that docs/examples/install-what-fits.sh installs the right variant with a daemon, with a capture and on the test machine."""
import hashlib
import io
import json
import pathlib
import platform
import shutil
import tarfile

from examples_test import BIN, EXAMPLES, H200, SOURCE, ExampleCase

SCRIPT = EXAMPLES / "install-what-fits.sh"
CTL = BIN / "gpuprobectl"
BARE = SOURCE / "tests/data/machines/software-only"
HINT = "tool needs a GPU: rent one"
CUDA = {"device": {"backend": "cuda"}}
OLD_CUDA = {"device": {"backend": "cuda", "cuda": {"toolkit": "12.4", "sass": ["7.5"], "exact": True}}}


class Installer(ExampleCase):
    def setUp(self):
        super().setUp()
        self.archives = pathlib.Path(self.folder, "archives")
        self.archives.mkdir()
        self.prefix = pathlib.Path(self.folder, "prefix")
        self.manifest = pathlib.Path(self.folder, "manifest.json")
        self.variants = {}

    def add(self, name, requires, tier, test="exit 0"):
        """Adds a build whose self-test runs the given shell commands."""
        program = f"#!/bin/sh\n{test}\n".encode()
        archive = self.archives / f"tool-{name}.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            member = tarfile.TarInfo("bin/self-test")
            member.mode, member.size = 0o755, len(program)
            tar.addfile(member, io.BytesIO(program))
        content = archive.read_bytes()
        self.variants[name] = {
            "family": name.rstrip("0123456789"),
            "tier": tier,
            "requires": requires,
            "artifact": {
                "type": "file",
                "urls": [f"https://example.org/1.0/{archive.name}"],
                "sha256": hashlib.sha256(content).hexdigest(),
                "size": len(content),
            },
        }
        return archive

    def write_manifest(self):
        builds = {"on_none": "error", "none_hint": HINT, "variants": self.variants}
        platforms = {f"linux-{arch}": builds for arch in ("x86_64", platform.machine())}
        document = {"schema": "gpuprobe.variants/1", "name": "tool", "platforms": platforms}
        self.manifest.write_text(json.dumps(document), encoding="utf-8")

    def install(self, *options, machine=None):
        self.write_manifest()
        options = options or (f"--replay={machine or H200}",)
        return self.run_example(machine or H200, SCRIPT, self.manifest, self.archives, self.prefix,
                                GPUPROBECTL=" ".join((str(CTL), *options)))

    def assert_installed(self, done, name):
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertIn(f"installed {name} in", done.stderr)
        self.assertEqual((self.prefix / "current").resolve(), (self.prefix / name).resolve())
        self.assertTrue((self.prefix / "current/bin/self-test").exists())
        self.assert_nothing_else(name, "current")

    def assert_nothing_else(self, *names):
        self.assertEqual(sorted(path.name for path in self.prefix.iterdir()), sorted(names))

    def everyone(self):
        """Returns {source of the answers: the option that selects the source}."""
        return {"a daemon": f"--socket={self.socket}", "a capture": f"--replay={H200}"}

    def test_installs_the_first_of_the_chain_and_says_why(self):
        self.add("cuda12", CUDA, 400)
        self.add("cuda11", OLD_CUDA, 300)
        self.add("cpu", {}, 0)
        for who, option in self.everyone().items():
            with self.subTest(who):
                done = self.install(option)
                self.assert_installed(done, "cuda12")
                self.assertIn("cuda12 on NVIDIA H200 (pci:0000:00:06.0)", done.stderr)
                self.assertIn("the build has no kernels for the GPU's architecture 9.0", done.stderr)
                self.assertIn(f"{self.archives}/tool-cuda12.tar.gz is the variant cuda12 of tool", done.stderr)

    def test_takes_the_one_file_beside_it_where_nothing_is_installed(self):
        self.add("cpu", {}, 0)
        script = pathlib.Path(shutil.copy(SCRIPT, self.folder))
        portable = script.parent / f"gpuprobe-linux-{platform.machine()}"
        portable.write_text(f'#!/bin/sh\nexec {CTL} --replay={H200} "$@"\n', encoding="utf-8")
        portable.chmod(0o755)
        self.write_manifest()
        for name, *shell in (("dash",), ("busybox", "sh")):
            program = shutil.which(name)
            if not program:
                continue
            with self.subTest(name):
                done = self.run_example(H200, program, *shell, script, self.manifest, self.archives, self.prefix, PATH="/usr/bin:/bin")
                self.assert_installed(done, "cpu")

    def test_an_archive_that_is_not_what_the_manifest_says_is_refused(self):
        archive = self.add("cuda12", CUDA, 400)
        self.add("cpu", {}, 0)
        for spoil in (lambda content: content[:-1] + bytes([content[-1] ^ 1]), lambda content: content + b"\0"):
            whole = archive.read_bytes()
            archive.write_bytes(spoil(whole))
            done = self.install()
            archive.write_bytes(whole)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("but the manifest expects", done.stderr)
            self.assert_nothing_else()
        archive.unlink()
        done = self.install()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"{archive}: No such file", done.stderr)
        self.assert_nothing_else()

    def test_a_build_that_does_not_work_makes_room_for_the_next(self):
        self.add("cuda12", CUDA, 400, "echo no kernel image is available; exit 1")
        self.add("cuda11", CUDA, 300, "exit 1")
        self.add("cpu", {}, 0)
        for who, option in self.everyone().items():
            with self.subTest(who):
                done = self.install(option)
                self.assert_installed(done, "cpu")
                self.assertIn("tool: cuda12 does not work here: no kernel image is available\n", done.stderr)
                self.assertIn("tool: cuda11 does not work here", done.stderr)

    def test_what_failed_once_is_not_tried_again(self):
        self.add("fast", {}, 400, 'echo run >>"$HOME/runs"; echo illegal instruction; exit 1')
        self.add("slow", {}, 0)
        self.run_example(H200, "true")
        for who in (f"--socket={self.socket}", "--direct"):
            with self.subTest(who):
                runs = pathlib.Path(self.folder, "runs")
                runs.unlink(missing_ok=True)
                self.assert_installed(self.install(who), "slow")
                again = self.install(who)
                self.assert_installed(again, "slow")
                self.assertIn("the application reported a failure: illegal instruction", again.stderr)
                self.assertEqual(runs.read_text(encoding="utf-8"), "run\n")

    def test_ends_with_3_and_the_hint_where_nothing_fits(self):
        self.add("cuda12", CUDA, 400)
        for machine in (BARE, H200):
            if machine == H200:
                self.add("cuda12", CUDA, 400, "exit 1")  # the self-test fails, so no variant is left
            done = self.install(machine=machine)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn("no variant fits", done.stderr)
            self.assertIn(HINT, done.stderr)
            self.assert_nothing_else()

    def test_a_new_build_takes_the_place_of_the_old(self):
        self.add("cpu", {}, 0)
        self.assert_installed(self.install(), "cpu")
        self.add("cpu", {}, 0, "exit 0 # newer")
        self.assert_installed(self.install(), "cpu")
        self.assertIn("newer", (self.prefix / "current/bin/self-test").read_text(encoding="utf-8"))
