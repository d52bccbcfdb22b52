#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the doctor's fixes for Debian in root folders of Debian 11, 12 and 13.

Usage: fixes.py [SUITE …]     bullseye bookworm trixie

In each root folder, every package that a fix may name must be installable, and the packages that a data file marks as missing must not
exist. Every command must parse, and its program must exist and have the options. Each command that needs no hardware is run in a copy of
the root folder (an overlay), and its effect is checked before and after. At the end, a table shows the result for each cause and release.
This needs root and debootstrap. The first run takes a quarter of an hour, and two gigabytes are kept in $XDG_CACHE_HOME/gpuprobe/fixes. The
exit status is 77 if GPUPROBE_FIXES is not set or a requirement is missing.
"""
import contextlib
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gpuprobe" / "fixes"
MIRROR = os.environ.get("GPUPROBE_MIRROR", "http://deb.debian.org/debian")
VERSIONS = {"bullseye": "11", "bookworm": "12", "trixie": "13"}
SECTIONS = {"bullseye": "main contrib non-free"}
# The programs that fixes use, and the package of each program.
PROGRAMS = {"apt": "apt", "chmod": "coreutils", "dkms": "dkms", "dpkg": "dpkg", "echo": "coreutils", "modprobe": "kmod", "mokutil": "mokutil", "nvidia-modprobe": "nvidia-modprobe",
            "nvidia-smi": "nvidia-smi", "printf": "coreutils", "rmmod": "kmod", "sed": "sed", "systemctl": "systemd", "tee": "coreutils", "udevadm": "udev",
            "update-initramfs": "initramfs-tools", "usermod": "passwd"}
OURS = {"gpuprobectl", "unset"}
# Programs that Debian does not package: the package of each program elsewhere, and the options in the vendor's manual.
# Source: NVIDIA Container Toolkit 1.20.1, "Support for Container Device Interface", "Generating a CDI Specification".
ELSEWHERE = {"nvidia-ctk": ("nvidia-container-toolkit-base", {"--output"})}
# For each pattern of a command that needs no hardware: a check that fails before the command and succeeds after the command; an optional preparation;
# and the value that replaces the placeholder 0 in the command. tools/knowledge/causes also reads this table.
EFFECTS = {
    r"apt install .*\bnvidia-driver": (
        "modprobe -c | grep -qx 'blacklist nouveau' && ls /usr/src/nvidia-*/dkms.conf && ls -d /usr/src/linux-headers-*-amd64",),
    r"apt install .*\bnvidia-kernel-dkms": ("ls /usr/src/nvidia-*/dkms.conf && ls -d /usr/src/linux-headers-*-amd64",),
    "apt install libcuda1 nvidia-driver-libs": ("ldconfig -p | grep -q libcuda.so.1",),
    "apt install libnvcuvid1": ("ldconfig -p | grep -q libnvcuvid.so.1",),
    "apt install libnvidia-encode1": ("ldconfig -p | grep -q libnvidia-encode.so.1",),
    "apt install nvidia-vulkan-icd": ("ls /etc/vulkan/icd.d/nvidia_icd.json || ls /usr/share/vulkan/icd.d/nvidia_icd.json",),
    "apt install nvidia-opencl-icd": ("test -e /etc/OpenCL/vendors/nvidia.icd",),
    "apt install libvulkan1": ("ldconfig -p | grep -q libvulkan.so.1",),
    "apt install libegl1 libgl1": ("ldconfig -p | grep -q libEGL.so.1 && ldconfig -p | grep -q libGL.so.1",),
    "apt install mesa-vulkan-drivers": ("ls /usr/share/vulkan/icd.d/*radeon*.json && ls /usr/share/vulkan/icd.d/*intel*.json",),
    "apt install ocl-icd-libopencl1": ("ldconfig -p | grep -q libOpenCL.so.1",),
    "apt install mesa-opencl-icd": ("test -e /etc/OpenCL/vendors/mesa.icd",),
    "apt install intel-opencl-icd": ("test -e /etc/OpenCL/vendors/intel.icd",),
    r"apt install libhsa-runtime64-1 libamdhip64-\d": ("ldconfig -p | grep -q libhsa-runtime64.so.1 && ldconfig -p | grep -q libamdhip64.so",),
    "apt install firmware-amd-graphics": ("ls /lib/firmware/amdgpu/navi* && ls /lib/firmware/radeon/*",),
    "apt install firmware-(misc-nonfree|intel-graphics)": ("ls /lib/firmware/i915/*guc*",),
    "apt install firmware-nvidia-graphics": ("ls -d /lib/firmware/nvidia/*",),
    "apt purge libcuda1 libnvidia-ml1": ("! ldconfig -p | grep -q libcuda.so.1", "apt-get install -qq libcuda1 libnvidia-ml1"),
    r"printf .* \| tee /etc/modprobe.d/blacklist-nova.conf": (
        "modprobe -c | grep -qx 'blacklist nova_core' && modprobe -c | grep -qx 'blacklist nova_drm'",),
    "echo .*uvm_disable_hmm.*": ("modprobe -c | grep -qx 'options nvidia_uvm uvm_disable_hmm=1'",),
    "echo .*OpenRmEnable.*": ("modprobe -c | grep -qx 'options nvidia NVreg_OpenRmEnableUnsupportedGpus=1'",),
    "update-initramfs -u": (
        "test /boot/initrd.img-6.1.0 -nt /boot/config-6.1.0",
        "mkdir -p /lib/modules/6.1.0 && touch /lib/modules/6.1.0/modules.builtin /lib/modules/6.1.0/modules.order && depmod 6.1.0"
        " && touch /boot/vmlinuz-6.1.0 && echo CONFIG_RD_GZIP=y >/boot/config-6.1.0 && update-initramfs -c -k 6.1.0 && touch -d 1990-01-01 /boot/initrd.img-6.1.0"),
    "usermod -aG .*": ("id -nG someone | grep -qw render", "groupadd -f render", "render"),
    "chmod 0666 .*": ("test $(stat -c %a /node) = 666", "touch /node && chmod 0600 /node", "/node"),
    r"chmod a\+r .*": ("su someone -s /bin/sh -c 'cat /node'", "touch /node && chmod 0600 /node", "/node"),
    "sed s/libGLX/.*": (
        "grep -q libEGL_nvidia.so.0 /etc/vulkan/icd.d/nvidia_egl.json",
        "mkdir -p /etc/vulkan/icd.d && echo '{\"ICD\": {\"library_path\": \"libGLX_nvidia.so.0\"}}' >/nvidia_icd.json", "/nvidia_icd.json"),
    "dpkg -S /x": ("grep -q ^dpkg: /told", "true", "/usr/bin/dpkg >/told"),
}
FEWEST = 25  # minimum number of causes whose commands are run in each release


def tool():
    loader = importlib.machinery.SourceFileLoader("causes", str(SOURCE / "tools" / "knowledge" / "causes"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("causes", loader))
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
CAUSES = tool()
ORDER = ("failed", "ran", "no package", "not here")  # "not here": the command needs hardware, or a program that Debian lacks
RESULTS = {}  # cause -> release -> results of its commands


def commands_of(version):
    return ((cause["id"], command) for cause in CAUSES.causes() for command in CAUSES.commands_of(cause, "debian", version))


class Root:
    def __init__(self, suite, path):
        self.suite = suite
        self.path = path

    @classmethod
    def made(cls, suite):
        root = cls(suite, CACHE / suite)
        if not (CACHE / f"{suite}.done").exists():
            shutil.rmtree(root.path, ignore_errors=True)
            CACHE.mkdir(parents=True, exist_ok=True)
            subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", suite, root.path, MIRROR], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            (CACHE / f"{suite}.done").touch()
        sections = SECTIONS.get(suite, "main contrib non-free non-free-firmware")
        root.write("etc/apt/sources.list", f"deb {MIRROR} {suite} {sections}\n")
        # apt must not ask questions and must install only required packages.
        root.write("etc/apt/apt.conf.d/90fixes", """APT::Get::Assume-Yes "true";
