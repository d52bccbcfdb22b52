# SPDX-License-Identifier: Apache-2.0
"""Starts real programs with the variables that `env` prints, on simulated machines with several GPUs, and checks which GPUs the
programs open.

The results are in the tables of docs/internals/runtimes.md. With GPUPROBE_ACCEPT=1, the tests write these tables.
"""
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import unittest

import gpus
import llama
import npm
import roots
import shapes
from gpus import ANV, CPU, DISCRETE, GIB, INTEGRATED, LLVMPIPE, RADV, gpu

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
PAGE = SOURCE / "docs/internals/runtimes.md"
PROGRAMS = pathlib.Path(__file__).parent / "programs"
ONNX = "1.30.0"
DAWN = "0.6.2"

RTX = gpu("RTX 4090", "NVIDIA GeForce RTX 4090", 0x10de, 0x2684, DISCRETE, "1:0", memory=24 * GIB)
SECOND = gpu("second RTX 4090", "NVIDIA GeForce RTX 4090", 0x10de, 0x2684, DISCRETE, "2:0", memory=24 * GIB)
AMD = gpu("780M", "AMD Radeon 780M (RADV PHOENIX)", 0x1002, 0x15bf, INTEGRATED, "c4:0", RADV)
INTEL = gpu("UHD 770", "Intel(R) UHD Graphics 770 (ADL-S GT1)", 0x8086, 0x4680, INTEGRATED, "0:2", ANV)
NAVI31 = gpu("RX 7900 XTX", "AMD Radeon RX 7900 XTX (RADV NAVI31)", 0x1002, 0x744c, DISCRETE, "3:0", RADV, memory=24 * GIB)
TWIN = gpu("second RX 7900 XTX", "AMD Radeon RX 7900 XTX (RADV NAVI31)", 0x1002, 0x744c, DISCRETE, "83:0", RADV, memory=24 * GIB)
NAVI21 = gpu("RX 6800", "AMD Radeon RX 6800 (RADV NAVI21)", 0x1002, 0x73bf, DISCRETE, "43:0", RADV, memory=16 * GIB)
SOFTWARE = gpu("llvmpipe", "llvmpipe (LLVM 15.0.6, 256 bits)", 0x10005, 0, CPU, None, LLVMPIPE)
MACHINES = {
    "desktop": {"nvidia": [RTX], "radeon": [AMD], "lvp": [SOFTWARE]},
    "two cards": {"nvidia": [RTX, SECOND], "intel": [INTEL], "lvp": [SOFTWARE]},
    "two Radeons": {"radeon": [NAVI21, NAVI31], "lvp": [SOFTWARE]},
    "two equal Radeons": {"radeon": [NAVI31, TWIN], "lvp": [SOFTWARE]},
    "Ryzen with Radeon": {"radeon": [AMD, NAVI31], "lvp": [SOFTWARE]},
    "laptop": {"intel": [INTEL], "lvp": [SOFTWARE]},
    "no GPU": {"lvp": [SOFTWARE]},
}
# All applications are tested on the desktop. The following applications are tested on every machine, because they represent each program and each set
# of rules for choosing GPUs.
ON_EVERY_MACHINE = ("llama.cpp", "node-llama-cpp", "transformers.js", "onnxruntime", "vectorizer", "ollama", "tsuku", "localai")
BY_ADDRESS = {f"pci:0000:{device['answers']['pciBus']:02x}:{device['answers']['pciDevice']:02x}.0": device["id"]
              for device in (RTX, SECOND, AMD, INTEL, NAVI31, TWIN, NAVI21)}
EQUAL = {device["id"] for device in (RTX, SECOND, NAVI31, TWIN)}


def onnx_sum():
    """Returns an ONNX model that computes y = x + x, as a protocol buffer (onnx/onnx.proto, version 1.16)."""

    def number(value):
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + number(value >> 7)

    def field(key, value):
        if isinstance(value, int):
            return number(key << 3) + number(value)
        return number(key << 3 | 2) + number(len(value)) + value

    def vector(name):
        shape = field(1, field(1, 4))
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    node = field(1, b"x") + field(1, b"x") + field(2, b"y") + field(4, b"Add")
    graph = field(1, node) + field(2, b"sum") + field(11, vector(b"x")) + field(12, vector(b"y"))
    return field(1, 8) + field(8, field(1, b"") + field(2, 13)) + field(7, graph)


