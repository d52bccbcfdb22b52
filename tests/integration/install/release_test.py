# SPDX-License-Identifier: Apache-2.0
"""tools/release, of a clone that has a tag: what it makes, that it makes the same again, and who signed it."""
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
TAG = "v0.1.0"
MADE = {"gpuprobe-0.1.0.tar.gz", "gpuprobe-0.1.0-py3-none-any.whl", "gpuprobe_variant_provider-0.1.0-py3-none-any.whl",
        "gpuprobe-0.1.0.tgz", "SHA256SUMS"}

NEEDED = ["CMakeLists.txt", "README.md", "debian", "tools", "src/python", "src/node", "src/variant_provider"]


def missing():
    for program in ("git", "npm", "gpg"):
        if not shutil.which(program):
            return f"{program} is not installed: tools/install-dependencies --test"
    return "" if (SOURCE / ".git").exists() else "this tree is not git's"


@unittest.skipIf(missing(), missing())
class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.clone = pathlib.Path(folder.name, "clone")
        cls.environment = {"PATH": os.environ["PATH"], "HOME": folder.name, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                           "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GNUPGHOME": f"{folder.name}/keys"}
        cls.git("clone", "--quiet", "--shared", "--no-checkout", SOURCE, cls.clone)
        # Of the tree as it is, what is read here: all of it has 30,000 files.
        for words in (["read-tree", "--empty"], ["add", *NEEDED], ["commit", "--quiet", "--message=release"], ["tag", TAG], ["tag", "0.2.0"]):
            cls.git("-C", SOURCE, f"--git-dir={cls.clone}/.git", f"--work-tree={SOURCE}", *words)
        cls.git("-C", cls.clone, "reset", "--quiet", "--hard")

    @classmethod
    def git(cls, *words):
        subprocess.run(["git", *map(str, words)], check=True, env=cls.environment, stdin=subprocess.DEVNULL, timeout=100)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def release(self, *words, code=0, mask=0o022, clone=None, **settings):
        done = subprocess.run([(clone or self.clone) / "tools/release", *words], env={**self.environment, **settings}, umask=mask,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_is_the_same_again_and_elsewhere(self):
        one, other = self.folder / "one", self.folder / "other"
        self.release(TAG, one, "--only", "source,python,node")
        self.assertEqual({path.name for path in one.iterdir()}, MADE)
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=one, check=True)
        another = self.folder / "another clone"
        self.git("clone", "--quiet", self.clone, another)
        (another / "README.md").write_text("not in the tag", encoding="utf-8")
        self.release("0.1.0", other, "--only", "node,python,source", clone=another, mask=0o077, TZ="Asia/Tokyo", LANG="de_DE.UTF-8")
        for name in MADE:
            self.assertEqual((one / name).read_bytes(), (other / name).read_bytes(), name)

    def test_the_source_is_what_the_tag_holds(self):
        self.release(TAG, self.folder / "made", "--only", "source")
        with tarfile.open(self.folder / "made/gpuprobe-0.1.0.tar.gz") as archive:
            held = {name.partition("/")[2] for name in archive.getnames()} - {""}
            self.assertEqual({(member.uid, member.gid) for member in archive.getmembers()}, {(0, 0)})
            folders = {member.name.partition("/")[2] for member in archive.getmembers() if member.isdir()}
        listed = subprocess.run(["git", "-C", self.clone, "ls-tree", "-r", "-z", "--name-only", TAG], check=True,
                                capture_output=True, text=True).stdout.split("\0")
        self.assertEqual(held - folders, set(listed) - {""})

    def test_is_signed_by_the_key_that_is_named(self):
        keys = self.folder / "keys"
        keys.mkdir(mode=0o700)

        def gpg(*words, check=True):
            return subprocess.run(["gpg", "--batch", "--homedir", keys, *words], capture_output=True, text=True, check=check, timeout=100)
        self.addCleanup(subprocess.run, ["gpgconf", "--homedir", keys, "--kill", "all"], check=False)
        gpg("--passphrase", "", "--quick-generate-key", "release <release@example.org>", "ed25519")
        made = self.folder / "made"
        self.release(TAG, made, "--only", "node", "--key", "release@example.org", GNUPGHOME=str(keys))
        self.assertEqual({path.name for path in made.iterdir()}, {"gpuprobe-0.1.0.tgz", "SHA256SUMS", "SHA256SUMS.asc"})
        gpg("--verify", made / "SHA256SUMS.asc", made / "SHA256SUMS")
        (made / "SHA256SUMS").write_text("nothing\n", encoding="utf-8")
        self.assertNotEqual(gpg("--verify", made / "SHA256SUMS.asc", made / "SHA256SUMS", check=False).returncode, 0)

    def test_a_build_that_is_not_reproducible_fails(self):
        shim = self.folder / "bin/npm"
        shim.parent.mkdir()
        shim.write_text('#!/bin/sh\nfor folder; do :; done\ndate +%N >"$folder/gpuprobe-0.1.0.tgz"\n', encoding="utf-8")
        shim.chmod(0o755)
        path = f"{shim.parent}:{self.environment['PATH']}"
        told = self.release(TAG, self.folder / "made", "--only", "node", "--check", code=1, PATH=path)
        self.assertIn("two builds differ", told)
        self.assertFalse((self.folder / "made/SHA256SUMS").exists())
        self.release(TAG, self.folder / "again", "--only", "node,source", "--check")

    def test_refuses_what_is_no_release(self):
        full = self.folder / "full"
        full.mkdir()
        (full / "file").touch()
        for words, told in (([TAG, full], "is not empty"), (["0.3.0", self.folder / "a"], "there is no tag '0.3.0'"),
                            (["0.2.0", self.folder / "a"], "the tag is 0.2.0, but CMakeLists.txt says 0.1.0"),
                            ([TAG, self.folder / "a", "--only", "snap"], "there is no kind 'snap'"),
                            ([TAG, self.folder / "a", "--key", "nobody"], "no secret key 'nobody'"),
                            ([TAG], "usage"), ([TAG, self.folder / "a", "--key"], "--key takes a value")):
            self.assertIn(told, self.release(*words, code=2), words)
            self.assertFalse((self.folder / "a").exists(), words)


if __name__ == "__main__":
    unittest.main()