APT::Install-Recommends "false";
Binary::apt::APT::Keep-Downloaded-Packages "true";
""")
        root.write("etc/dpkg/dpkg.cfg.d/90fixes", "force-unsafe-io\n")
        # Compiling NVIDIA's kernel module would take minutes and would only test DKMS, so the packages only register the source of the module.
        (root.path / "etc/dkms").mkdir(exist_ok=True)
        root.write("etc/dkms/no-autoinstall", "")
        root.run("apt-get update -q; userdel -f someone; useradd someone")
        return root

    def write(self, path, text):
        (self.path / path).write_text(text, encoding="utf-8")

    def run(self, command, **more):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **more}
        return subprocess.run(["chroot", self.path, "sh", "-c", command], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", check=False)

    def install(self, packages):
        return self.run(f"apt-get install -y -q --no-install-recommends {packages}")

    @contextlib.contextmanager
    def copy(self):
        """A copy of this root folder, whose changes are discarded after the test. Packages that apt downloads are kept."""
        with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as folder:
            copy, upper, work = (pathlib.Path(folder) / name for name in ("root", "upper", "work"))
            for each in (copy, upper, work):
                each.mkdir()
            archives = "var/cache/apt/archives"
            with contextlib.ExitStack() as mounted:
                for mount in (["-t", "overlay", "overlay", "-o", f"lowerdir={self.path},upperdir={upper},workdir={work}", copy],
                              ["--bind", self.path / archives, copy / archives], ["-t", "proc", "proc", copy / "proc"]):
                    subprocess.run(["mount", *mount], check=True)
                    mounted.callback(subprocess.run, ["umount", "-l", mount[-1]], check=True)
                yield Root(self.suite, copy)

    def manual(self, program):
        """Returns the program's --help text and manual page."""
        pages = self.run(f"cat /usr/share/man/man?/{program}.?.gz | zcat; cat /etc/alternatives/{program}.1.gz /usr/lib/nvidia/current/{program}.1.gz | zcat")
        return self.run(f"{program} --help").stdout + pages.stdout.replace("\\-", "-")


