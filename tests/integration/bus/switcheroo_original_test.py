# SPDX-License-Identifier: Apache-2.0
"""Runs the tests from Debian's source package of switcheroo-control, with our daemon instead of switcheroo-control.

apt downloads the source into the build folder, where the source is kept. If apt cannot download the source, the test is skipped."""
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
KEPT = BIN.parent / "runtimes/switcheroo-control"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
VERSION = "2.6"


def apt(*words):
    """Runs apt-get with separate package lists, which contain only the source packages of Debian 12."""
    sources = KEPT / "sources.list"
    sources.write_text(f"deb-src [signed-by={KEYS}] http://deb.debian.org/debian bookworm main\n", encoding="utf-8")
    (KEPT / "lists/partial").mkdir(parents=True, exist_ok=True)
    options = [f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=/nonexistent", f"-oDir::State::lists={KEPT}/lists",
               f"-oDir::Cache={KEPT}", "-oDebug::NoLocking=1", "-oAPT::Sandbox::User=", "-qq"]
    try:
        done = subprocess.run(["apt-get", *options, *words], cwd=KEPT, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise unittest.SkipTest(f"apt-get: {error}") from None
    if done.returncode != 0:
        raise unittest.SkipTest(f"apt-get {words[0]}: {(done.stderr.splitlines() or ['failed'])[-1]}")


def original():
    """Returns the folder with the source of switcheroo-control."""
    folder = KEPT / f"switcheroo-control-{VERSION}"
    if not folder.exists():
        if not pathlib.Path(KEYS).exists():
            raise unittest.SkipTest(f"this system is not Debian: {KEYS} is missing")
        KEPT.mkdir(parents=True, exist_ok=True)
        apt("update")
        apt("source", "--download-only", "--tar-only", "switcheroo-control")
        (archive,) = KEPT.glob("switcheroo-control_*.orig.tar.*")
        with tarfile.open(archive) as source:
            source.extractall(KEPT)
    return folder


class SwitcherooOriginal(unittest.TestCase):
    def test_its_own_tests_pass(self):
        if not shutil.which("umockdev-wrapper"):
            self.skipTest("umockdev is not installed")
        source = original()
        with tempfile.TemporaryDirectory() as folder:
            built = pathlib.Path(folder, "src")
            built.mkdir()
            daemon = built / "switcheroo-control"
            daemon.write_text(f"#!/bin/sh\nexec {BIN}/gpuprobed --bus=system --switcheroo --cache-dir={folder}/cache "
                              f"--state-dir={folder}/state\n", encoding="utf-8")
            client = built / "switcherooctl"
            text = (source / "src/switcherooctl.in").read_text(encoding="utf-8")
            client.write_text(text.replace("@PYTHON3@", "/usr/bin/python3"), encoding="utf-8")
            for program in (daemon, client):
                program.chmod(0o755)
            done = subprocess.run(["/usr/bin/python3", source / "tests/integration-test.py", "-v"], capture_output=True, text=True,
                                  env={**os.environ, "top_builddir": folder}, timeout=150, check=False)
        passed = re.findall(r"^(test_\w+) .*(?:\n[^\n]*)?\.\.\. ok$", done.stderr, re.M)
        print(f"switcheroo-control {VERSION}: {', '.join(passed)}")
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = re.findall(r"^\| `(test_\w+)` \|", (SOURCE / "docs/fleet.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(passed), sorted(listed))


if __name__ == "__main__":
    unittest.main()
