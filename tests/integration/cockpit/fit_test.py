#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests with files that are dropped on the page: the page shows a plan for a model, and a message for any other file."""
import base64
import json
import pathlib
import struct
import subprocess
import sys
import unittest

from page_case import BIN, MACHINES, SOURCE, PageCase

sys.path[:0] = [str(SOURCE / "tests/integration/cli"), str(SOURCE / "tests/runtimes")]

import gguf_writer  # noqa: E402
import shapes  # noqa: E402

MODELS = SOURCE / "tests/data/models"


def start(keys=0, tensors=0, version=3):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


class Fit(PageCase):
    MACHINE = "nvidia-h200-2"

    def setUp(self):
        super().setUp()
        self.show()

    def choose(self, *names):
        self.ask("files", selector="#fit-file", paths=[str(pathlib.Path(self.folder) / name) for name in names])

    def write(self, name, content):
        (pathlib.Path(self.folder) / name).write_bytes(content)
        return name

    def planned(self, path, *words):
        """Returns the plan that gpuprobectl makes for the complete model file."""
        done = subprocess.run([BIN / "gpuprobectl", f"--replay={MACHINES / self.MACHINE}", "plan", "-j", f"--gguf={path}", *words],
                              capture_output=True, text=True, timeout=60, check=False)
        return json.loads(done.stdout)

    def test_a_model_that_is_dropped(self):
        content = base64.b64encode((MODELS / "llama-3.1-8b.header.gguf").read_bytes()).decode()
        self.ask("drop", selector=".drop", name="llama.gguf", base64=content)
        self.see("#fit-answer", "Llama 3.1 8B")
        answer = self.text("#fit-answer")
        for words in ("(llama, 32 layers) · context 4096 · cache f16 · batch 512 · trained for 131072 tokens",
                      "NVIDIA H200 pci:0000:00:07.0\t✓ fits\t\n5.3 GiB of 138.8 GiB\n\t33/33\t131072", "Without a GPU: ✓ fits"):
            self.assertIn(words, answer)
        self.assertIn("The file ends before the end of the model's weights", answer)  # because this file is only a header
        self.take_pictures("fit")
        self.take_picture("fit", "#fit")

    def test_every_model_has_the_plan_of_the_whole_file(self):
        """Tests that the header that the page sends leads to the same plan as the file, although the page removed tokens and templates."""
        lists = {"tokenizer.ggml.tokens": ["token"] * 150_000, "tokenizer.ggml.scores": [0.5] * 150_000}
        for name in shapes.PUBLISHED:
            file = pathlib.Path(self.folder) / f"{name}.gguf"
            model = shapes.published(name)
            model.keys = {**lists, **model.keys, "tokenizer.chat_template": "x" * 100_000, "general.quantized": True}
            model.write(file)
            self.choose(file.name)
            wanted = self.planned(file)
            self.see("#fit-answer", wanted["model"]["name"])
            sent = self.ask("run", script="""Promise.all([import("./gguf.js"), import("./bus.js")]).then(async ([gguf, bus]) => {
                const { header, isWhole } = await gguf.readHeader([...document.getElementById("fit-file").files]);
                return [header.length, isWhole, await bus.plan(header, { context: 4096, cache: "f16" })] })""")
            model.keys = {key: value for key, value in model.keys.items() if not key.startswith("tokenizer.")}
            self.assertLessEqual(sent[0], len(model.header()[0]) + 64)  # about the size of the header without a tokenizer
            self.assertTrue(sent[1])
            for member in ("model", "run", "need", "together"):
                self.assertEqual(sent[2][member], wanted[member], name)
            self.assertNotIn("The file ends", self.text("#fit-answer"))

    def test_follows_context_and_cache(self):
        shapes.published("llama-3.1-8b").write(pathlib.Path(self.folder) / "a.gguf")
        self.choose("a.gguf")
        self.see("#fit-answer", "KV cache\n512 MiB")
        self.ask("type", selector="#fit-context", text="32768")
        self.ask("press", key="Tab")
        self.see("#fit-answer", "KV cache\n4.0 GiB")
        self.ask("choose", selector="#fit-cache", value="q8_0")
        self.see("#fit-answer", "KV cache\n2.1 GiB")

    def test_a_split_model_needs_all_its_parts(self):
        tensors = list(shapes.published("qwen2.5-14b").tensors.items())
        half = len(tensors) // 2
        for number, part in enumerate((tensors[:half], tensors[half:])):
            model = shapes.published("qwen2.5-14b")
            model.keys = {**(model.keys if number == 0 else {}), "split.no": number, "split.count": 2,
                          "split.tensors.count": len(tensors)}
            model.tensors = dict(part)
            model.write(pathlib.Path(self.folder) / f"m-0000{number + 1}-of-00002.gguf")
        self.choose("m-00002-of-00002.gguf")
        self.see("#fit-answer", "this model has 2 parts: drop all of them together")
        self.choose("m-00002-of-00002.gguf", "m-00001-of-00002.gguf")
        self.see("#fit-answer", "Qwen2.5 14B")
        wanted = self.planned(pathlib.Path(self.folder) / "m-00001-of-00002.gguf")
        self.assertIn("49/49", self.text("#fit-answer"))
        self.assertEqual(wanted["gpus"][0]["layers"]["offloaded"], 49)

    def test_what_is_no_model_is_refused_with_the_reason(self):
        text = gguf_writer.text
        good = (MODELS / "llama-3.1-8b.header.gguf").read_bytes()
        for name, content, reason in (
            ("empty", b"", "not a GGUF file"),
            ("program", b"\x7fELF" + bytes(1000), "not a GGUF file"),
            ("old", start(version=1), "GGUF version 1 is not supported, only versions 2 and 3"),
            ("swapped", b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian GGUF files are unsupported"),
            ("many-keys", start(keys=1 << 62), "the file has 4611686018427387904 keys, but at most 4096 are supported"),
            ("many-tensors", start(tensors=70000), "the file has 70000 tensors, but at most 65536 are supported"),
            ("long-key", start(keys=1) + struct.pack("<Q", 1 << 63), "bytes, but at most 65535 are supported"),
            ("endless-list", start(keys=1) + text("a") + struct.pack("<IIQ", 9, 8, 1 << 60), "items, but at most"),
            ("list-of-lists", start(keys=1) + text("a") + struct.pack("<IIQ", 9, 9, 4), "a list has items of an unknown type"),
            ("unknown-kind", start(keys=1) + text("a") + struct.pack("<I", 77), "a value has an unknown type"),
            ("hollow-list", start(keys=1) + text("a") + struct.pack("<IIQ", 9, 8, 1 << 26) + bytes(1000), "the file ends within its header"),
            ("cut", good[:1000], "the file ends within its header"),
            ("dimensions", start(tensors=1) + text("t") + struct.pack("<I", 9), "a tensor has 9 dimensions"),
            ("no-model", start() + bytes(8), "general.architecture is missing"),
            ("<img src=x onerror=alert(1)>", b"x", "<img src=x onerror=alert(1)>: not a GGUF file"),
        ):
            self.choose(self.write(name, content))
            self.see("#fit-answer", reason)
            self.see("#fit-answer", name)

    def test_every_cut_of_a_header_is_refused_at_once(self):
        model = shapes.published("gemma-3-27b")
        model.tensors = dict(list(model.tensors.items())[:2])
        content = model.header()[0]
        refused = self.ask("run", script=f"""import("./gguf.js").then(async gguf => {{
            const bytes = Uint8Array.from(atob("{base64.b64encode(content).decode()}"), letter => letter.charCodeAt(0));
            let count = 0;
            for (let end = 0; end < bytes.length - 32; ++end)
                await gguf.readHeader([new File([bytes.subarray(0, end)], "cut")])
                    .catch(error => {{ if (error instanceof gguf.GgufError) count += 1 }});
            return count }})""")
        self.assertEqual(refused, len(content) - 32)


if __name__ == "__main__":
    unittest.main()