class Fixes(unittest.TestCase):
    suite = "bookworm"

    @classmethod
    def setUpClass(cls):
        cls.root = Root.made(cls.suite)
        cls.packages = {role: words for role, words in CAUSES.packages_of("debian", VERSIONS[cls.suite]).items() if words}

    def test_each_package_can_be_installed(self):
        for role, words in self.packages.items():
            with self.subTest(role):
                done = self.root.run(f"apt-get install -s -q --no-install-recommends {words}")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_command_parses_and_its_program_knows_its_options(self):
        self.assertEqual(self.root.install(" ".join(sorted(set(PROGRAMS.values())))).returncode, 0)
        seen = set()
        for cause, command in commands_of(VERSIONS[self.suite]):
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

    def test_dkms_has_its_key_where_the_fix_says(self):
        self.assertEqual(self.root.install("dkms").returncode, 0)
        command = CAUSES.told(CAUSES.row_of("debian", VERSIONS[self.suite]), "commands")["enrol-key"]
        key = command.split()[-1] if command else "mok.pub"
        self.assertEqual(self.root.run(f"grep -q {key} /usr/sbin/dkms /etc/dkms/framework.conf").returncode == 0, bool(command))

    def test_no_package_that_a_row_denies_exists(self):
        for role in CAUSES.packages_of("debian", VERSIONS[self.suite]).keys() - self.packages.keys():
            for words in {CAUSES.packages_of("debian", version).get(role) for version in VERSIONS.values()} - {None, ""}:
                with self.subTest(role):
                    self.assertNotEqual(self.root.run(f"apt-get install -s -q {words}").returncode, 0, words)

    def test_each_command_that_needs_no_hardware_has_its_effect(self):
        results = {}
        for cause, command in commands_of(VERSIONS[self.suite]):
            if command not in results:
                results[command] = self.result_of(command)
            RESULTS.setdefault(cause, {}).setdefault(self.suite, set()).add(results[command])
        ran = {cause for cause, found in RESULTS.items() if "ran" in found.get(self.suite, ())}
        self.assertGreaterEqual(len(ran), FEWEST)

    def result_of(self, command):
        """Runs a command and returns a word of ORDER."""
        if command.strip() == "apt install":
            return "no package"
        effect = next((EFFECTS[pattern] for pattern in EFFECTS if re.fullmatch(pattern, command, re.DOTALL)), None)
        if not effect:
            return "not here"
        result = "failed"
        with self.subTest(command), self.root.copy() as copy:
            self.expect_effect(copy, command, *effect)
            result = "ran"
        return result

    def expect_effect(self, copy, command, check, prepare="true", value="0"):
        prepared = copy.run(prepare)
        self.assertEqual(prepared.returncode, 0, f"{prepare}: {prepared.stderr}")
        self.assertNotEqual(copy.run(check).returncode, 0, f"before: {check}")
        done = copy.run(re.sub(r"(?<![\w.])0(?![\w.])|/x$", value, command), USER="someone")
        self.assertEqual(done.returncode, 0, done.stderr)
        after = copy.run(check)
        self.assertEqual(after.returncode, 0, f"after: {check}: {after.stderr}")


def table():
    """Yields the lines of the table of results by cause and release. If a cause has several commands, the first result in ORDER is shown."""
    yield "cause".ljust(30) + "".join(suite.ljust(12) for suite in VERSIONS)
    for cause, found in sorted(RESULTS.items()):
        yield cause.ljust(30) + "".join(next((word for word in ORDER if word in found.get(suite, ())), "-").ljust(12) for suite in VERSIONS)


def main(suites):
    if os.geteuid() or not shutil.which("debootstrap") or not os.environ.get("GPUPROBE_FIXES"):
        print("it needs root, debootstrap and GPUPROBE_FIXES=1")
        return 77
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    all_tests = unittest.TestSuite(load(type(suite, (Fixes,), {"suite": suite})) for suite in suites or VERSIONS)
    is_good = unittest.TextTestRunner(verbosity=2).run(all_tests).wasSuccessful()
    print(*table(), sep="\n")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
