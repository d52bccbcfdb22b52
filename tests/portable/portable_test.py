#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the single-file program for every Linux system: the program must give the same answers as gpuprobectl for each machine.

GPUPROBE_FILE is the file that tools/portable built. GPUPROBE_BIN is the folder of the gpuprobectl for comparison. Must run as
root.
"""
import concurrent.futures
import ctypes
import errno
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

FILE = pathlib.Path(os.environ["GPUPROBE_FILE"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
CTL = pathlib.Path(os.environ["GPUPROBE_BIN"]) / "gpuprobectl"
WORKER = SOURCE / f"build/portable-{platform.machine()}/worker/src/gpuprobe-worker"
MACHINES = SOURCE / "tests/data/machines"
MAX_SIZE = 3_000_000 if "embed" in FILE.name else 8_000_000
OLDEST_GLIBC = (2, 31)
NOBODY = 65534
LINKER = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}[platform.machine()]
QUESTIONS = [["list"], ["status"], ["describe"], ["doctor"], ["env"], ["env", "llama.cpp"],
             ["select", "llama.cpp"], ["select", "torch"], ["select", "ollama"], ["recommend", "llama.cpp"],
             ["recommend", "torch"]]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def ask(program, *words, **more):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, **more)


class Root:
    """A root folder with the tested file in /tmp, and with the sysfs of the test machine or of a recording. The mounts in the root folder disappear
    when the process ends."""

    def __init__(self, suite, sysfs="/sys"):
        self.folder = output_of(SOURCE / "tests/portable/root", suite).strip() if suite else None
        self.sysfs = sysfs

    def ask(self, *words, user=0, has_proc=True, variables=""):
        script = [
            "set -eu",
            f"root={shlex.quote(self.folder)}",
            "mount -t tmpfs -o mode=1777 tmpfs $root/tmp",
            f"cp {shlex.quote(str(FILE))} $root/tmp/gpuprobe",
            f"mount --rbind {shlex.quote(str(self.sysfs))} $root/sys",
            "mount --rbind /dev $root/dev",
            "mount -t proc proc $root/proc" if has_proc else "",
            f"cd / && exec env -i {variables} /usr/sbin/chroot --userspec={user}:{user} $root /tmp/gpuprobe {shlex.join(words)}",
        ]
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", "\n".join(script)], check=False,
                              capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def forbid_memory_files():
    """Makes memfd_create(2) fail with EPERM, as some container runtimes do. Source: seccomp(2)."""
    numbers = {"x86_64": 319, "aarch64": 279}
    program = b"".join(struct.pack("HBBI", *line) for line in (
        (0x20, 0, 0, 0),  # load the system-call number
        (0x15, 0, 1, numbers[platform.machine()]),
        (0x06, 0, 0, 0x00050000 | 1),  # SECCOMP_RET_ERRNO, EPERM
        (0x06, 0, 0, 0x7FFF0000)))  # SECCOMP_RET_ALLOW
    code = ctypes.create_string_buffer(program, len(program))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filter_) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def not_started(done):
    """Returns the reason in the report why no worker was started; None if the report contains no such reason."""
    notes = [probe["note"] or "" for probe in json.loads(done.stdout)["probes"]]
    return next((note for note in notes if note.startswith("drivers are not probed: ")), None)


class TheFile(unittest.TestCase):
    def test_is_small_and_loads_nothing(self):
        self.assertLessEqual(FILE.stat().st_size, MAX_SIZE)
        self.assertNotIn("INTERP", output_of("readelf", "--wide", "--program-headers", FILE))
        self.assertNotIn("(NEEDED)", output_of("readelf", "--wide", "--dynamic", FILE))

    def test_its_worker_needs_no_newer_c_library_than_debian_11(self):
        dynamic = output_of("readelf", "--wide", "--dynamic", "--version-info", WORKER)
        needed = set(re.findall(r"\(NEEDED\).*\[(\S+)\]", dynamic))
        self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                                      pathlib.Path(LINKER).name})
        versions = {tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_([\d.]+)", dynamic)}
        self.assertLessEqual(max(versions), OLDEST_GLIBC)


class SameAnswers(unittest.TestCase):
    maxDiff = None

    def check(self, machine, question):
        words = ["--replay", MACHINES / machine, *question, "-j"]
        environment = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        ours, theirs = (ask(program, *words, env=environment) for program in (FILE, CTL))
        if (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr):
            return None
        return f"{machine}: {' '.join(question)}: {ours.stderr or ours.stdout} instead of {theirs.stderr or theirs.stdout}"

    def test_of_every_recorded_machine_byte_for_byte(self):
        machines = sorted(place.parent.name for place in MACHINES.glob("*/capture.json"))
        self.assertGreater(len(machines), 100)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            differences = pool.map(lambda pair: self.check(*pair),
                                   [(machine, question) for machine in machines for question in QUESTIONS])
            self.assertEqual([text for text in differences if text], [])


class Debians(unittest.TestCase):
    """Tests that the worker runs with the dynamic linker of the root folder, and that a Vulkan driver, Mesa's lavapipe, answers."""

    def check(self, suite):
        root = Root(suite)
        for user in (0, NOBODY):
            with self.subTest(suite=suite, user=user):
                done = root.ask("--direct", "describe", "-j", user=user)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                found = [(device["api"], device["device"].get("driver_id")) for device in json.loads(done.stdout)["software"]]
                self.assertIn(("vulkan", "mesa-llvmpipe"), found)
                version = output_of("/usr/sbin/chroot", root.folder, "/usr/bin/ldd", "--version").split("\n")[0].split()[-1]
                self.assertEqual(json.loads(done.stdout)["host"]["libc"], {"name": "glibc", "version": version})
                chosen = root.ask("--direct", "-q", "select", "llama.cpp", user=user)
                self.assertIn(chosen.stdout, ("cpu\n", "vulkan\n"))

    def test_debian_11(self):
        self.check("bullseye")

    def test_debian_12(self):
        self.check("bookworm")

    def test_debian_13(self):
        self.check("trixie")

    def test_debian_testing(self):
        self.check("testing")