class Programs:
    """The commands that represent applications."""

    def __init__(self, folder):
        vulkan = f"@node-llama-cpp/linux-x64-vulkan@{llama.VERSION}"
        self.node_llama = npm.package("node-llama-cpp", llama.VERSION, vulkan)
        self.llama = self.node_llama.parent / "@node-llama-cpp/linux-x64-vulkan/bins/linux-x64-vulkan"
        self.onnx = npm.package("onnxruntime-node", ONNX)
        self.dawn = npm.package("webgpu", DAWN)
        self.model = folder / "smallest.gguf"
        shapes.smallest().write(self.model)
        self.sum = folder / "sum.onnx"
        self.sum.write_bytes(onnx_sum())

    def of(self, application, reads, answer):
        """Returns the command for the application, or for a program with the same runtime; None if no program on the test machine is suitable."""
        if application == "node-llama-cpp":
            return ["node", PROGRAMS / "node_llama_run.mjs", self.node_llama, self.model]
        if application == "transformers.js":
            return ["node", PROGRAMS / "ort_run.mjs", self.onnx, self.sum, answer.get("answers", {}).get("device", "cpu")]
        if application == "onnxruntime":
            return ["node", PROGRAMS / "ort_run.mjs", self.onnx, self.sum, "cpu"]
        if "ggml-vulkan" in reads:
            return [sys.executable, PROGRAMS / "llama_run.py", self.llama, self.model]
        if "vulkan" in reads and "webgpu" in answer["known"]:
            return ["node", PROGRAMS / "dawn_run.mjs", self.dawn]
        return None


def applications():
    """Yields (name, selection) for each application that selects a GPU."""
    for path in sorted((SOURCE / "data/knowledge/applications").glob("*.json")):
        selection = json.loads(path.read_text(encoding="utf-8")).get("selection")
        if selection:
            yield path.stem, selection


