# SPDX-License-Identifier: Apache-2.0
"""Compares `gpuprobectl plan` for several GPUs with the memory that llama.cpp uses on each GPU. A fake driver simulates the
machines.

llama.cpp reports the layers of each GPU, and the memory for caches and computation on that GPU. The test calculates the weights of these layers from
the model file. Unlike the backends for CUDA and ROCm, ggml's Vulkan backend reorders a graph before memory is reserved. The test therefore also runs
llama.cpp without reordering, and compares it with `plan` without the amount that `plan` adds for reordering. The results are in the table of
docs/internals/plan-checks.md. With GPUPROBE_ACCEPT=1, the test writes this table.
"""
import json
import os
import pathlib
import re
import tempfile
import unittest

import gpus
import llama
import mixed_shapes  # noqa: F401
import npm
import shapes
from gpus import DISCRETE, GIB, gpu

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
PAGE = SOURCE / "docs/internals/plan-checks.md"
BEGIN, END = "<!-- several GPUs -->\n", "<!-- /several GPUs -->\n"
MIB = 1 << 20

SHAPES = ("llama-8b", "llama-1b", "llama-70b", "qwen2-7b", "qwen3-32b", "qwen3-moe", "mixtral", "gemma2-9b", "gemma3-12b", "cohere2-7b",
          "gpt-oss-20b", "olmo2-7b", "command-r", "starcoder2", "deepseek-v3", "glm4-moe", "llama4", "exaone-4-1b", "mimo-2", "qwen3-vl")
MACHINES = {"24 + 24 GiB": (24, 24), "8 + 16 GiB": (8, 16), "24 + 12 + 8 GiB": (24, 12, 8)}
# Limits that are higher than lavapipe's limits, with which llama.cpp would keep large matrices on the host.
LIMITS = {"maxStorageBufferRange": 0xffffffff, "maxMemoryAllocationSize": 0xffe00000, "maxBufferSize": 0xffe00000}
AS_RESERVED = {"GGML_VK_DISABLE_GRAPH_OPTIMIZE": "1"}
LEAST, MOST = -1.0, 1.0  # allowed error, in percent of the memory that a GPU needs
REORDERED_LEAST, REORDERED_MOST = -1.0, 6.0  # with few layers, an error of up to two rows is a large share


def weights(made, layers):
    """Returns the weights of these layers in MiB. The output layer has the number after the last layer."""
    names = {"output.weight" if "output.weight" in made.tensors else "token_embd.weight", "output_norm.weight", "output_norm.bias"}
    used = made.layers - made.keys.get(f"{made.architecture}.nextn_predict_layers", 0)
    total = 0
    for name, (shape, kind) in made.tensors.items():
        layer = re.match(r"blk\.(\d+)\.", name)
        is_here = int(layer[1]) in layers and int(layer[1]) < used if layer else name in names and made.layers in layers
        if is_here:
            _, block, size = shapes.TYPES[kind]
            rows = 1
            for length in shape[1:]:
                rows *= length
            total += shape[0] // block * size * rows
    return total / MIB


class PlanOfSeveralGpus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not gpus.DRIVER.exists() or not gpus.LAVAPIPE.exists():
            raise unittest.SkipTest("needs Mesa's software Vulkan")
        cls.runtime = npm.package("@node-llama-cpp/linux-x64-vulkan", llama.VERSION) / "bins/linux-x64-vulkan"
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-split-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.models = {}
        for name in SHAPES:
            cls.models[name] = shapes.SHAPES[name]()
            cls.models[name].write(cls.folder / f"{name}.gguf")

    def machine(self, name, sizes):
        devices = [gpu(f"GPU {place}", f"GPU of {size} GiB", 0x10de, 0x2684 + place, DISCRETE, f"{place + 1}:0", memory=size * GIB, **LIMITS)
                   for place, size in enumerate(sizes)]
        return gpus.Machine(self.folder / re.sub(r"\W+", "-", name), {"nvidia": devices})

    def found(self, machine, name, variables):
        """Returns for each GPU the layers that llama.cpp assigned to the GPU, and its memory in MiB."""
        done, _, _ = machine.run(llama.command(self.runtime, self.folder / f"{name}.gguf"), variables)
        self.assertEqual(done.returncode, 0, done.stderr[-500:])
        parts = json.loads(done.stdout)["parts"]
        return [(part["layers"], weights(self.models[name], part["layers"]) + part["cache"] + part["compute"])
                for device, part in sorted(parts.items()) if re.fullmatch(r"Vulkan\d", device)]

    def planned(self, machine, name):
        done = machine.ask("plan", "-j", f"--gguf={self.folder}/{name}.gguf", "--margin=0MiB", "--context-memory=0MiB", "--flash-attention=on")
        together, = json.loads(done.stdout)["together"]
        self.assertEqual(together["backend"], "vulkan")
        return [(share["layers"], share["need"] / MIB) for share in together["shares"] if share["layers"]]

    def compare(self, machine, words, name, rows):
        plan = self.planned(machine, name)
        row = self.models[name].width * llama.SWITCHES["batch"] * 4 / MIB  # `plan` adds this amount for reordering
        for variables, least, most in ((AS_RESERVED, LEAST, MOST), ({}, REORDERED_LEAST, REORDERED_MOST)):
            said = [(count, mib - row if variables else mib) for count, mib in plan]
            really = self.found(machine, name, variables)
            errors = [100 * (ours - theirs) / theirs for (_, ours), (_, theirs) in zip(said, really)]
            print(f"{words:16} {name:14} {'reserved ' if variables else 'reordered'} "
                  + "  ".join(f"{len(layers):3} layers {mib:9.2f} {ours:9.2f} {error:+6.2f} %"
                              for (layers, mib), (_, ours), error in zip(really, said, errors)), flush=True)
            with self.subTest(machine=words, shape=name, **variables):
                self.assertEqual([len(layers) for layers, _ in really], [count for count, _ in said])
                self.assertGreaterEqual(min(errors), least)
                self.assertLessEqual(max(errors), most)
            if variables:
                rows.append(f"| {words} | {name} | {' · '.join(f'{mib:,.2f}' for _, mib in really)} | "
                            f"{' · '.join(f'{ours:,.2f}' for _, ours in said)} | {' · '.join(map(percent, errors))} |")

    def test_is_what_llama_cpp_puts_on_each(self):
        rows = []
        for words, sizes in MACHINES.items():
            with self.machine(words, sizes) as machine:
                for name in SHAPES:
                    self.compare(machine, words, name, rows)
        table = "| GPUs | shape | llama.cpp | `plan` | error |\n| --- | --- | ---: | ---: | ---: |\n" + "".join(f"{row}\n" for row in rows)
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        told, after = rest.split(END)
        if os.environ.get("GPUPROBE_ACCEPT"):
            PAGE.write_text(before + BEGIN + table + END + after, encoding="utf-8")
        else:
            self.assertEqual(told, table, "GPUPROBE_ACCEPT=1 writes it")


def percent(error):
    return "0" if abs(error) < 0.005 else f"{error:+.2f} %".replace("-", "−")


if __name__ == "__main__":
    unittest.main()