class WithoutLinker(unittest.TestCase):
    """Tests in a root folder with only a static shell that the report contains the facts from sysfs."""

    def test_says_what_it_lacks_and_names_the_gpus(self):
        machine = MACHINES / "cloud-ec2-g4dn"
        root = Root("busybox", sysfs=machine / "root/sys")
        done = root.ask("--direct", "describe", "-j")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"this machine lacks {LINKER}", not_started(done))
        self.assertEqual(json.loads(done.stdout)["host"]["libc"], {"name": None, "version": None})
        wanted = json.loads(ask(CTL, "--replay", machine, "describe", "-j").stdout)["gpus"]
        self.assertEqual([(gpu["id"], gpu["vendor"], gpu["architecture"]) for gpu in json.loads(done.stdout)["gpus"]],
                         [(gpu["id"], gpu["vendor"], gpu["architecture"]) for gpu in wanted])

    def test_needs_no_proc_and_no_user(self):
        for user in (0, NOBODY):
            done = Root("busybox").ask("--direct", "-q", "select", "llama.cpp", user=user, has_proc=False)
            self.assertEqual((done.returncode, done.stdout), (0, "cpu\n"), done.stderr)


class Alone(unittest.TestCase):
    """A root folder that contains only the tested file, like a container FROM scratch."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copy(FILE, f"{self.root}/gpuprobe")

    def ask(self, *words):
        return ask("/gpuprobe", *words, env={}, cwd="/", preexec_fn=lambda: os.chroot(self.root))

    def test_answers(self):
        done = self.ask("--direct", "describe", "-j")
        self.assertEqual((done.returncode, json.loads(done.stdout)["gpus"]), (0, []), done.stderr)
        self.assertEqual(self.ask("--direct", "-q", "select", "llama.cpp").stdout, "cpu\n")

    def test_says_that_no_daemon_is_there(self):
        self.assertEqual(self.ask("--socket=/run/none", "list").returncode, 4)
        self.assertIn("probing this machine directly", self.ask("list").stderr)

    def test_leaves_nothing(self):
        self.ask("--direct", "list")
        self.assertEqual(os.listdir(self.root), ["gpuprobe"])


def filters_in(text):
    """Returns the system-call filters in the output of filter_programs_main.cpp, in the kernel's binary format."""
    found = {}
    for name, steps in re.findall(r"sock_filter, \d+> (\w+) = {{(.*?)}};", text, re.S):
        steps = re.findall(r"{(\d+), (\d+), (\d+), (\d+)}", steps)
        found[name] = b"".join(struct.pack("<HBBI", *map(int, step)) for step in steps)
    return found


