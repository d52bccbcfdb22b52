# SPDX-License-Identifier: Apache-2.0
"""Tests of exports to files: how gpuprobectl writes a file, compares it with an existing file, and refuses to write it."""
import ctypes
import json
import os
import pathlib
import shlex
import shutil
import stat
import struct
import subprocess
import tempfile
import time
import unittest

from cli_case import CTL, SOURCE, run

MACHINE = SOURCE / "tests/data/machines/nvidia-h200-1"
FILES = {"json": "a.json", "prometheus": "a.prom", "otlp": "a.jsonl", "ansible": "a.fact", "facter": "a.json", "nfd": "features.d/a",
         "ray-labels": "a.yaml"}
PRINTED = ("slurm-gres", "slurm-node", "nomad-meta")


def export(*words, machine=MACHINE):
    return run(f"--replay={machine}", "export", *map(str, words))


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuprobe-export-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "features.d").mkdir()


class Printed(InFolder):
    def test_every_format_is_the_same_text_twice(self):
        for name in (*FILES, *PRINTED):
            with self.subTest(format=name):
                first, second = export(name, "torch"), export(name, "torch")
                self.assertEqual(first.returncode, 0, first.stderr)
                undated = [[line for line in done.stdout.splitlines() if "expiry-time" not in line]
                           for done in (first, second)]
                self.assertEqual(*undated)
                self.assertTrue(first.stdout.endswith("\n"))

    def test_help_has_a_line_for_each(self):
        text = run("help", "export").stdout
        for name in (*FILES, *PRINTED, "cdi", "conda", "pip"):
            self.assertRegex(text, rf"(?m)^  {name} +\S")

    def test_json_is_one_document(self):
        done = export("slurm-node", "-j", "--node=n1")
        document = json.loads(done.stdout)
        self.assertEqual((document["result"], document["format"]), ("printed", "slurm-node"))
        self.assertTrue(document["text"].startswith("NodeName=n1 "))

    def test_what_can_be_refused_is_refused_with_the_reason(self):
        done = export("cdi")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("nvidia-ctk cdi generate", done.stderr)

    def test_unknown_products_are_named(self):
        done = export("nfd", "torc")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did you mean 'torch'?", done.stderr)


class Embedded(InFolder):
    """Tests of command lines that contain the output of an export and therefore ignore the exit status of the export."""

    def on(self, machine, *words):
        return run("--replay", str(SOURCE / "tests/data/machines" / machine), "export", *words)

    def starts(self, done):
        """Returns whether a program, in this case `env`, accepts the printed arguments."""
        return subprocess.run(["env", *shlex.split(done.stdout), "true"], capture_output=True, check=False).returncode == 0

    def test_fail_where_a_gpu_would_stay_unused(self):
        for format in ("pip", "uv"):
            with self.subTest(format):
                done = self.on("nvidia-smi-rtx-4080-super-595-71-05", format, "torch", "--assume=glibc=2.39")
                self.assertEqual(done.returncode, 3)
                self.assertRegex(done.stderr, r"'cpu' uses no GPU, and pci:0000:01:00\.0 will not be used by")
                self.assertFalse(self.starts(done))

    def test_are_for_the_cpu_if_that_is_wanted(self):
        done = self.on("nvidia-smi-rtx-4080-super-595-71-05", "pip", "torch", "--assume=glibc=2.39", "--allow-cpu")
        self.assertEqual((done.returncode, done.stdout), (0, "torch --index-url https://download.pytorch.org/whl/cpu\n"))
        self.assertIn("will not be used", done.stderr)

    def test_fail_where_nothing_fits(self):
        for format in ("pip", "uv", "container"):
            with self.subTest(format):
                done = self.on("hwloc-power8gpudistances", format, "torch")
                self.assertEqual(done.returncode, 3)
                self.assertFalse(self.starts(done))

    def test_containers_get_nvidias_vulkan_libraries_for_vulkan_only(self):
        """On these machines, the variant of ramalama uses Vulkan, and the variant of jax uses CUDA."""
        graphics = "--env=NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics"
        self.assertEqual(self.on("identity-yzma-orin", "container", "ramalama").stdout.split(), ["--device=nvidia.com/gpu=all", graphics])
        self.assertNotIn(graphics, self.on("nvidia-h200-1", "container", "jax").stdout)

    def test_warn_in_json_too(self):
        done = self.on("nvidia-smi-rtx-4080-super-595-71-05", "uv", "torch", "--assume=glibc=2.39", "--allow-cpu", "-j")
        self.assertIn("gpu-unused", [each["code"] for each in json.loads(done.stdout)["warnings"]])


