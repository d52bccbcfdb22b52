# SPDX-License-Identifier: Apache-2.0
"""Tests of `run`, which starts a program and reports the GPUs that the program used, and of `watch`, which reports the GPUs of a running program."""
import concurrent.futures
import json
import os
import pathlib
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import told_worker
from cli_case import BIN, CTL, SOURCE, environment

MACHINES = SOURCE / "tests/data/machines"
ONE = ["--replay", str(MACHINES / "nvidia-h200-1")]
H200 = "pci:0000:00:06.0"
UUID = "GPU-00000000-0000-4000-8000-000000000001"
PYTHON = "/usr/bin/python3"
# Mounts a private /dev with files instead of NVIDIA's device nodes, then runs the program.
WITH_NODES = """set -e
d=$(mktemp -d); mount -t tmpfs tmpfs "$d"; touch "$d/nvidia0" "$d/nvidiactl" "$d/nvidia-uvm"
for n in null zero full random urandom tty; do touch "$d/$n"; mount --bind "/dev/$n" "$d/$n"; done
mkdir "$d/shm" "$d/pts"; ln -s /proc/self/fd "$d/fd"; mount --move "$d" /dev; rmdir "$d"; exec "$@"
"""
UNSHARE = next((words for words in (["unshare", "-m"], ["unshare", "-rm"])
                if subprocess.run([*words, "/bin/sh", "-c", "mount -t tmpfs tmpfs /mnt"], capture_output=True,
                                  check=False).returncode == 0), None)


def run(*words, program, more=(), **variables):
    return subprocess.run([*more, CTL, *ONE, "run", *words, "--", *program], env=environment(**variables),
                          capture_output=True, text=True, timeout=60, check=False)


def watched(start):
    """Returns the result of start(), which runs a program. Calls start() again if the machine was too busy to watch the program."""
    for _ in range(5):
        done = start()
        if "the machine was too busy" not in done.stderr:
            break
    return done


def python(text, *words):
    return [PYTHON, "-c", text, *words]