def answer_of(program, number, *arguments, arch=0xC00000B7):
    """Returns the result of a system-call filter: "allowed", or the name of an errno. Sources: seccomp(2), linux/audit.h."""
    data = struct.pack("<IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    accumulator, place = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("<HBBI", program, 8 * place)
        place += 1
        if code == 0x06:
            return "allowed" if value == 0x7FFF0000 else errno.errorcode[value & 0xFFFF]
        if code == 0x20:
            accumulator, = struct.unpack_from("<I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x05:
            place += value
        else:
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x35: accumulator >= value,
                     0x45: bool(accumulator & value)}[code]
            place += if_true if holds else if_false


class Aarch64(unittest.TestCase):
    """Runs the same tests for aarch64, with the emulator qemu. `tools/portable aarch64` builds the file."""

    BUILD = SOURCE / "build/portable-aarch64"
    FILE = BUILD / "gpuprobe-linux-aarch64"
    WORKER = BUILD / "worker/src/gpuprobe-worker"
    QEMU = "qemu-aarch64-static"
    QUESTIONS = [["describe"], ["doctor"], ["select", "llama.cpp"], ["recommend", "torch"]]
    # Source: include/uapi/asm-generic/unistd.h, Linux 6.12.
    REFUSED = {"mount": 40, "fchmodat": 53, "unshare": 97, "ptrace": 117, "reboot": 142, "connect": 203, "keyctl": 219, "setns": 268,
               "process_vm_readv": 270, "bpf": 280, "pidfd_getfd": 438}
    NOT_THERE = {"io_uring_setup": 425, "fsopen": 430, "clone3": 435, "openat2": 437}
    NEEDED = {"epoll_pwait": 22, "dup3": 24, "ioctl": 29, "mkdirat": 34, "openat": 56, "close": 57, "pipe2": 59, "getdents64": 61,
              "read": 63, "write": 64, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "exit_group": 94, "futex": 98,
              "sched_getaffinity": 123, "rt_sigreturn": 139, "prctl": 167, "munmap": 215, "clone": 220, "execve": 221, "mmap": 222,
              "wait4": 260, "renameat2": 276, "getrandom": 278, "memfd_create": 279, "statx": 291, "rseq": 293}

    def setUp(self):
        if not self.FILE.exists() or not shutil.which(self.QEMU):
            self.skipTest(f"there is no {self.FILE.name} or no {self.QEMU}: tools/portable aarch64")
        cache = (self.BUILD / "worker/CMakeCache.txt").read_text(encoding="utf-8")
        self.sysroot = re.search(r"^CMAKE_SYSROOT:\w+=(.*)$", cache, re.M)[1]

    def test_is_small_and_old_enough(self):
        self.assertLessEqual(self.FILE.stat().st_size, 8_000_000)
        dynamic = output_of("readelf", "--wide", "--dynamic", "--version-info", self.WORKER)
        versions = {tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_([\d.]+)", dynamic)}
        self.assertLessEqual(max(versions), OLDEST_GLIBC)

    def check(self, machine, question):
        words = ["--replay", MACHINES / machine, *question, "-j"]
        environment = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        ours = ask(self.QEMU, self.FILE, *words, env=environment)
        theirs = ask(CTL, *words, env=environment)
        if (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr):
            return None
        return f"{machine}: {' '.join(question)}: {ours.stderr or ours.stdout} instead of {theirs.stderr or theirs.stdout}"

    def test_gives_the_answers_of_every_recorded_machine(self):
        machines = sorted(place.parent.name for place in MACHINES.glob("*/capture.json"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            differences = pool.map(lambda pair: self.check(*pair),
                                   [(machine, question) for machine in machines for question in self.QUESTIONS])
            self.assertEqual([text for text in differences if text], [])

    def test_its_worker_answers(self):
        worker = [self.QEMU, "-L", self.sysroot, self.WORKER]
        self.assertIn("cuda\n", output_of(*worker, "--list"))
        with tempfile.TemporaryFile() as frames:
            done = subprocess.run(["sh", "-c", 'exec "$@" 3>&1 >/dev/null', "sh", *worker, "pci"], check=False, stdout=frames, timeout=60)
            frames.seek(0)
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"answered", frames.read())

    def test_its_worker_is_held_by_the_same_filters(self):
        programs = filters_in((self.BUILD / "worker/generated/filter_programs.cpp").read_text(encoding="utf-8"))
        refusals, known = programs["kAmongOthers"], programs["kRefuses"]
        for name, number in self.REFUSED.items():
            self.assertEqual(answer_of(refusals, number), "EPERM", name)
        for name, number in self.NOT_THERE.items():
            self.assertEqual(answer_of(refusals, number), "ENOSYS", name)
        for name, number in self.NEEDED.items():
            self.assertEqual((answer_of(refusals, number), answer_of(known, number)), ("allowed", "allowed"), name)
        for number in (*self.REFUSED.values(), 600):
            if number != self.REFUSED["fchmodat"]:
                self.assertEqual(answer_of(known, number), "ENOSYS")
        new_user, create, set_id, inet, unix = 0x10000000, 0o100, 0o4755, 2, 1
        self.assertEqual(answer_of(refusals, self.NEEDED["clone"], new_user), "EPERM")
        self.assertEqual(answer_of(refusals, self.NEEDED["openat"], 0, 0, create, set_id), "EPERM")
        self.assertEqual([answer_of(refusals, 198, family) for family in (inet, unix)], ["EAFNOSUPPORT", "allowed"])
        for filter_ in (refusals, known):  # x86_64
            self.assertEqual(answer_of(filter_, self.NEEDED["read"], arch=0xC000003E), "ENOSYS")


class Image(unittest.TestCase):
    """Tests the image that buildah builds from data/kubernetes/Containerfile. The test uses separate storage, and buildah's chroot isolation, so that
    it can also run in a container."""

    def setUp(self):
        if not shutil.which("buildah"):
            self.skipTest("buildah is not installed: tools/install-dependencies --portable")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.buildah = ["buildah", "--storage-driver=vfs", f"--root={folder}/root", f"--runroot={folder}/run"]
        context = pathlib.Path(folder, "context")
        context.mkdir()
        shutil.copy(FILE, context / f"gpuprobe-linux-{platform.machine()}")
        built = subprocess.run([*self.buildah, "build", "--isolation=chroot", f"--build-arg=ARCH={platform.machine()}", "--tag=gpuprobe",
                                f"--file={SOURCE}/data/kubernetes/Containerfile", str(context)],
                               capture_output=True, text=True, check=False, timeout=300)
        if "operation not permitted" in built.stderr.lower():
            self.skipTest(f"no image can be built here: {built.stderr.strip().splitlines()[-1]}")
        self.assertEqual(built.returncode, 0, built.stderr)

    def test_holds_the_file_and_answers(self):
        image = json.loads(output_of(*self.buildah, "inspect", "--type=image", "gpuprobe"))["OCIv1"]
        self.assertEqual((image["config"]["Entrypoint"], len(image["rootfs"]["diff_ids"])), (["/gpuprobe"], 1))
        container = output_of(*self.buildah, "from", "gpuprobe").strip()
        self.addCleanup(subprocess.run, [*self.buildah, "rm", container], stdout=subprocess.DEVNULL, check=True)

        def run(*words):
            return ask(*self.buildah, "run", "--isolation=chroot", container, "--", *image["config"]["Entrypoint"], *words)
        done = run("--direct", "describe", "-j")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"this machine lacks {LINKER}", not_started(done))
        self.assertEqual(run(*image["config"]["Cmd"]).returncode, 0)
        self.assertEqual(run("--direct", "-q", "select", "llama.cpp").stdout, "cpu\n")


class WhereMemoryRunsNothing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def describe(self, before, **variables):
        return ask(FILE, "--direct", "describe", "-j", preexec_fn=before, env=variables)

    def test_the_cache_has_the_worker_for_a_while(self):
        done = self.describe(forbid_memory_files, XDG_CACHE_HOME=self.folder, TMPDIR="/nonexistent")
        self.assertEqual((done.returncode, not_started(done)), (0, None), done.stderr)
        self.assertEqual([name for name in os.listdir(f"{self.folder}/gpuprobe") if "worker" in name], [])

    def test_or_the_folder_for_temporary_files(self):
        done = self.describe(forbid_memory_files, TMPDIR=self.folder)
        self.assertEqual((done.returncode, not_started(done)), (0, None), done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_says_all_that_it_tried(self):
        script = (f"mount -t tmpfs -o noexec tmpfs {self.folder} && XDG_CACHE_HOME={self.folder} TMPDIR={self.folder} "
                  f"exec {shlex.quote(str(FILE))} --direct describe -j")
        done = ask("unshare", "--mount", "sh", "-c", script, preexec_fn=forbid_memory_files)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(not_started(done), "a file in memory: Operation not permitted; "
                                            f"{self.folder}/.*: Permission denied; {self.folder}/.*: Permission denied")


def main():
    program = unittest.main(verbosity=2, exit=False)
    result = program.result
    failed = len({test.id().partition(" (")[0] for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
