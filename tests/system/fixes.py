#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the doctor tells Debian to do, done in roots of Debian 11, 12 and 13.

Usage: fixes.py [SUITE …]     bullseye bookworm trixie

In each root: every package that a cause may name is there and can be installed; every command parses, its program is
there and knows its options; and each fix that does not need the hardware is applied to a root that lacks what it
brings, after which that is there. As root, with debootstrap: five minutes and two gigabytes the first time, kept in
$XDG_CACHE_HOME/gpuprobe/fixes. Status 77 where that can't be, or where GPUPROBE_FIXES is not set.
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gpuprobe" / "fixes"
MIRROR = os.environ.get("GPUPROBE_MIRROR", "http://deb.debian.org/debian")
VERSIONS = {"bullseye": "11", "bookworm": "12", "trixie": "13"}
SECTIONS = {"bullseye": "main contrib non-free"}
# The programs of fixes, and the package that each is in.
PROGRAMS = {"apt": "apt", "chmod": "coreutils", "dkms": "dkms", "dpkg": "dpkg", "modprobe": "kmod", "mokutil": "mokutil", "nvidia-modprobe": "nvidia-modprobe",
            "nvidia-smi": "nvidia-smi", "rmmod": "kmod", "sed": "sed", "systemctl": "systemd", "tee": "coreutils", "udevadm": "udev",
            "update-initramfs": "initramfs-tools", "usermod": "passwd"}
OURS = {"gpuprobectl", "unset"}
# Of no Debian: the package that each is in elsewhere, and the options that its vendor's manual has.
# Source: NVIDIA Container Toolkit 1.20.1, "Support for Container Device Interface", "Generating a CDI Specification".
ELSEWHERE = {"nvidia-ctk": ("nvidia-container-toolkit-base", {"--output"})}
# The beginnings of the commands that are run here besides those that install.
DONE = ("usermod ", "sed s/libGLX")
# What is there once a role's packages are: a file, or a library of the linker's.
BRINGS = {"vulkan-loader": "libvulkan.so.1", "opencl-loader": "libOpenCL.so.1", "mesa-vulkan": "/usr/share/vulkan/icd.d",
          "mesa-opencl": "/etc/OpenCL/vendors/mesa.icd", "intel-opencl": "/etc/OpenCL/vendors/intel.icd", "rocm": "libhsa-runtime64.so.1",
          "amd-firmware": "/usr/lib/firmware/amdgpu", "intel-firmware": "/usr/lib/firmware/i915", "nvidia-firmware": "/usr/lib/firmware/nvidia"}


