# SPDX-License-Identifier: Apache-2.0
"""Tests that gpuprobectl, if root runs it with a user's variables and folders, never follows this user's links when it creates or replaces files."""
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import unittest

from cli_case import CTL, SOURCE, environment

MACHINE = str(SOURCE / "tests/data/machines/nvidia-h200-4")
SOMEBODY = 54321  # a user who owns nothing on this machine
OLD = "old\n"


@unittest.skipUnless(os.geteuid() == 0, "only root can give files to another user")
class RootInTheHomeOfAUser(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.home = self.folder / "home"
        self.home.mkdir()
        self.precious = self.folder / "precious"
        self.precious.mkdir()
        for name in ("probes", "report.json", "gpuprobe.prom", "overrides.json"):
            (self.precious / name).write_text(OLD, encoding="utf-8")
        self.before = self.look()
        self.give(self.home)
        self.own = pathlib.Path(pwd.getpwuid(0).pw_dir) / ".cache/gpuprobe"
        if not self.own.exists():
            self.addCleanup(shutil.rmtree, self.own, ignore_errors=True)

    def give(self, path):
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)

    def link(self, name, target):
        """Makes a symbolic link in the user's home folder. The user owns the link and the folders above the link."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        for one in (path, *path.parents):
            if self.home in one.parents:
                self.give(one)
        return path

    def look(self):
        return {path.name: path.read_text(encoding="utf-8") if path.is_file() else "" for path in self.precious.iterdir()}

    def run_as_root(self, *words, code=0, **more):
        settings = {"HOME": str(self.home), "XDG_CACHE_HOME": None, "XDG_STATE_HOME": None, **more}
        done = subprocess.run([CTL, *words], env=environment(**settings), capture_output=True, text=True, timeout=100,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(self.look(), self.before)
        return done

    def test_keeps_no_cache_below_a_link_at_any_level(self):
        for level in (".cache", ".cache/gpuprobe", ".cache/gpuprobe/probes"):
            with self.subTest(level):
                target = self.precious / "probes" if level.endswith("probes") else self.precious
                path = self.link(level, target)
                self.run_as_root("--direct", "status")
                self.assertTrue(path.is_symlink())
                shutil.rmtree(self.home / ".cache") if level != ".cache" else path.unlink()

    def test_keeps_nothing_in_a_home_of_another_user(self):
        self.run_as_root("--direct", "status")
        self.assertEqual(list(self.home.iterdir()), [])
        self.run_as_root("--direct", "status", XDG_CACHE_HOME=str(self.home / "x"), XDG_STATE_HOME=str(self.home / "y"))
        self.assertEqual(list(self.home.iterdir()), [])

    def test_keeps_a_cache_in_its_own_home_instead(self):
        self.run_as_root("--direct", "status")
        self.assertTrue((self.own / "probes").is_file())

    def test_says_nothing_to_a_user_whose_home_is_closed(self):
        closed = self.folder / "closed"
        closed.mkdir()
        done = subprocess.run([CTL, "--direct", "status"], env=environment(HOME=str(closed)), capture_output=True,
                              text=True, timeout=100, check=False, user=SOMEBODY, group=SOMEBODY, extra_groups=[])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list(closed.iterdir()), [])

    def test_makes_no_folder_for_workers_in_the_users_temporary_folder(self):
        temporary = self.home / "tmp"
        temporary.mkdir()
        self.give(temporary)
        before = os.stat(temporary).st_mtime_ns
        self.run_as_root("--direct", "--no-cache", "status", TMPDIR=str(temporary))
        self.assertEqual(os.stat(temporary).st_mtime_ns, before)

    def test_follows_no_link_to_a_file_that_it_writes(self):
        for name, words in (("report.json", ("--direct", "doctor", "--bug-report")),):
            with self.subTest(name):
                path = self.link(name, self.precious / name)
                done = subprocess.run([CTL, *words, str(path)],
                                      env=environment(HOME=str(self.home)), capture_output=True, text=True, timeout=100,
                                      check=False)
                self.assertIn(done.returncode, (0, 4, 6), done.stderr)
                self.assertEqual(self.look(), self.before)

    def test_writes_into_no_folder_that_is_a_link(self):
        way = self.link("way", self.precious)
        done = self.run_as_root("--direct", "doctor", "--bug-report", f"{way}/report.json", code=1)
        self.assertIn("is a link that user", done.stderr)
        self.run_as_root("--direct", "--no-cache", "capture", f"{way}/capture", code=1)
        self.run_as_root(f"--replay={MACHINE}", "export", "prometheus", "--output", f"{way}/gpuprobe.prom", code=1)

    def test_captures_through_a_link_of_its_own(self):
        (self.folder / "real").mkdir()
        (self.folder / "own").symlink_to("real")
        self.run_as_root("--direct", "--no-cache", "capture", str(self.folder / "own"))
        self.assertEqual(json.loads((self.folder / "real/capture.json").read_text(encoding="utf-8"))["schema"], 1)

    def test_captures_into_an_open_folder_without_following_what_others_put_there(self):
        target = self.folder / "open"
        target.mkdir()
        self.run_as_root("--direct", "--no-cache", "capture", str(target))
        shutil.rmtree(target / "root")
        target.chmod(0o777)
        (target / "root").symlink_to(self.precious)
        self.give(target / "root")
        self.run_as_root("--direct", "--no-cache", "capture", str(target / "root/inside"), code=1)


if __name__ == "__main__":
    unittest.main()