def started(*words, program, **options):
    return subprocess.Popen([CTL, *ONE, "run", *words, "--", *program], env=environment(), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def loading(library, then="time.sleep(0.5)"):
    """Returns the command line of a program that loads a library with a given file name, then runs the code in `then`."""
    shutil.copy(next(pathlib.Path("/usr/lib").rglob("libz.so.1")), library)
    return python(f"import ctypes, os, sys, time\nctypes.CDLL({str(library)!r})\n" + then, "20", "0.3")


NONE = "gpuprobectl: used no GPU, although cuda was chosen\n"


class InItsPlace(unittest.TestCase):
    def test_has_its_words_streams_and_environment(self):
        words = ["a b", "", "$HOME", "--expect", "*", "'", "-j"]
        done = subprocess.run([CTL, *ONE, "run", "llama.cpp", "--", *python(
            "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.environ['CUDA_VISIBLE_DEVICES'], "
            "os.environ['KEPT']); print('problem', file=sys.stderr)", *words)],
            env=environment(KEPT="x=y", CUDA_VISIBLE_DEVICES="7"), input="given", capture_output=True, text=True,
            timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, f"{words} given {UUID} x=y\n"))
        self.assertEqual(done.stderr, "problem\n" + NONE)

    def test_ends_with_every_status_of_the_program(self):
        for status in (0, 1, 2, 3, 6, 42, 123, 124, 125, 126, 127, 128, 200, 255):
            with self.subTest(status=status):
                done = run("llama.cpp", program=["/bin/sh", "-c", f"exit {status}"])
                self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "", NONE))

    def test_ends_by_the_signal_that_ended_the_program(self):
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGPIPE,
                       signal.SIGUSR1, signal.SIGRTMIN + 1):
            with self.subTest(number=number):
                done = run("llama.cpp", program=["/bin/sh", "-c", f"kill -{int(number)} $$"])
                self.assertEqual((done.returncode, done.stderr), (-number, NONE))

    def test_says_as_a_shell_does_that_a_program_cannot_be_run(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        plain = pathlib.Path(folder.name) / "plain"
        plain.write_text("no program", encoding="utf-8")
        for program, status, why in ((f"{folder.name}/none", 127, "No such file or directory"),
                                     ("no-such-program", 127, "No such file or directory"),
                                     (str(plain), 126, "Permission denied"), (folder.name, 126, "Permission denied")):
            with self.subTest(program=program):
                done = run("llama.cpp", program=[program])
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (status, "", f"gpuprobectl: {program}: {why}\n"))

    def test_says_before_the_program_what_is_wrong(self):
        for words, status, text in ((["nobody"], 125, "nobody"), (["llama.cpp", "--gpu=9"], 125, "9"),
                                    (["llama.cpp", "--backend=rocm"], 125, "satisfies 'llama.cpp'"),
                                    (["llama.cpp", "--expect=soup"], 2, "\nUse cuda, hip, level_zero, vulkan, opencl or a backend"),
                                    (["llama.cpp", "--expect=nvml"], 2, "'nvml' is not an API that can compute")):
            with self.subTest(words=words):
                done = run(*words, program=["/bin/echo", "ran"])
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertIn(text, done.stderr)
        done = subprocess.run([CTL, *ONE, "run", "llama.cpp"], env=environment(), capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("APPLICATION -- PROGRAM", done.stderr)

    def test_passes_signals_on(self):
        text = ("import os, signal, sys, time\n"
                "def note(number, _): os.write(1, b'%d\\n' % number)\n"
                "for number in (1, 2, 3, 10, 12, 15, 18, 28): signal.signal(number, note)\n"
                "print('ready', flush=True)\n"
                "while True: time.sleep(9)")
        child = started("llama.cpp", program=python(text))
        self.assertEqual(child.stdout.readline(), "ready\n")
        for number in (1, 2, 3, 10, 12, 15, 28):
            child.send_signal(number)
            self.assertEqual(child.stdout.readline(), f"{number}\n")
        subprocess.run(["/usr/bin/pkill", "-KILL", "-P", str(child.pid)], check=True)
        self.assertEqual(child.wait(timeout=20), -signal.SIGKILL)
        child.communicate()

    def test_gives_the_program_no_blocked_or_ignored_signal_and_no_descriptor(self):
        text = ("import os; print(sorted(os.listdir('/proc/self/fd'), key=int)[:-1]); "
                "print([l.split()[1] for l in open('/proc/self/status') if l.startswith(('SigBlk', 'SigIgn'))])")
        plain = subprocess.run(python(text), env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        done = subprocess.run([CTL, *ONE, "run", "llama.cpp", "--", *python(text)], env=environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stdout, plain.stdout)

    def test_leaves_no_child_and_no_file_behind(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        done = run("llama.cpp", program=["/bin/sh", "-c", "true & true & wait; exit 3"], TMPDIR=folder.name)
        self.assertEqual((done.returncode, os.listdir(folder.name)), (3, []))


class InATerminal(unittest.TestCase):
    """Tests of `run` in a terminal, started by a shell with job control; the test sends keys."""

    def setUp(self):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], environment(PS1="PROMPT> ", TERM="dumb"))
        self.addCleanup(self.close)
        self.seen = ""
        self.until("PROMPT> ")

    def close(self):
        os.close(self.master)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def until(self, text):
        """Returns the output on the terminal up to and including `text`, and keeps later output for the next call."""
        end = time.monotonic() + 30
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"no {text!r} in {self.seen!r}")
            self.seen += os.read(self.master, 65536).decode()
        before, found, self.seen = self.seen.partition(text)
        return before + found

    def start(self, program):
        command = " ".join([CTL, *ONE, "run", "llama.cpp", "--", PYTHON, str(program)])
        os.write(self.master, (command + "\n").encode())

    def script(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "program.py"
        path.write_text(text, encoding="utf-8")
        return path

    def test_ctrl_c_comes_once(self):
        self.start(self.script("import os, signal, time\n"
                               "signal.signal(2, lambda *_: os.write(1, b'key\\n'))\n"
                               "print('rea' + 'dy', flush=True)\n"
                               "time.sleep(1.5); print('en' + 'd', flush=True)"))
        self.until("ready")
        os.write(self.master, b"\x03")
        seen = self.until("although cuda was chosen")
        self.assertEqual(seen.count("key"), 1, seen)
        self.assertIn("end", seen)

    def test_ctrl_c_ends_both(self):
        # Use the default action of the signal, because Python would run a handler only after the sleep if the signal arrives just before the sleep.
        self.start(self.script("import signal, time\nsignal.signal(2, signal.SIG_DFL)\n"
                               "print('rea' + 'dy', flush=True)\ntime.sleep(60)"))
        self.until("ready")
        os.write(self.master, b"\x03")
        self.until("PROMPT> ")
        os.write(self.master, b"echo status $?\n")
        self.until("status 130")

    def test_ctrl_z_stops_both_and_fg_goes_on(self):
        self.start(self.script("import sys\nprint('rea' + 'dy', flush=True)\nprint('go' + 't', sys.stdin.readline())"))
        self.until("ready")
        os.write(self.master, b"\x1a")
        self.until("Stopped")
        os.write(self.master, b"jobs -l\n")
        self.until("Stopped")
        os.write(self.master, b"fg\n")
        self.until("run llama.cpp")
        os.write(self.master, b"word\n")
        self.until("got word")
        self.until("although cuda was chosen")


class WithoutAGpu(unittest.TestCase):
    def test_says_so_once_and_by_the_choice(self):
        self.assertEqual(run("llama.cpp", "--backend=none", program=["true"]).stderr,
                         "gpuprobectl: used no GPU, as chosen\n")
        self.assertEqual(run("llama.cpp", program=["true"]).stderr, NONE)
        self.assertEqual(run("-q", "llama.cpp", program=["true"]).stderr, "")

    def test_expectations_have_statuses(self):
        for expect, status in (("cuda", 124), ("vulkan", 124), ("cpu", 0)):
            with self.subTest(expect=expect):
                self.assertEqual(run("llama.cpp", f"--expect={expect}", program=["true"]).returncode, status)
                self.assertEqual(run("llama.cpp", f"--expect={expect}", program=["false"]).returncode, 1)

    def test_a_document_is_on_standard_error_or_in_a_file(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name) / "report.json"
        done = run("-j", "llama.cpp", "--expect=cuda", f"--output={file}", program=["/bin/echo", "out"])
        self.assertEqual((done.returncode, done.stdout), (124, "out\n"))
        told = json.loads(done.stderr)
        self.assertEqual(told, json.loads(file.read_text(encoding="utf-8")))
        attempt = told["attempts"][0]
        self.assertEqual((told["application"], told["program"], told["expected"], told["as_expected"]),
                         ("llama.cpp", "/bin/echo", "cuda", False))
        self.assertEqual((attempt["backend"], attempt["gpus"], attempt["status"], attempt["signal"], attempt["took"],
                          attempt["doubts"], attempt["as_chosen"], attempt["failed"], attempt["reported"]),
                         ("cuda", [H200], 0, None, [], [], False, False, None))
        self.assertEqual((attempt["environment"]["CUDA_VISIBLE_DEVICES"], attempt["loaded"]), (UUID, []))
        done = run("-j", "llama.cpp", program=loading(file.with_name("libOpenCL.so.1")))
        self.assertEqual(json.loads(done.stderr)["attempts"][0]["loaded"], ["opencl"])

    def test_a_report_that_cannot_be_written_does_not_change_the_end(self):
        done = run("llama.cpp", "--output=/dev/null/x", program=["/bin/sh", "-c", "exit 9"])
        self.assertEqual((done.returncode, done.stderr.splitlines()[0] + "\n"), (9, NONE))
        self.assertIn("/dev/null/x", done.stderr.splitlines()[1])

    def test_options_for_another_machine_make_no_sense(self):
        for option in ("--platform=darwin-arm64", "--fake=cuda", "--explain"):
            self.assertEqual(run("llama.cpp", option, program=["true"]).returncode, 2, option)

    def test_vulkan_on_the_processor_takes_none(self):
        manifest = pathlib.Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")
        if not manifest.exists():
            self.skipTest("llvmpipe is not installed")
        text = ("import ctypes, time\n"
                "vk = ctypes.CDLL('libvulkan.so.1')\n"
                "class Info(ctypes.Structure):\n"
                "    _fields_ = [('type', ctypes.c_int), ('next', ctypes.c_void_p), ('flags', ctypes.c_int),"
                " ('app', ctypes.c_void_p), ('layers', ctypes.c_uint), ('names', ctypes.c_void_p),"
                " ('count', ctypes.c_uint), ('extensions', ctypes.c_void_p)]\n"
                "info = Info(type=1)\n"
                "made = ctypes.c_void_p()\n"
                "assert vk.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(made)) == 0\n"
                "count = ctypes.c_uint()\n"
                "assert vk.vkEnumeratePhysicalDevices(made, ctypes.byref(count), None) == 0\n"
                "print(count.value); time.sleep(0.3)")
        done = run("llama.cpp", program=python(text), VK_DRIVER_FILES=str(manifest), VK_ICD_FILENAMES=str(manifest))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "1\n", NONE))

    def test_a_thousand_children_cost_little(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = ("import subprocess\n"
                "all = [subprocess.Popen(['/bin/sleep', '3']) for _ in range(1000)]\n"
                "print(sum(one.wait() for one in all))")
        began = time.monotonic()
        plain = subprocess.run(python(text), capture_output=True, text=True, check=True, timeout=100)
        alone = time.monotonic() - began
        middle = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run("-j", "llama.cpp", program=python(text))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual((done.returncode, done.stdout, plain.stdout), (0, "0\n", "0\n"))
        attempt = json.loads(done.stderr)["attempts"][0]
        self.assertEqual((attempt["took"], attempt["doubts"]), ([], []))

        def spent(one, other):
            return other.ru_utime + other.ru_stime - one.ru_utime - one.ru_stime

        self.assertLess(spent(middle, after) - spent(before, middle), 2 + alone / 2)


def start_daemon(case, path):
    """Starts a daemon that replays the machine ONE on the socket, and waits until the daemon answers."""
    daemon = subprocess.Popen([BIN / "gpuprobed", "--bus=none", f"--socket={path}", *ONE], stderr=subprocess.DEVNULL)
    case.addCleanup(daemon.wait)
    case.addCleanup(daemon.terminate)
    end = time.monotonic() + 30
    while not chosen_by(path) and time.monotonic() < end:
        time.sleep(0.02)


def chosen_by(path):
    return subprocess.run([CTL, f"--socket={path}", "select", "llama.cpp", "-q"], env=environment(), capture_output=True,
                          text=True, timeout=60, check=False).stdout.strip()


@unittest.skipUnless(UNSHARE, "mount namespaces cannot be created here")
class WithNvidiasNodes(unittest.TestCase):
    """Tests with a program that opens a file at the path of NVIDIA's device node, and with a fake worker that gives NVML's answers."""

    # Writes its process id into the data that NVML reports about processes, then opens the device node.
    HOLD = ("import os, sys, time\n"
            "told = os.environ['TOLD']\n"
            "text = open(told).read().replace('\"PID\"', str(os.getpid()))\n"
            "open(told + '.new', 'w').write(text)\n"
            "os.rename(told + '.new', told)\n"
            "f = open('/dev/nvidia0')\n"
            "print('open', os.getpid(), flush=True)\n"
            "end = time.monotonic() + float(sys.argv[1])\n"
            "while not os.path.exists(told + '.asked') and time.monotonic() < end: time.sleep(0.02)\n"
            "time.sleep(float(sys.argv[2]))")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        told_worker.install(self.folder, {})
        self.worker = self.folder / "worker"
        self.install("")

    def install(self, first):
        """Makes a worker that creates a file after NVML was queried. The program waits for this file, regardless of how busy the machine is."""
        self.worker.write_text(f'#!/bin/sh\n{first}\n{self.folder}/told-worker "$@"\ntouch {self.folder}/told.json.asked\n',
                               encoding="utf-8")
        self.worker.chmod(0o755)

    def tell(self, pids=("PID",), used=19595788288, outcome="answered", computes=True):
        entries = [{"pid": pid, "memory_used": used, "computes": computes, "gpu_instance": None} for pid in pids]
        told_worker.tell(self.folder, {"nvml processes": {
            "devices": [{"index": 0, "pci": "0000:00:06.0", "processes": entries}], "outcome": outcome}})

    def environment(self):
        return environment(TOLD=str(self.folder / "told.json"))

    def command(self, *words, program, machine=ONE):
        return [*UNSHARE, "/bin/sh", "-c", WITH_NODES, "sh", CTL, *machine, f"--worker={self.worker}", "run", *words, "--",
                *program]

    def run_held(self, *words, program=None, **told):
        def held():
            self.tell(**told)
            (self.folder / "told.json.asked").unlink(missing_ok=True)
            return subprocess.run(self.command(*words, program=program or python(self.HOLD, "20", "0.05")),
                                  env=self.environment(), capture_output=True, text=True, timeout=60, check=False)

        done = watched(held)
        return done.returncode, done.stderr

    def test_that_it_worked_is_reported_where_it_was_seen_to_use_the_gpu(self):
        socket = self.folder / "socket"
        start_daemon(self, socket)
        for last, reported in ("", "ok"), ("; sys.exit(3)", None), ("; os.kill(os.getpid(), 15)", "ok"):
            with self.subTest(last=last):
                self.tell()
                (self.folder / "told.json.asked").unlink(missing_ok=True)
                done = subprocess.run(
                    self.command("-j", "llama.cpp", program=loading(self.folder / "libcuda.so.1", self.HOLD + last),
                                 machine=[f"--socket={socket}"]),
                    env=self.environment(), capture_output=True, text=True, timeout=60, check=False)
                told = json.loads(done.stderr)
                self.assertIsNone(told["not_reported"])
                self.assertEqual([(each["backend"], each["reported"]) for each in told["attempts"]], [("cuda", reported)])
        self.assertEqual(chosen_by(socket), "cuda")

    def test_tells_the_gpu_and_its_memory(self):
        self.assertEqual(self.run_held("llama.cpp"), (0, "gpuprobectl: used NVIDIA H200, 18.2 GiB\n"))

    def test_tells_the_api_by_the_library_that_is_loaded(self):
        for library, computes, line, status in (
                ("libcuda.so.1", True, "used NVIDIA H200, 18.2 GiB through CUDA", 0),
                ("libvulkan.so.1.3.239", False, "used NVIDIA H200, 18.2 GiB through Vulkan, although cuda was chosen", 124)):
            with self.subTest(library=library):
                done = self.run_held("llama.cpp", "--expect=cuda", program=loading(self.folder / library, self.HOLD),
                                     computes=computes)
                self.assertEqual(done, (status, f"gpuprobectl: {line}\n"))

    def test_a_figure_that_nvml_does_not_know_is_left_out(self):
        self.assertEqual(self.run_held("llama.cpp", used=None), (0, "gpuprobectl: used NVIDIA H200\n"))

    def test_finds_who_forked_twice(self):
        text = ("import os, sys, time\n"
                "if os.fork() == 0:\n"
                "    os.setsid()\n"
                "    if os.fork() == 0:\n"
                f"        exec({self.HOLD!r})\n"
                "    os._exit(0)\n"
                "os.wait()\n"
                "while not os.path.exists(os.environ['TOLD'] + '.asked'): time.sleep(0.02)")
        self.assertEqual(self.run_held("llama.cpp", program=python(text, "20", "0.05")),
                         (0, "gpuprobectl: used NVIDIA H200, 18.2 GiB\n"))

    def test_the_worker_sees_the_processes_that_we_see(self):
        where = self.folder / "namespace"
        self.install(f"readlink /proc/self/ns/pid >{where}")
        self.assertEqual(self.run_held("llama.cpp")[1], "gpuprobectl: used NVIDIA H200, 18.2 GiB\n")
        self.assertEqual(where.read_text(encoding="utf-8").strip(), os.readlink("/proc/self/ns/pid"))

    def test_whoever_only_listed_the_devices_took_none(self):
        self.assertEqual(self.run_held("llama.cpp", pids=()), (0, NONE))

    def test_what_nobody_tells_is_not_known(self):
        for outcome in ("failed", "absent"):
            with self.subTest(outcome=outcome):
                self.assertEqual(self.run_held("llama.cpp", "--expect=cuda", outcome=outcome),
                                 (123, "gpuprobectl: unknown whether a GPU was used: the process ended before "
                                       "NVIDIA's driver library reported its GPU use\n"))

    def test_a_worker_that_crashes_or_hangs_costs_nothing_else(self):
        for deed in ("crash", "hang"):
            with self.subTest(deed=deed):
                told_worker.tell(self.folder, {"nvml processes": {"deed": deed}})
                (self.folder / "told.json.asked").unlink(missing_ok=True)
                began = time.monotonic()
                done = subprocess.run(self.command("llama.cpp", program=python(self.HOLD, "0.5", "0")),
                                      env=self.environment(), capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0)
                self.assertIn("unknown whether", done.stderr)
                self.assertLess(time.monotonic() - began, 5)

    def test_watch_tells_the_same(self):
        self.tell()
        holder = subprocess.Popen([*UNSHARE, "/bin/sh", "-c", WITH_NODES, "sh", *python(self.HOLD, "0", "60")],
                                  env=self.environment(), stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        holder.stdout.readline()
        words = [CTL, *ONE, f"--worker={self.worker}", "watch", str(holder.pid)]
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "NVIDIA H200, 18.2 GiB\n"), done.stderr)
        done = subprocess.run([*words, "--once", "-j"], env=environment(), capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(json.loads(done.stdout), {
            "pid": holder.pid, "processes": 1, "doubts": [],
            "uses": [{"device": H200, "name": "NVIDIA H200", "memory": 19595788288, "apis": [], "processes": 1}]})


@unittest.skipUnless(UNSHARE, "mount namespaces cannot be created here")
class AHundredRuns(unittest.TestCase):
    """Tests with 100 runs in separate folders. Every second program keeps the device node open until NVML has been queried."""

    def one(self, takes):
        case = WithNvidiasNodes("test_tells_the_gpu_and_its_memory")
        try:
            case.setUp()
            done = case.run_held("llama.cpp") if takes else None
            line = done[1] if takes else watched(lambda: run("llama.cpp", program=["true"])).stderr
        finally:
            case.doCleanups()
        return line, "gpuprobectl: used NVIDIA H200, 18.2 GiB\n" if takes else NONE

    def test_are_told_right(self):
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            told = list(pool.map(self.one, [count % 2 == 0 for count in range(100)]))
        self.assertEqual([line for line, wanted in told if line != wanted], [])


class Falls(unittest.TestCase):
    """Tests that `run` tries the next candidate if a program fails within a minute."""

    def ask(self, *words, program, application="llama.cpp"):
        return run(application, "--fallback", *words, program=program)

    CRASHES_WITH_CUDA = ["/bin/sh", "-c", 'test -z "$CUDA_VISIBLE_DEVICES" || kill -SEGV $$; echo ran']

    def test_a_crash_leads_to_the_next_candidate(self):
        done = self.ask(program=self.CRASHES_WITH_CUDA)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        lines = done.stderr.splitlines()
        self.assertRegex(lines[0], r"^gpuprobectl: cuda on NVIDIA H200 was ended by SIGSEGV after \d+ ms; trying ")
        self.assertTrue(lines[-1].startswith("gpuprobectl: used no GPU"), lines)

    def test_every_way_is_tried_and_the_last_end_is_ours(self):
        done = self.ask("-j", program=["/bin/sh", "-c", "kill -ABRT $$"])
        self.assertEqual(done.returncode, -signal.SIGABRT)
        attempts = json.loads(done.stderr)["attempts"]
        self.assertEqual(attempts[0]["backend"], "cuda")
        self.assertEqual(attempts[-1]["backend"], "cpu")
        self.assertEqual({(each["signal"], each["failed"]) for each in attempts}, {("SIGABRT", True)})
        self.assertEqual(len({(each["backend"], *each["gpus"]) for each in attempts}), len(attempts))

    def test_alike_gpus_are_tried_one_after_the_other(self):
        done = subprocess.run([CTL, f"--replay={SOURCE}/tests/data/machines/nvidia-h200-2", "run", "mpv", "--fallback", "--",
                               "/bin/sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES"; kill -SEGV $$'], env=environment(), capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual([line[-1:] for line in done.stdout.splitlines()[:2]], ["1", "2"], done.stderr)

    def test_a_status_that_the_application_names_counts_and_no_other(self):
        self.assertEqual(len(json.loads(self.ask("-j", program=["/bin/sh", "-c", "exit 3"]).stderr)["attempts"]), 1)
        done = self.ask("-j", program=["/bin/sh", "-c", "exit 3"], application="whisper.cpp")
        attempts = json.loads(done.stderr)["attempts"]
        self.assertEqual((done.returncode, len(attempts) > 1), (3, True))

    def test_whoever_ends_the_program_wants_no_other(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            with self.subTest(number=number):
                done = self.ask("-j", program=["/bin/sh", "-c", f"kill -{int(number)} $$"])
                self.assertEqual(done.returncode, -number)
                self.assertEqual(len(json.loads(done.stderr)["attempts"]), 1)

    def test_without_the_option_nothing_is_tried_again(self):
        done = run("llama.cpp", program=self.CRASHES_WITH_CUDA)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (-signal.SIGSEGV, "", NONE))


class Reports(unittest.TestCase):
    """Tests that `run` reports the outcome to the daemon, and that the daemon then makes a different choice."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.socket = f"{folder.name}/socket"
        start_daemon(self, self.socket)

    def ask(self, *words):
        return subprocess.run([CTL, f"--socket={self.socket}", *words], env=environment(), capture_output=True, text=True,
                              timeout=60, check=False)

    def chosen(self):
        return chosen_by(self.socket)

    def run_it(self, *words, program):
        done = self.ask("run", "-j", "llama.cpp", *words, "--", *program)
        told = json.loads(done.stderr)
        self.assertIsNone(told["not_reported"])
        return [attempt["reported"] for attempt in told["attempts"]]

    def test_a_crash_that_another_way_does_not_have(self):
        self.assertEqual(self.chosen(), "cuda")
        self.assertEqual(self.run_it("--fallback", program=Falls.CRASHES_WITH_CUDA), ["failed", None])
        self.assertEqual(self.chosen(), "cpu")

    def test_a_crash_of_the_program_itself_says_nothing_of_the_backend(self):
        reports = self.run_it("--fallback", program=["/bin/sh", "-c", "kill -SEGV $$"])
        self.assertEqual(set(reports), {None})
        self.assertEqual(self.run_it(program=["/bin/sh", "-c", "kill -SEGV $$"]), [None])
        self.assertEqual(self.run_it(program=["true"]), [None])
        self.assertEqual(self.chosen(), "cuda")

    def test_an_expectation_that_is_not_met_by_a_program_that_tried(self):
        self.assertEqual(self.run_it("--expect=cuda", program=["true"]), [None])
        self.assertEqual(self.run_it("--expect=vulkan", program=loading(self.folder / "libcuda.so.1")), [None])
        self.assertEqual(self.chosen(), "cuda")
        self.assertEqual(self.run_it("--expect=cuda", program=loading(self.folder / "libcuda.so.1")), ["failed"])
        self.assertEqual(self.chosen(), "cpu")


class Watches(unittest.TestCase):
    def watch(self, *words, **options):
        return subprocess.run([CTL, *ONE, "watch", *words], env=environment(), capture_output=True, text=True,
                              timeout=60, check=False, **options)

    def child(self, *words, **options):
        child = subprocess.Popen([*words], stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_a_process_without_a_gpu(self):
        child = self.child("/bin/sleep", "60")
        done = self.watch(str(child.pid))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "no GPU\n", ""))

    def test_a_process_that_is_not_there(self):
        child = self.child("/bin/true")
        child.wait()
        done = self.watch(str(child.pid))
        self.assertEqual((done.returncode, done.stderr), (1, f"gpuprobectl: watch: process {child.pid} does not exist\n"))
        for word in ("0", "-3", "x", "99999999", ""):
            self.assertEqual(self.watch(word).returncode, 2, word)
        self.assertEqual(self.watch().returncode, 2)

    def test_a_stream_ends_with_the_process(self):
        child = self.child("/bin/sleep", "2.5")
        done = self.watch("-j", str(child.pid))
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(len(lines), (2, 3, 4))
        self.assertEqual(lines[0], {"pid": child.pid, "processes": 1, "uses": [], "doubts": []})

    def test_a_terminal_has_one_line_that_is_kept_up_to_date(self):
        child = self.child("/bin/sleep", "3.5")
        ours, theirs = pty.openpty()
        watching = subprocess.Popen([CTL, *ONE, "watch", str(child.pid)], env=environment(TERM="xterm", LC_ALL="C.UTF-8"),
                                    stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        said = b""
        while True:
            try:
                said += os.read(ours, 4096)
            except OSError:  # the program has closed its end of the terminal
                break
        os.close(ours)
        self.assertEqual(watching.wait(timeout=20), 0)
        self.assertRegex(said.decode(), r"^(\r\x1b\[Kno GPU){2,}\r\n$")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_process_of_somebody_else_is_not_none(self):
        child = self.child("/bin/sleep", "60")

        def become_nobody():
            os.setgid(65534)
            os.setuid(65534)

        done = self.watch(str(child.pid), preexec_fn=become_nobody)
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertIn(f"you have no permission to inspect process {child.pid}", done.stderr)


if __name__ == "__main__":
    unittest.main()