def tool():
    loader = importlib.machinery.SourceFileLoader("causes", str(SOURCE / "tools" / "knowledge" / "causes"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("causes", loader))
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
CAUSES = tool()


def is_of(name, terms):
    """Whether a fix may be told on that distribution."""
    return all(name in term.split("=", 1)[1].split("|") for term in terms if term.startswith("place.distribution="))


def commands_of(name, version):
    """Those of all causes with what a Debian puts into them; as root, who needs no sudo."""
    row = next(row for row in CAUSES.distributions()["distributions"] if row["id"] == name and "version" not in row)
    packages = CAUSES.packages_of(name, version)
    for cause in CAUSES.causes():
        for pattern in (run for fix in cause.get("fixes", []) if is_of(name, fix.get("when", [])) for run in fix.get("run", [])):
            text = re.sub(r"\{install:([^}]*)\}", lambda found: row["commands"]["install"].format(
                packages.get(found[1], packages.get(found[1].split(".")[0], ""))), pattern)
            text = re.sub(r"\{command:([^}]*)\}", lambda found: row["commands"][found[1]], text)
            text = re.sub(r"\{owner:[^}]*\}", lambda found: row["commands"]["owner"].format("/x"), text)
            yield cause["id"], re.sub(r"\{[^}]*\}", "0", re.sub(r"[\[\]]", "", text)).replace("sudo ", "")


class Root:
    def __init__(self, suite):
        self.path = CACHE / suite
        if not (CACHE / f"{suite}.done").exists():
            shutil.rmtree(self.path, ignore_errors=True)
            CACHE.mkdir(parents=True, exist_ok=True)
            subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", suite, self.path, MIRROR], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            (CACHE / f"{suite}.done").touch()
        sections = SECTIONS.get(suite, "main contrib non-free non-free-firmware")
        (self.path / "etc/apt/sources.list").write_text(f"deb {MIRROR} {suite} {sections}\n", encoding="utf-8")
        self.run("apt-get update -q")

    def run(self, command, **more):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **more}
        return subprocess.run(["chroot", self.path, "sh", "-c", command], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", check=False)

    def install(self, packages):
        return self.run(f"apt-get install -y -q --no-install-recommends {packages}")

    def has(self, thing):
        if thing.startswith("/"):
            found = self.path / thing.lstrip("/")
            return any(found.iterdir()) if found.is_dir() else found.exists()
        return thing in self.run("ldconfig -p").stdout

    def manual(self, program):
        """Its help, and its manual page."""
        pages = self.run(f"cat /usr/share/man/man?/{program}.?.gz | zcat; cat /etc/alternatives/{program}.1.gz /usr/lib/nvidia/current/{program}.1.gz | zcat")
        return self.run(f"{program} --help").stdout + pages.stdout.replace("\\-", "-")


class Fixes(unittest.TestCase):
    suite = "bookworm"

    @classmethod
    def setUpClass(cls):
        cls.root = Root(cls.suite)
        cls.packages = {role: words for role, words in CAUSES.packages_of("debian", VERSIONS[cls.suite]).items() if words}

    def test_each_package_can_be_installed(self):
        for role, words in self.packages.items():
            with self.subTest(role):
                done = self.root.run(f"apt-get install -s -q --no-install-recommends {words}")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_command_parses_and_its_program_knows_its_options(self):
        self.assertEqual(self.root.install(" ".join(sorted(set(PROGRAMS.values())))).returncode, 0)
        seen = set()
        for cause, command in commands_of("debian", VERSIONS[self.suite]):
            self.assertEqual(self.root.run(f"sh -n -c '{command.replace(chr(39), '')}'").returncode, 0, f"{cause}: {command}")
            for part in re.split(r" \| | && ", command):
                program, *words = part.split()
                if program in OURS:
                    continue
                options = {re.split("=", word)[0] for word in words if word.startswith("-")}
                if program in ELSEWHERE:
                    package, known = ELSEWHERE[program]
                    self.assertNotEqual(self.root.run(f"apt-cache show {package}").returncode, 0, f"{package} is there: {program} can be asked")
                    self.assertLessEqual(options, known, f"{cause}: {command}")
                    continue
                self.assertIn(program, PROGRAMS, f"{cause}: {command}")
                for option in options:
                    name = option[:2] if re.fullmatch(r"-[a-z]\d+", option) else option
                    if (program, name) not in seen:
                        seen.add((program, name))
                        letters = [name] if name.startswith("--") or len(name) == 2 else ["-" + letter for letter in name[1:]]
                        for each in letters:
                            self.assertRegex(self.root.manual(program), rf"(?<![\w-]){re.escape(each)}(?![\w-])", f"{cause}: {command}")
        self.assertTrue(seen)

    def test_what_packages_bring_is_there_afterwards(self):
        for role, thing in BRINGS.items():
            if role not in self.packages:
                continue
            with self.subTest(role):
                if self.root.has(thing):  # by an earlier run
                    self.root.run(f"apt-get purge -y -q --auto-remove {self.packages[role]}")
                self.assertFalse(self.root.has(thing), thing)
                done = self.root.install(self.packages[role])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(self.root.has(thing), thing)

    def test_joining_a_group_puts_the_account_into_it(self):
        self.root.run("userdel -f someone; groupadd -f render; useradd someone")
        self.assertNotIn("render", self.root.run("id -nG someone").stdout.split())
        command = next(command for cause, command in commands_of("debian", VERSIONS[self.suite]) if command.startswith(DONE[0]))
        done = self.root.run(command.replace(" 0 ", " render "), USER="someone")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("render", self.root.run("id -nG someone").stdout.split())

    def test_the_manifest_for_egl_names_egl(self):
        folder = self.root.path / "etc/vulkan/icd.d"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "nvidia_icd.json").write_text('{"ICD": {"library_path": "libGLX_nvidia.so.0"}}', encoding="utf-8")
        command = next(command for cause, command in commands_of("debian", VERSIONS[self.suite]) if command.startswith(DONE[1]))
        done = self.root.run(command.replace(" 0 ", " /etc/vulkan/icd.d/nvidia_icd.json "))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("libEGL_nvidia.so.0", (folder / "nvidia_egl.json").read_text(encoding="utf-8"))
        (folder / "nvidia_egl.json").unlink()
        (folder / "nvidia_icd.json").unlink()


def main(suites):
    if os.geteuid() or not shutil.which("debootstrap") or not os.environ.get("GPUPROBE_FIXES"):
        print("it needs root, debootstrap and GPUPROBE_FIXES=1")
        return 77
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    all_tests = unittest.TestSuite(load(type(suite, (Fixes,), {"suite": suite})) for suite in suites or VERSIONS)
    return 0 if unittest.TextTestRunner(verbosity=2).run(all_tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
