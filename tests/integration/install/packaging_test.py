# SPDX-License-Identifier: Apache-2.0
"""Tests the packages for other distributions: the tools of the distributions can read the recipes, and the packages contain all installed files."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BUILD = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent
FOLDER = SOURCE / "tools/packaging"
SPEC = FOLDER / "gpuprobe.spec"


def setting(name):
    """Returns the value of a CMake variable in the tested build."""
    return re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(encoding="utf-8"), re.M)[1]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_command(self, *words, **more):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=200, check=False,
                              stdin=subprocess.DEVNULL, cwd=self.folder, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_have_the_version_of_the_source(self):
        version = re.search(r"project\(gpuprobe VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        self.assertIn(f"\nVersion:        {version}\n", SPEC.read_text(encoding="utf-8"))
        self.assertIn(f"\npkgver={version}\n", (FOLDER / "PKGBUILD").read_text(encoding="utf-8"))
        self.assertIn(f'\nversion = "{version}"\n', (SOURCE / "src/python/pyproject.toml").read_text(encoding="utf-8"))
        self.assertEqual(json.loads((SOURCE / "src/node/package.json").read_text(encoding="utf-8"))["version"], version)

    @unittest.skipUnless(shutil.which("rpmbuild"), "rpmbuild is not installed: tools/install-dependencies --engines")
    def test_rpmbuild_packages_all_that_is_installed(self):
        """Packages this build. rpmbuild fails if no package contains an installed file, or if a listed file does not exist."""
        prefix = setting("CMAKE_INSTALL_PREFIX")
        defined = {"__os_install_post": "%{nil}", "_binary_payload": "w0.gzdio"}
        words = [word for name, value in defined.items() for word in ("--define", f"{name} {value}")]

        def make(folder):
            self.run_command(SOURCE / "tools/packaging/make", "rpm", self.folder / folder, *words,
                             env={**os.environ, "BUILT": str(BUILD)})
            return {path.name: digest(path) for path in (self.folder / folder).rglob("*.rpm")}
        self.assertEqual(make("rpms"), make("again"))
        packages = {path.name.split("-0.")[0]: path for path in (self.folder / "rpms").rglob("*.rpm")}
        self.assertEqual(set(packages), {"gpuprobe", "gpuprobe-devel", "cockpit-gpuprobe"})
        held = {name: self.run_command("rpm", "-qlp", path) for name, path in packages.items()}
        self.assertIn(f"{prefix}/bin/gpuprobectl\n", held["gpuprobe"])
        self.assertIn("/gpuprobe/client.h\n", held["gpuprobe-devel"])
        self.assertIn("/cockpit/gpuprobe/index.html\n", held["cockpit-gpuprobe"])

    @unittest.skipUnless(shutil.which("makepkg"), "makepkg is not installed: tools/install-dependencies --engines")
    def test_makepkg_packages_all_that_is_installed(self):
        def make(folder):
            self.run_command(SOURCE / "tools/packaging/make", "arch", self.folder / folder,
                             env={**os.environ, "BUILT": str(BUILD), "PKGEXT": ".pkg.tar"})
            return {path.name: path for path in (self.folder / folder).glob("*.pkg.tar")}
        packages = make("made")
        self.assertEqual({name: digest(path) for name, path in packages.items()},
                         {name: digest(path) for name, path in make("again").items()})
        self.assertEqual({name.split("-0.")[0] for name in packages}, {"gpuprobe", "cockpit-gpuprobe"})
        held = {name.split("-0.")[0]: self.run_command("tar", "-tf", path) for name, path in packages.items()}
        self.assertIn("/bin/gpuprobectl\n", held["gpuprobe"])
        self.assertNotIn("cockpit", held["gpuprobe"])
        self.assertIn("/cockpit/gpuprobe/index.html\n", held["cockpit-gpuprobe"])

    @unittest.skipUnless(shutil.which("makepkg"), "makepkg is not installed: tools/install-dependencies --engines")
    def test_makepkg_reads_the_pkgbuild(self):
        for name in ("PKGBUILD", "gpuprobe.install"):
            shutil.copy(FOLDER / name, self.folder)
        user = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
            user = ["setpriv", "--reuid=nobody", "--clear-groups"]
        told = self.run_command(*user, "makepkg", "--printsrcinfo",
                                env={"PATH": os.environ["PATH"], "PACMAN": "true", "HOME": str(self.folder)})
        self.assertEqual(re.findall(r"^pkgname = (\S+)", told, re.M), ["gpuprobe", "cockpit-gpuprobe"])


if __name__ == "__main__":
    unittest.main()