class Written(InFolder):
    def test_files_are_for_everybody_and_not_executable(self):
        for name, file in FILES.items():
            with self.subTest(format=name):
                path = self.folder / file
                path.unlink(missing_ok=True)
                done = export(name, f"--output={path}", "-j")
                self.assertEqual(json.loads(done.stdout)["result"], "written")
                self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o644)
                self.assertEqual(os.listdir(path.parent).count(path.name), 1)
                self.assertFalse([name for name in os.listdir(self.folder) if name.startswith(".")])

    def test_what_says_so_already_is_not_touched(self):
        path = self.folder / "features.d/a"
        export("nfd", f"--output={path}")
        before = path.stat()
        self.assertEqual(json.loads(export("nfd", f"--output={path}", "-j").stdout)["result"], "unchanged")
        self.assertEqual(path.stat().st_ino, before.st_ino)

    def test_what_expires_soon_is_written_anew(self):
        path = self.folder / "features.d/a"
        export("nfd", f"--output={path}")
        lines = path.read_text().splitlines()
        old = [line if "expiry-time" not in line else "# +expiry-time=2020-01-01T00:00:00Z" for line in lines]
        path.write_text("\n".join(old) + "\n")
        done = export("nfd", f"--check={path}")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{path} differs: the file has expired", done.stderr)
        self.assertEqual(json.loads(export("nfd", f"--output={path}", "-j").stdout)["result"], "written")
        self.assertNotIn("2020-01-01", path.read_text())

    def test_a_wrong_mode_is_mended(self):
        path = self.folder / "a.fact"
        export("ansible", f"--output={path}")
        path.chmod(0o755)
        self.assertIn("the file is executable", export("ansible", f"--check={path}").stderr)
        export("ansible", f"--output={path}")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o644)

    def test_the_mode_can_be_chosen(self):
        path = self.folder / "a.prom"
        export("prometheus", f"--output={path}")
        done = export("prometheus", f"--output={path}", "--mode=0640", "-j")
        self.assertEqual(json.loads(done.stdout)["result"], "written", "the text is the same, but the mode of the file changes")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)
        self.assertEqual(json.loads(export("prometheus", f"--output={path}", "--mode=640", "-j").stdout)["result"], "unchanged")
        for mode in ("0755", "4644", "0044", "rw-r-----", "0648", "-1", ""):
            with self.subTest(mode):
                done = export("prometheus", f"--output={path}", f"--mode={mode}")
                self.assertEqual(done.returncode, 2)
                self.assertIn("mode", done.stderr)
        self.assertIn("--mode requires --output or --install", export("prometheus", "--mode=0640").stderr)

    def test_nfd_sees_one_event_and_it_is_the_whole_file(self):
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.addCleanup(os.close, watch)
        self.assertGreater(libc.inotify_add_watch(watch, bytes(self.folder / "features.d"), 0xFFF), 0)
        export("nfd", f"--output={self.folder}/features.d/a")
        events = os.read(watch, 65536)
        masks = []
        while events:
            _, mask, _, length = struct.unpack_from("iIII", events)
            masks.append(mask)
            events = events[16 + length:]
        # NFD does not watch for read accesses to a folder (open, access, close).
        changes = [mask for mask in masks if mask & 0x3C6]
        self.assertEqual(changes, [0x80], [hex(mask) for mask in masks])  # IN_MOVED_TO

    def test_a_second_file_is_refused(self):
        export("nfd", f"--output={self.folder}/features.d/a")
        done = export("nfd", f"--output={self.folder}/features.d/b", "-j")
        document = json.loads(done.stdout)
        self.assertEqual((done.returncode, document["result"]), (3, "refused"))
        self.assertEqual(document["left_out"][0]["code"], "collision")
        self.assertFalse((self.folder / "features.d/b").exists())

    def test_a_folder_that_is_not_there_is_an_error(self):
        done = export("json", f"--output={self.folder}/nowhere/a.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"folder {self.folder}/nowhere does not exist; check that the program that reads this folder is installed", done.stderr)

    def test_names_that_no_reader_takes_are_refused(self):
        for words in (("prometheus", "--output=a.txt"), ("prometheus", "--output=.a.prom"), ("nfd", "--output=.a"),
                      ("slurm-gres", "--output=gres.conf"), ("json", "--install"), ("conda", "--output=a"),
                      ("json", "--output=a.json", "--check=b.json"), ("json", "--every=60"),
                      ("json", "--output=a.json", "--every=0"), ("conda", "--every=60")):
            self.assertEqual(export(*words).returncode, 2, words)


class Repeated(InFolder):
    def wait_for(self, file):
        end = time.monotonic() + 30
        while not file.exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_writes_again_until_it_is_interrupted(self):
        file = self.folder / "features.d/a"
        with subprocess.Popen([CTL, f"--replay={MACHINE}", "export", "nfd", f"--output={file}", "--every=1"]) as process:
            for _ in range(2):
                self.wait_for(file)
                file.unlink()
            process.terminate()
            self.assertEqual(process.wait(30), 0)


class Unsettled(InFolder):
    """Tests with a machine on which a driver has crashed once."""

    def setUp(self):
        super().setUp()
        self.machine = self.folder / "machine"
        shutil.copytree(MACHINE, self.machine, symlinks=True)
        probe = self.machine / "probes/cuda.json"
        probe.write_text(json.dumps({"outcome": "crashed", "devices": [], "note": None, "signal": 11}))

    def test_takes_nothing_away(self):
        path = self.folder / "a.fact"
        export("ansible", f"--output={path}")
        before = path.read_text()
        done = export("ansible", f"--output={path}", machine=self.machine)
        self.assertEqual(done.returncode, 3)
        self.assertIn("unsettled", done.stderr)
        self.assertEqual(path.read_text(), before)

    def test_is_told_where_nothing_was(self):
        path = self.folder / "a.fact"
        self.assertEqual(export("ansible", f"--output={path}", machine=self.machine).returncode, 0)
        self.assertNotIn('"cuda"', path.read_text())


class Checked(InFolder):
    def test_shows_what_differs(self):
        path = self.folder / "a.prom"
        export("prometheus", f"--output={path}")
        self.assertEqual(export("prometheus", f"--check={path}").returncode, 0)
        path.write_text(path.read_text().replace("gpuprobe_gpu_info{", "gpuprobe_gpu_gone{"))
        done = export("prometheus", f"--check={path}")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"-gpuprobe_gpu_gone(.|\n)*\+gpuprobe_gpu_info")

    def test_dates_do_not_count(self):
        path = self.folder / "a.prom"
        export("prometheus", f"--output={path}")
        lines = ["gpuprobe_last_probe_timestamp_seconds 1" if line.startswith("gpuprobe_last_probe_time") else line
                 for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")
        self.assertEqual(export("prometheus", f"--check={path}").returncode, 0)

    def test_a_missing_file_differs(self):
        done = export("prometheus", f"--check={self.folder}/none.prom")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the file does not exist", done.stderr)


class Selector(unittest.TestCase):
    def ask(self, *words):
        return run("selector", *words)

    def test_asks_no_machine(self):
        done = self.ask("torch", "cu130", "--orchestrator=promql", "--verdict")
        self.assertEqual(
            done.stdout, 'gpuprobe_variant_supported{application="torch",variant="cu130"} == 1\n')

    def test_refuses_what_an_orchestrator_cannot_express(self):
        done = self.ask("llama.cpp", "ubuntu-vulkan-x64", "--orchestrator=nfd")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("cannot be expressed: vulkan.features: storageBuffer16BitAccess", done.stderr)
        self.assertIn("--allow-weaker", done.stderr)

    def test_leaves_it_out_when_told_and_says_so(self):
        done = self.ask("llama.cpp", "ubuntu-vulkan-x64", "--orchestrator=nfd", "--allow-weaker")
        self.assertEqual(done.returncode, 0)
        self.assertIn("nodeSelectorTerms", json.loads(done.stdout))
        self.assertIn("not in the query: vulkan.features", done.stderr)

    def test_json_holds_both(self):
        document = json.loads(self.ask("llama.cpp", "ubuntu-vulkan-x64", "--orchestrator=nfd", "-j").stdout)
        self.assertIsNone(document["query"])
        self.assertEqual(document["weaker"], ["vulkan.features: storageBuffer16BitAccess"])

    def test_mistakes_are_named(self):
        for words, code in ((("llama.cpp", "ubuntu-x64"), 2), (("llama.cpp", "--orchestrator=nfd"), 2),
                            (("llama.cpp", "ubuntu-x64", "--orchestrator=xml"), 2),
                            (("llama.cpp", "nothing", "--orchestrator=nfd"), 2),
                            (("nothing", "ubuntu-x64", "--orchestrator=nfd"), 1),
                            (("llama.cpp", "ubuntu-x64", "--orchestrator=nfd", "--platform=darwin"), 2),
                            (("llama.cpp", "ubuntu-x64", "--orchestrator=nfd", "--features=a"), 2)):
            self.assertEqual(self.ask(*words).returncode, code, words)

    def test_every_installed_variant_is_asked_for_or_refused(self):
        for orchestrator in ("nfd", "slurm", "promql"):
            for name in ("llama.cpp", "torch", "ollama", "cyllama", "shimmy"):
                application = json.loads((SOURCE / f"data/knowledge/applications/{name}.json").read_text())["manifest"]
                entry = next(value for key, value in application["platforms"].items() if "x86_64" in key or "amd64" in key)
                for variant in entry["variants"]:
                    done = self.ask(name, variant, f"--orchestrator={orchestrator}", "--allow-weaker")
                    self.assertIn(done.returncode, (0, 3), f"{orchestrator} {name} {variant}: {done.stderr}")
                    self.assertEqual(done.returncode == 0, bool(done.stdout), done.stderr)


if __name__ == "__main__":
    unittest.main()
