# SPDX-License-Identifier: Apache-2.0
"""Compares the estimate of `gpuprobectl plan` with the buffer sizes that llama.cpp reports, for many model shapes and options.

A short part always runs. With GPUPROBE_RUNTIMES=all (tools/test --runtimes), every shape is tested with every set of options.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import dense_shapes  # noqa: F401
import encoder_shapes  # noqa: F401
import llama
import mixed_shapes  # noqa: F401
import npm
import shapes

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
RUNS_ALL = os.environ.get("GPUPROBE_RUNTIMES") == "all"
MIB = 1 << 20

# The allowed error of the estimate, in percent of the sum of weights, cache and compute buffers.
LEAST, MOST = -1.0, {"on": 2.0, "off": 3.0}

WAYS = [dict(flash=flash) for flash in ("on", "off")]
# llama.cpp may reuse the memory of a mask of 128 MiB. If it is uncertain whether llama.cpp reuses the mask's memory, `plan` counts the mask.
MOST_OF_LONG = 3.5
LONG = [dict(flash=flash, ctx=ctx) for ctx in (65536, 131072) for flash in ("on", "off")]
MORE_WAYS = [
    dict(flash="on", keys="q8_0", values="q8_0", ctx=8192),
    dict(flash="on", keys="q4_0", values="q4_0", ctx=16384),
    dict(flash="off", keys="q8_0", ctx=8192),
    dict(flash="on", ctx=512),
    dict(flash="on", ctx=2048),
    dict(flash="on", ctx=32768),
    dict(flash="off", ctx=16384),
    dict(flash="on", streams=4),
    dict(flash="off", streams=3, ctx=2000),
    dict(flash="on", batch=64),
    dict(flash="on", batch=1024, ctx=8192),
    dict(flash="off", batch=128, ctx=1000),
    dict(flash="on", swa_full=True, ctx=16384),
]


def answer(model, way):
    """Returns the answer of `plan` for a machine without a GPU."""
    switches = {**llama.SWITCHES, **way}
    words = [f"--gguf={model}", f"--ctx={switches['ctx']}", f"--batch={switches['batch']}", f"--parallel={switches['streams']}",
             f"--cache-type-k={switches['keys']}", f"--cache-type-v={switches['values']}", f"--flash-attention={switches['flash']}"]
    words += ["--swa-full"] if switches["swa_full"] else []
    done = subprocess.run([BIN / "gpuprobectl", f"--replay={SOURCE}/tests/data/machines/software-only", "plan", "-j", *words],
                          capture_output=True, text=True, check=False, timeout=60)
    return json.loads(done.stdout)


def planned(model, way):
    """Returns the planned sizes of cache and compute buffers in MiB."""
    need = answer(model, way)["need"]
    return need["cache"] / MIB, need["compute"] / MIB


class WithLlamaCpp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runtime = npm.package("@node-llama-cpp/linux-x64", llama.VERSION) / "bins/linux-x64"
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def row(self, name, model, weights, way):
        real = llama.reserved(self.runtime, model, **way)
        words = " ".join(f"{key}={value}" for key, value in way.items())
        if "error" in real:
            print(f"{name:30} {words:42} llama.cpp: {' '.join(real['error'])}", flush=True)
            return None
        cache, compute = planned(model, way)
        really = sum(real["compute"].values())
        error = 100 * (cache + compute - real["cache"] - really) / (weights + real["cache"] + really)
        print(f"{name:30} {words:42} cache {real['cache']:8.2f} {cache:8.2f}  compute {really:8.2f} {compute:8.2f}  {error:+6.2f} %",
              flush=True)
        return abs(cache - real["cache"]), error

    def check(self, names, ways, most=None):
        print("\nMiB, llama.cpp's and ours; the error is of the sum with the weights")
        compared = 0
        for name in names:
            model = self.folder / f"{name}.gguf"
            made = shapes.SHAPES[name]()
            made.write(model)
            for way in ways:
                with self.subTest(shape=name, **way):
                    found = self.row(name, model, made.header()[1] / MIB, way)
                    if found is None:
                        self.assertNotIn(way, WAYS, "every shape can be loaded")
                        continue
                    compared += 1
                    self.assertLess(found[0], 0.02, "the cache is exact")
                    self.assertGreaterEqual(found[1], LEAST)
                    self.assertLessEqual(found[1], most or MOST[way["flash"]])
            model.unlink()
        return compared


class PlanOfEveryShape(WithLlamaCpp):
    def test_is_what_llama_cpp_reserves(self):
        self.assertGreaterEqual(len(shapes.SHAPES), 80)
        self.assertEqual(self.check(shapes.SHAPES, WAYS), len(WAYS) * len(shapes.SHAPES))


class PlanOfLongContexts(WithLlamaCpp):
    # At least one shape of each kind: dense models, models with windows in the first or last layers, latent attention, an indexer, compressed
    # caches, recurrent layers, and mixtures of experts.
    SHAPES = ("llama-8b", "llama-1b", "qwen3-32b", "qwen3-moe", "gemma2-9b", "gemma3-12b", "cohere2-7b", "cohere-2-moe", "gpt-oss-20b",
              "mimo-2", "laguna", "step35", "llama4", "deepseek-v3", "kimi-linear", "glm-5", "minimax-m3", "deepseek-v4-flash",
              "gemma-4-e4b", "gemma-4-31b", "qwen35-with-next-token", "qwen3-next", "jamba", "falcon-h1", "qwen3-vl")

    def test_is_what_llama_cpp_reserves(self):
        self.assertEqual(self.check(self.SHAPES, LONG, MOST_OF_LONG), len(LONG) * len(self.SHAPES))


class PlanOfTypesOfTheCache(WithLlamaCpp):
    SHAPES = ("llama-8b", "phi-2", "grok", "deepseek-v3", "deepseek-v2-lite-without-mla", "kimi-linear", "glm-5",
              "minimax-m3", "deepseek-v4-flash", "bert-large", "rwkv7", "jamba")

    def test_is_refused_where_llama_cpp_refuses(self):
        refused = 0
        for name in self.SHAPES:
            model = self.folder / f"{name}.gguf"
            shapes.SHAPES[name]().write(model)
            for keys, values in (("q8_0", "f16"), ("f16", "q8_0"), ("q8_0", "q8_0")):
                for flash in ("auto", "on", "off"):
                    way = dict(keys=keys, values=values, flash=flash)
                    with self.subTest(shape=name, **way):
                        is_refused = "error" in llama.reserved(self.runtime, model, **way)
                        self.assertEqual("error" in answer(model, way), is_refused)
                        refused += is_refused
        self.assertGreater(refused, 40)


class PlanInEveryWay(WithLlamaCpp):
    @classmethod
    def setUpClass(cls):
        if not RUNS_ALL:
            raise unittest.SkipTest("takes minutes: tools/test --runtimes")
        super().setUpClass()

    def test_is_what_llama_cpp_reserves(self):
        self.assertGreater(self.check(shapes.SHAPES, MORE_WAYS), 250)


if __name__ == "__main__":
    unittest.main()
