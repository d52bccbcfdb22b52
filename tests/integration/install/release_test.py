# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/release with a tagged clone: which files a release contains, and that they are reproducible and signed."""
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BUILD = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent
TAG = "v0.1.0"
# This program replaces the program that tools/portable builds, because that build takes minutes.
PROGRAM = pathlib.Path("/usr/bin/true")
ARCH = platform.machine()
WORD = {"x86_64": "x64", "aarch64": "arm64"}.get(ARCH)
PYTHON = {f"python/{package}-0.1.0{form}" for package in ("gpuprobe", "gpuprobe_variant_provider") for form in (".tar.gz", "-py3-none-any.whl")}
PYTHON |= {f"python/gpuprobe-0.1.0-py3-none-manylinux_2_31_{ARCH}.musllinux_1_1_{ARCH}.whl"}
ABOUT = {"SHA256SUMS", "manifest.json", "gpuprobe-0.1.0.spdx.json"}
NODE = {"gpuprobe-0.1.0.tgz", f"gpuprobe-linux-{WORD}-0.1.0.tgz"}
MADE = PYTHON | NODE | ABOUT | {"gpuprobe-0.1.0.tar.gz", "gpuprobe-go-0.1.0.tar.gz", "gpuprobe-rust-0.1.0.tar.gz"}
NEEDED = ["CMakeLists.txt", "LICENSE", "LICENSES", "README.md", "debian", "tools", "src/go", "src/node", "src/python", "src/rust",
          "src/variant_provider", "data/kubernetes"]


def missing():
    if not WORD:
        return f"no program is made for {ARCH}"
    for program in ("git", "npm", "gpg", "jq", "apt-ftparchive"):
        if not shutil.which(program):
            return f"{program} is not installed: tools/install-dependencies --engines"
    return "" if (SOURCE / ".git").exists() else "this tree is not git's"


