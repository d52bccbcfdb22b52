# SPDX-License-Identifier: Apache-2.0
"""Tests that `cmake --install` installs the right files, and that the installed files work."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

BUILD = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent
EXAMPLE = pathlib.Path(os.environ["GPUPROBE_SOURCE"]) / "docs/examples/run_with_gpu.cpp"
EXPECTED = [
    "bin/gpuprobectl",
    "libexec/gpuprobe/gpuprobectl-whole",
    "libexec/gpuprobe/gpuprobed",
    "libexec/gpuprobe/gpuprobe-worker",
    "lib/systemd/system/gpuprobed.service",
    "lib/systemd/system/gpuprobed-varlink.socket",
    "lib/systemd/system/gpuprobe-worker.socket",
    "lib/systemd/system/gpuprobe-worker@.service",
    "lib/systemd/system/gpuprobe-export@.service",
    "lib/systemd/system/gpuprobe-export@.path",
    "lib/systemd/system/gpuprobe-export@.timer",
    "lib/systemd/system/gpuprobe-export@nfd.service.d/folder.conf",
    "lib/sysusers.d/gpuprobe.conf",
    "lib/tmpfiles.d/gpuprobe.conf",
    "share/dbus-1/system.d/org.gpuprobe.GpuProbe1.conf",
    "share/dbus-1/system-services/org.gpuprobe.GpuProbe1.service",
    "share/dbus-1/interfaces/org.gpuprobe.GpuProbe1.Manager.xml",
    "share/dbus-1/interfaces/org.gpuprobe.GpuProbe1.Gpu.xml",
    "share/polkit-1/actions/org.gpuprobe.policy",
    "share/gpuprobe/schema/report.schema.json",
    "share/gpuprobe/schema/application.schema.json",
    "share/gpuprobe/knowledge/applications/default.json",
    "lib/python3/dist-packages/gpuprobe/_client.py",
    "lib/python3/dist-packages/gpuprobe_variant_provider/__main__.py",
    "lib/systemd/system/gpuprobe-export@wheel-variants.service.d/folder.conf",
    "share/nodejs/gpuprobe/main.js",
    "include/gpuprobe/client.h",
    "include/gpuprobe/gpuprobe.h",
    "include/gpuprobe/interface.hpp",
    "share/bash-completion/completions/gpuprobectl",
    "share/zsh/site-functions/_gpuprobectl",
    "share/fish/vendor_completions.d/gpuprobectl.fish",
]


def configured_prefix():
    cache = pathlib.Path(BUILD, "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(r"^CMAKE_INSTALL_PREFIX:\w+=(.*)$", cache, re.M)[1]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.stage)
        subprocess.run(["cmake", "--install", BUILD], check=True, capture_output=True, env={**os.environ, "DESTDIR": cls.stage})
        cls.root = pathlib.Path(cls.stage + configured_prefix())

    def test_another_prefix_is_refused(self):
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", "/opt/gpus"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("-DCMAKE_INSTALL_PREFIX=/opt/gpus", done.stderr)
        self.assertFalse(pathlib.Path("/opt/gpus").exists())

    def test_everything_is_in_its_place(self):
        for name in EXPECTED:
            self.assertTrue((self.root / name).is_file(), name)

    def test_the_library_shows_its_header_and_nothing_else(self):
        (library,) = self.root.glob("lib/**/libgpuprobe.so")
        told = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
        shown = {line.split()[-1] for line in told.stdout.splitlines()} - {"GPUPROBE_1"}
        header = (self.root / "include/gpuprobe/gpuprobe.h").read_text(encoding="utf-8")
        declared = re.findall(r"^GPUPROBE_PUBLIC [^;]*?(gpuprobe_\w+)\(", header, re.MULTILINE)
        self.assertGreater(len(declared), 10)
        self.assertEqual(shown, {f"{name}@@GPUPROBE_1" for name in declared})

    def test_the_library_needs_libc_alone(self):
        self.need_plain_library()
        (library,) = self.root.glob("lib/**/libgpuprobe.so.1")
        told = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        self.assertEqual(re.findall(r"NEEDED.*\[(.*)\]", told), ["libc.so.6"])
        self.assertIn("SONAME", told)

    def build(self, *command, **more):
        (found,) = self.root.glob("lib/**/pkgconfig")
        settings = {**os.environ, "PKG_CONFIG_PATH": str(found), "CMAKE_PREFIX_PATH": str(self.root), **more}
        done = subprocess.run(list(map(str, command)), env=settings, cwd=self.root, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_runs(self, program):
        (library,) = self.root.glob("lib/**/libgpuprobe.so")
        nowhere = {"LD_LIBRARY_PATH": str(library.parent), "GPUPROBE_SOCKET": "/nonexistent"}
        done = subprocess.run([program, "default", "true"], env=nowhere, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("org.gpuprobe.GpuProbe1.Error.Unavailable", done.stderr)

    def test_a_program_builds_by_what_pkg_config_says(self):
        self.need_plain_library()
        flags = self.build("pkg-config", "--cflags", "--libs", "gpuprobe").split()
        self.assertNotIn("-lsystemd", flags)  # programs link to the shared library, so they do not need libsystemd
        self.build("c++", "-std=c++20", EXAMPLE, *flags, "-o", "by-pkg-config")
        self.assert_runs(self.root / "by-pkg-config")
        self.assertEqual(self.build("pkg-config", "--variable=bus_name", "gpuprobe").strip(), "org.gpuprobe.GpuProbe1")
        interfaces = self.build("pkg-config", "--variable=interfaces_dir", "gpuprobe").strip()
        self.assertTrue((pathlib.Path(interfaces) / "org.gpuprobe.GpuProbe1.Gpu.xml").is_file())

    def need_plain_library(self):
        if os.environ.get("GPUPROBE_SANITIZE"):
            self.skipTest("a program without the sanitizers does not link their library")

    def test_a_program_builds_by_find_package(self):
        self.need_plain_library()
        project = self.root / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(example CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
            f"find_package(gpuprobe 0.1 REQUIRED)\nadd_executable(example {EXAMPLE})\n"
            "target_link_libraries(example PRIVATE gpuprobe::gpuprobe)\n", encoding="utf-8")
        self.build("cmake", "-S", project, "-B", project / "build")
        self.build("cmake", "--build", project / "build")
        self.assert_runs(project / "build/example")

    def test_gpuprobectl_finds_its_worker(self):
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.root)}
        answer = subprocess.run([self.root / "bin/gpuprobectl", "--direct", "probe"], env=environment,
                                capture_output=True, text=True)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("pci", answer.stdout)

    def test_programs_in_python_and_node_ask(self):
        nowhere = {"PATH": f"{self.root}/bin:/usr/bin:/bin", "GPUPROBE_SOCKET": "/nonexistent", "HOME": str(self.root)}
        where = str(self.root / "lib/python3/dist-packages")
        text = "import gpuprobe, importlib.metadata as m; print(gpuprobe.Client().select(only=['cpu'])['backend'], m.version('gpuprobe'))"
        done = subprocess.run(["/usr/bin/python3", "-B", "-c", text], env={**nowhere, "PYTHONPATH": where}, capture_output=True,
                              text=True, timeout=100, check=False)
        self.assertRegex(done.stdout, r"^cpu \d", done.stderr)
        text = "import importlib.metadata as m; print([e.load().namespace for e in m.entry_points(group='variant_plugins')])"
        done = subprocess.run(["/usr/bin/python3", "-B", "-S", "-c", text], env={**nowhere, "PYTHONPATH": where}, capture_output=True,
                              text=True, timeout=100, check=False)
        self.assertEqual(done.stdout, "['nvidia', 'amd', 'intel']\n", done.stderr)
        if not shutil.which("node"):
            self.skipTest("node is not installed")
        done = subprocess.run([shutil.which("node"), self.root / "share/nodejs/gpuprobe/main.js", "org.gpuprobe.Select",
                               '{"request":{"only":["cpu"]}}'], env=nowhere, capture_output=True, text=True, timeout=100, check=False)
        self.assertIn('"backend":"cpu"', done.stdout, done.stderr)

    def test_bus_files_are_well_formed_and_name_the_bus(self):
        policy = ElementTree.parse(self.root / "share/dbus-1/system.d/org.gpuprobe.GpuProbe1.conf")
        owners = [rule.get("own") for rule in policy.iter("allow") if rule.get("own")]
        self.assertEqual(set(owners), {"org.gpuprobe.GpuProbe1"})
        service = (self.root / "share/dbus-1/system-services/org.gpuprobe.GpuProbe1.service").read_text()
        self.assertIn("Name=org.gpuprobe.GpuProbe1\n", service)


if __name__ == "__main__":
    unittest.main()