class Devices(unittest.TestCase):
    MACHINES = tuple(MACHINES)
    LEAST = 90  # minimum number of programs that are started
    TABLE = "devices"  # the mark of the table in the page
    root, mesa = None, None

    @classmethod
    def setUpClass(cls):
        if not gpus.DRIVER.exists() or not gpus.LAVAPIPE.exists():
            raise unittest.SkipTest("needs Mesa's software Vulkan")
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-programs-")
        cls.addClassCleanup(folder.cleanup)
        cls.programs = Programs(pathlib.Path(folder.name))
        cls.needs = (folder.name, PROGRAMS.parent, npm.KEPT)

    def opened(self, machine, command, variables, expected, beside, words):
        """Returns the devices that the program opened, for the table. If these devices differ from the expected devices, adds an entry to
        `self.wrong`.

        llama.cpp uses all visible GPUs, and all other programs use one GPU. `beside` contains the GPUs that the answer's warnings name, because a
        program that reads only the variables of the Vulkan loader may open one of these GPUs instead. `beside` may only contain GPUs of equal models.
        """
        done, opened, computed = machine.run(command, variables)
        if done.returncode != 0 and not computed:  # Dawn's module may crash at exit, after a successful computation
            self.wrong.append(f"{words}: it ended with {done.returncode}: {done.stderr[-300:]}")
        takes_all = any("llama" in str(word) for word in command)
        may_open = expected if takes_all else expected | beside
        allowed = [expected] if takes_all or not expected else [{each} for each in may_open]
        if opened not in allowed or not (expected | beside <= EQUAL or not beside):
            self.wrong.append(f"{words}: opened {sorted(opened)}, expected {sorted(expected)} with {variables}, warned of {beside}")
        self.runs += 1
        return (", ".join(sorted(opened)) or "–") + (" (not distinguished)" if may_open - expected else "")

    def row(self, machine, name, application, selection, question):
        done = machine.ask("select", "-j", application, *question)
        answer = json.loads(done.stdout)
        program = self.programs.of(application, selection["reads"], {**answer, "known": selection["backends"]})
        if not program:
            return None
        expected = {BY_ADDRESS[each] for each in answer.get("gpus") or []}
        return self.opened(machine, program, machine.variables(application, *question), expected, self.beside(answer),
                           f"{name}: {application} {question}")

    @staticmethod
    def beside(answer):
        """Returns the other GPUs that the program sees, according to the warnings in the answer."""
        return {BY_ADDRESS[each] for warning in answer.get("warnings", []) if warning["code"] == "not-told-apart"
                for each in warning["detail"]["gpus"]}

    def ask_all(self, machine, name, rows):
        for application, selection in applications():
            if name != "desktop" and application not in ON_EVERY_MACHINE:
                continue
            is_itself = application in ("llama.cpp", "node-llama-cpp", "transformers.js")
            questions = [[]]
            if is_itself or name == "desktop":
                questions += [["--backend=none"]] + ([["--backend=cpu"]] if "cpu" in selection["backends"] else [])
            if is_itself:
                questions += [[f"--gpu={address}"] for address, key in BY_ADDRESS.items()
                              if any(key == device["id"] for devices in MACHINES[name].values() for device in devices)]
            for question in questions:
                found = self.row(machine, name, application, selection, question)
                if found is not None:
                    key = BY_ADDRESS.get(question[0].removeprefix("--gpu="), "") if question else ""
                    words = f"select {application} {'--gpu=' + key if key else ' '.join(question)}".strip()
                    rows.setdefault(words, {})[name] = found
                    print(f"{name:10} {words:48} {found}", flush=True)

    def ask_of_gpus(self, machine, name, rows):
        """Checks that every program uses the GPU for which `env GPU` prints variables."""
        for entry in machine.report()["gpus"]:
            key = BY_ADDRESS[entry["id"]]
            variables = machine.variables(entry["id"])
            beside = self.beside(json.loads(machine.ask("env", "-j", entry["id"]).stdout))
            for program, command in (("llama.cpp", [sys.executable, PROGRAMS / "llama_run.py", self.programs.llama, self.programs.model]),
                                     ("Dawn", ["node", PROGRAMS / "dawn_run.mjs", self.programs.dawn]),
                                     ("ONNX Runtime", ["node", PROGRAMS / "ort_run.mjs", self.programs.onnx, self.programs.sum, "webgpu"])):
                words = f"env {key}, {program}"
                rows.setdefault(words, {})[name] = self.opened(machine, command, variables, {key}, beside, f"{name}: {words}")
                print(f"{name:10} {words:48} {rows[words][name]}", flush=True)

    def drivers_of(self, name):
        """Returns the machine's drivers. If there is a root folder, Mesa's drivers get the version number of the Mesa in this root folder."""
        if not self.mesa:
            return MACHINES[name]
        return {driver: [{**each, "answers": {**each["answers"], "driverInfo": f"Mesa {self.mesa}"}}
                         if each["answers"]["driverID"] in (RADV, ANV) else each for each in devices]
                for driver, devices in MACHINES[name].items()}

    def rows_of(self, name):
        rows = {}
        with tempfile.TemporaryDirectory(prefix="gpuprobe-machine-") as folder, \
                gpus.Machine(folder, self.drivers_of(name), self.root, self.needs) as machine:
            self.ask_all(machine, name, rows)
            self.ask_of_gpus(machine, name, rows)
        return rows

    def test_that_are_opened_are_those_that_env_names(self):
        self.wrong, self.runs = [], 0
        with concurrent.futures.ThreadPoolExecutor() as pool:
            parts = list(pool.map(self.rows_of, self.MACHINES))
        rows = {}
        for part in parts:
            for words, cells in part.items():
                rows.setdefault(words, {}).update(cells)
        print(f"{self.runs} programs started, {len(self.wrong)} not as said")
        print("\n".join(self.wrong))
        self.assertGreater(self.runs, self.LEAST)
        self.assertEqual(self.wrong, [])
        self.keep(rows)

    def keep(self, rows):
        table = [f"| started with | {' | '.join(self.MACHINES)} |", "| --- |" + " --- |" * len(self.MACHINES)]
        table += [f"| `{words}` | " + " | ".join(cells.get(name, "") for name in self.MACHINES) + " |" for words, cells in rows.items()]
        begin, end = f"<!-- {self.TABLE} -->\n", f"<!-- /{self.TABLE} -->\n"
        text = PAGE.read_text(encoding="utf-8")
        before, rest = text.split(begin)
        after = rest.split(end)[1]
        whole = before + begin + "\n".join(table) + "\n" + end + after
        if os.environ.get("GPUPROBE_ACCEPT"):
            PAGE.write_text(whole, encoding="utf-8")
        self.assertEqual(whole, PAGE.read_text(encoding="utf-8"))


class DevicesOfDebian13(Devices):
    """Runs the same tests with the Mesa, Vulkan loader and device-select layer of Debian 13."""

    MACHINES = ("two cards", "two Radeons", "two equal Radeons", "Ryzen with Radeon")
    LEAST = 40
    TABLE = "devices of Debian 13"

    @classmethod
    def setUpClass(cls):
        cls.root = roots.folder("trixie")
        cls.mesa = roots.version(cls.root, "mesa-vulkan-drivers")
        super().setUpClass()

    def test_that_are_opened_are_those_that_env_names(self):
        super().test_that_are_opened_are_those_that_env_names()


if __name__ == "__main__":
    unittest.main()