# Builds a minimal Debian package with only one file.
DUMMY = """mkdir -p "$3"
cd "$3"
mkdir -p root/DEBIAN root/usr/bin
cp /usr/bin/true root/usr/bin/gpuprobectl
printf 'Package: gpuprobe\\nVersion: 0.1.0\\nArchitecture: all\\nMaintainer: nobody <nobody@example.org>\\nDescription: for a test\\n' >root/DEBIAN/control
dpkg-deb --root-owner-group --build root gpuprobe.deb >&2
rm -r root
"""


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def held_by(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class Releases:
    """Base class of tests that make releases of a tagged clone."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.clone = pathlib.Path(folder.name, "clone")
        cls.environment = {"PATH": os.environ["PATH"], "HOME": folder.name, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                           "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GNUPGHOME": f"{folder.name}/keys"}
        cls.git("clone", "--quiet", "--shared", "--no-checkout", SOURCE, cls.clone)
        # Copy only the files of the source tree that the test needs, because the whole tree has 30,000 files.
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
        # The generated types are from the build that is tested, because building the clone would take
        # minutes.
        done = subprocess.run([(clone or self.clone) / "tools/release", "--built", BUILD, "--program", PROGRAM, *words], env={**self.environment, **settings}, umask=mask,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def clone_with(self, **programs):
        """Makes a tagged clone in which scripts replace some programs in tools/, because the original programs run for an hour."""
        clone = self.folder / "with other programs"
        self.git("clone", "--quiet", self.clone, clone)
        for name, text in programs.items():
            (clone / "tools" / name).write_text("#!/bin/sh\nset -e\n" + text, encoding="utf-8")
        self.git("-C", clone, "commit", "--quiet", "--all", "--message=other programs")
        self.git("-C", clone, "tag", "--delete", TAG)
        self.git("-C", clone, "tag", TAG)
        return clone

    def new_key(self):
        """Makes a home folder for gpg with a key for release@example.org."""
        keys = self.folder / "keys"
        keys.mkdir(mode=0o700)
        self.addCleanup(subprocess.run, ["gpgconf", "--homedir", keys, "--kill", "all"], check=False)
        subprocess.run(["gpg", "--batch", "--homedir", keys, "--passphrase", "", "--quick-generate-key", "release <release@example.org>", "ed25519"],
                       capture_output=True, check=True, timeout=100)
        return keys


@unittest.skipIf(missing(), missing())
class Release(Releases, unittest.TestCase):
    def test_is_the_same_again_and_elsewhere(self):
        one, other = self.folder / "one", self.folder / "other"
        self.release(TAG, one, "--only", "source,python,node,go,rust")
        self.assertEqual(files_in(one), MADE)
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=one, check=True)
        another = self.folder / "another clone"
        self.git("clone", "--quiet", self.clone, another)
        (another / "README.md").write_text("not in the tag", encoding="utf-8")
        self.release("0.1.0", other, "--only", "rust,go,node,python,source", clone=another, mask=0o077, TZ="Asia/Tokyo", LANG="de_DE.UTF-8")
        for name in MADE:
            self.assertEqual((one / name).read_bytes(), (other / name).read_bytes(), name)

    def test_packages_hold_types_and_licences(self):
        made = self.folder / "made"
        self.release(TAG, made, "--only", "go,rust")
        for language, types in (("go", "interface.go"), ("rust", "src/interface.rs")):
            with tarfile.open(made / f"gpuprobe-{language}-0.1.0.tar.gz") as archive:
                names = {name.partition("/")[2] for name in archive.getnames()}
                self.assertLessEqual({types, "LICENSES/MIT.txt", "LICENSES/Apache-2.0.txt", "README.md"}, names)
                self.assertTrue(archive.getmember(f"gpuprobe-{language}-0.1.0/LICENSES/Apache-2.0.txt").isfile())

    def test_a_wheel_of_the_source_distribution_is_the_wheel(self):
        made = self.folder / "made"
        self.release(TAG, made, "--only", "python")
        for archive in made.glob("python/*.tar.gz"):
            again = self.folder / "again"
            subprocess.run(["/usr/bin/python3", "-m", "pip", "--quiet", "wheel", "--no-deps", "--no-index", "--no-build-isolation",
                            "--wheel-dir", again, archive], check=True, env=self.environment, capture_output=True, timeout=100)
            with tarfile.open(archive) as held:
                top = archive.name.removesuffix(".tar.gz")
                self.assertEqual({name.partition("/")[0] for name in held.getnames()}, {top})
                self.assertEqual({(member.uid, member.gid, member.uname) for member in held.getmembers()}, {(0, 0, "")})
        wheels = {wheel.name: held_by(wheel) for wheel in made.glob("python/*.whl")}
        built = {wheel.name: held_by(wheel) for wheel in again.iterdir()}
        self.assertEqual({name: wheels.get(name) for name in built}, built)
        (with_program,) = (held for name, held in wheels.items() if name not in built)
        modules = built["gpuprobe-0.1.0-py3-none-any.whl"]
        self.assertEqual({name: with_program.get(name) for name in modules if ".dist-info/" not in name},
                         {name: text for name, text in modules.items() if ".dist-info/" not in name})

    def test_packages_are_without_what_differs_by_machine(self):
        clone = self.clone_with(package=f'{DUMMY}date +%N >gpuprobe.changes\ndate +%N >gpuprobe.buildinfo\n')
        made = self.folder / "made"
        self.release(TAG, made, "--only", "deb", "--check", clone=clone)
        index = ("gpuprobe.deb", "Packages", "Packages.gz", "Release")
        self.assertEqual(files_in(made), ABOUT | {f"debian-{suite}/{name}" for suite in ("bookworm", "trixie", "testing") for name in index})

    @unittest.skipUnless(shutil.which("buildah"), "buildah is not installed: tools/install-dependencies --engines")
    def test_the_image_holds_the_portable_program(self):
        made = self.folder / "made"
        self.release(TAG, made, "--only", "portable,image", "--check")
        program, image = (f"gpuprobe-{what}-{ARCH}{form}" for what, form in (("linux", ""), ("image", ".tar")))
        self.assertEqual(files_in(made), ABOUT | {program, image})
        with tarfile.open(made / image) as archive:
            def blob(about):
                return archive.extractfile("./blobs/" + about["digest"].replace(":", "/"))
            (listed,) = json.load(archive.extractfile("./index.json"))["manifests"]
            manifest = json.load(blob(listed))
            (layer,) = manifest["layers"]
            with tarfile.open(fileobj=blob(layer)) as held:
                (member,) = held.getmembers()
                self.assertEqual((member.name, member.mode & 0o7777, held.extractfile(member).read()), ("gpuprobe", 0o755, PROGRAM.read_bytes()))
            self.assertEqual(json.load(blob(manifest["config"]))["config"]["Entrypoint"], ["/gpuprobe"])

    def test_describes_each_file(self):
        made = self.folder / "made"
        told = self.release(TAG, made, "--only", "python,node,portable,go,rust")
        page = (SOURCE / "docs/packaging.md").read_text(encoding="utf-8").replace("FOLDER", "FILE")
        manifest = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
        self.assertEqual({entry["file"] for entry in manifest["files"]}, files_in(made) - ABOUT)
        for entry in manifest["files"]:
            data = (made / entry["file"]).read_bytes()
            self.assertEqual((entry["size"], entry["sha256"]), (len(data), hashlib.sha256(data).hexdigest()), entry)
            self.assertIn(f"\n    {entry['install']}\n", told)
            self.assertIn("`" + re.sub(r"(\./|python/)?gpuprobe[-_]\S+", "FILE", entry["install"].split(" && ")[-1]), page)
        self.assertIn(f"npm install gpuprobe-0.1.0.tgz gpuprobe-linux-{WORD}-0.1.0.tgz", told)

    def test_has_a_bill_of_materials(self):
        made = self.folder / "made"
        self.release(TAG, made, "--only", "go,source")
        bill = json.loads((made / "gpuprobe-0.1.0.spdx.json").read_text(encoding="utf-8"))
        self.assertEqual((bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        packages = {package["SPDXID"]: package for package in bill["packages"]}
        self.assertEqual(len(packages), len(bill["packages"]))
        for identifier in packages:
            self.assertRegex(identifier, r"^SPDXRef-[a-zA-Z0-9.-]+$")
        relations = [(each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"]) for each in bill["relationships"]]
        self.assertLessEqual({end for one, _, other in relations for end in (one, other)}, {"SPDXRef-DOCUMENT", *packages})
        files = {package["packageFileName"]: package for package in packages.values() if "packageFileName" in package}
        self.assertEqual(set(files), files_in(made) - ABOUT)
        for name, package in files.items():
            self.assertEqual(package["checksums"][0]["checksumValue"], hashlib.sha256((made / name).read_bytes()).hexdigest())
        linked = {packages[other]["name"] for one, kind, other in relations if kind == "STATIC_LINK"}
        # The list contains every library with which the portable program is linked.
        named = set(re.findall(r"^gpuprobe_static_library\(\S+ (\w+)\)$", (SOURCE / "cmake/portable.cmake").read_text(encoding="utf-8"), re.M))
        sys.path.insert(0, str(SOURCE / "tools/packaging"))
        from linked import LIBRARIES
        self.assertEqual({archive for library in LIBRARIES for archive in library.archives}, named)
        self.assertEqual(linked, {library.name for library in LIBRARIES})

    def test_the_licences_of_libraries_are_debians(self):
        sys.path.insert(0, str(SOURCE / "tools/packaging"))
        from linked import LIBRARIES
        of_debian = {"MIT": "Expat", "GPL-2.0-or-later": "GPL-2+", "LGPL-2.1-only": "LGPL-2.1", "Zlib": "zlib", "BSD-3-Clause": "BSD-3-clause",
                     "LGPL-3.0-or-later": "LGPL-3+"}
        for library in LIBRARIES:
            path = pathlib.Path("/usr/share/doc", library.package, "copyright")
            words = [of_debian[word] for word in library.licence.split(" OR ") if word in of_debian]
            if path.exists() and words:
                text = path.read_text(encoding="utf-8").lower()
                self.assertTrue(any(f"license: {word}".lower() in text for word in words), library)

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
        keys = self.new_key()

        def gpg(*words, check=True):
            return subprocess.run(["gpg", "--batch", "--homedir", keys, *words], capture_output=True, text=True, check=check, timeout=100)
        made = self.folder / "made"
        self.release(TAG, made, "--only", "node", "--key", "release@example.org", GNUPGHOME=str(keys))
        self.assertEqual(files_in(made), NODE | ABOUT | {"SHA256SUMS.asc", "gpuprobe.asc"})
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


@unittest.skipIf(missing(), missing())
@unittest.skipUnless(os.geteuid() == 0 and shutil.which("debootstrap"), "needs root and debootstrap: tools/install-dependencies --system")
class AptRepository(Releases, unittest.TestCase):
    """Tests the folder with a suite's packages as the only apt repository of a Debian system."""

    SUITE = "trixie"

    def in_a_debian(self, release, script):
        """Runs a script in a Debian system that has no network; /srv is the folder of the release. All changes that the script makes are
        discarded."""
        root = subprocess.run([SOURCE / "tests/portable/root", self.SUITE], check=True, stdout=subprocess.PIPE, text=True, timeout=1800).stdout.strip()
        around = f"""set -eu
mount -t tmpfs tmpfs /mnt
mkdir /mnt/changes /mnt/work /mnt/root
mount -t overlay -o lowerdir={root},upperdir=/mnt/changes,workdir=/mnt/work overlay /mnt/root
mount --bind {release} /mnt/root/srv
mount --rbind /dev /mnt/root/dev
mount -t proc proc /mnt/root/proc
exec chroot /mnt/root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -euc "$1"
"""
        return subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "sh", "-c", around, "sh", script], capture_output=True, text=True,
                              timeout=600, check=False)

    def test_is_installed_from_a_folder(self):
        made = self.folder / "made"
        keys = self.new_key()
        self.release(TAG, made, "--only", "deb", "--suites", self.SUITE, "--key", "release@example.org", clone=self.clone_with(package=DUMMY),
                     GNUPGHOME=str(keys))
        manifest = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
        (install,) = [entry["install"] for entry in manifest["files"] if entry["file"].endswith("/Release")]
        script = f"rm -rf /etc/apt/sources.list*\nmkdir /etc/apt/sources.list.d\ncd /srv\n{install.replace('apt ', 'apt-get -y ')}\ngpuprobectl"
        done = self.in_a_debian(made, script)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Setting up gpuprobe (0.1.0)", done.stdout)
        with open(made / f"debian-{self.SUITE}/Packages", "a", encoding="utf-8") as index:
            index.write("\n")
        (made / f"debian-{self.SUITE}/Packages.gz").unlink()
        done = self.in_a_debian(made, script)
        self.assertNotEqual(done.returncode, 0, "a changed index was accepted")


if __name__ == "__main__":
    unittest.main()
