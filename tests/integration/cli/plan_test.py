# SPDX-License-Identifier: Apache-2.0
"""Tests of gpuprobectl plan for captured machines and models, and for files that are not models."""
import json
import os
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

import gguf_writer
from cli_case import CTL, DATA, SOURCE, WithDaemon, environment, run

sys.path.insert(0, str(SOURCE / "tests/runtimes"))
sys.path.insert(0, str(SOURCE / "tests/integration/scenarios"))
import shapes  # noqa: E402
from made_machine import GB, ONEAPI, Machine  # noqa: E402

MACHINES = SOURCE / "tests/data/machines"
MODELS = SOURCE / "tests/data/models"


def replay(machine, *words):
    return run(f"--replay={MACHINES / machine}", "plan", *words)


def model(name):
    return ["--beginning", f"--gguf={MODELS / name}.header.gguf"]


def document(machine, *words):
    done = replay(machine, "-j", *words)
    return done.returncode, json.loads(done.stdout)


class PlanModels(unittest.TestCase):
    def test_are_what_the_writer_makes(self):
        for name in shapes.PUBLISHED:
            self.assertEqual((MODELS / f"{name}.header.gguf").read_bytes(), shapes.published(name).header()[0])


class PlanWithAProjector(unittest.TestCase):
    """Tests with a projector like Gemma 3's: 4,096 patches, and 16 heads that attend to all patches."""
    MIB = 1 << 20

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "mmproj model.gguf"
        made = shapes.Model("clip", 0, 1152, 64)
        made.keys = {"general.architecture": "clip", "clip.projector_type": "gemma3", "clip.vision.image_size": 896,
                     "clip.vision.patch_size": 14, "clip.vision.embedding_length": 1152,
                     "clip.vision.feed_forward_length": 4304, "clip.vision.attention.head_count": 16}
        made.write(self.file)
        self.weights = made.header()[1]

    def projector(self, *words):
        code, answer = document("nvidia-h200-2", *model("gemma-3-27b"), *words)
        self.assertEqual(code, 0)
        return answer["need"]["projector"], [gpu["need"] for gpu in answer["gpus"]], answer["together"][0]["shares"]

    def test_counts_on_each_gpu_by_itself_and_on_the_first_of_several(self):
        none, alone, shares = self.projector()
        some, with_it, split = self.projector(f"--mmproj={self.file}")
        self.assertEqual(none, 0)
        self.assertEqual((some - self.weights) / self.MIB, 121.25)
        self.assertEqual([gpu - before for gpu, before in zip(with_it, alone)], [some, some])
        self.assertGreater(split[0]["need"], 0)
        self.assertEqual(sum(share["need"] for share in split) - sum(share["need"] for share in shares), some)

    def test_without_flash_attention_needs_all_scores(self):
        self.assertEqual((self.projector(f"--mmproj={self.file}", "--flash-attention=off")[0] - self.weights) / self.MIB, 1132)

    def test_can_be_given_in_mebibytes(self):
        self.assertEqual(self.projector("--projector-memory=300MiB")[0], 300 * self.MIB)

    def test_is_an_argument_of_llama_cpp(self):
        done = replay("nvidia-h200-1", *model("gemma-3-27b"), f"--mmproj={self.file}", "--format=llama.cpp")
        self.assertTrue(done.stdout.startswith(f"--mmproj '{self.file}' --n-gpu-layers"), done.stdout)

    def test_says_what_is_wrong(self):
        done = replay("nvidia-h200-1", *model("gemma-3-27b"), f"--mmproj={MODELS}/llama-3.1-8b.header.gguf")
        self.assertEqual(done.returncode, 1)
        self.assertIn("llama-3.1-8b.header.gguf", done.stderr)
        done = replay("nvidia-h200-1", "--memory=5MiB", f"--mmproj={self.file}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("plan: --mmproj requires --gguf and cannot be combined with --projector-memory\n", done.stderr)


class PlanTexts(unittest.TestCase):
    maxDiff = None

    def check(self, name, machine, *words, code=0):
        done = replay(machine, *words)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        path = DATA / "expected" / f"{name}.txt"
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(done.stdout, encoding="utf-8")
        self.assertEqual(path.read_text(encoding="utf-8"), done.stdout)

    def test_one_gpu(self):
        self.check("plan", "nvidia-h200-1", *model("llama-3.1-8b"), "--ctx=32k", "--cache-type-k=q8_0", "--cache-type-v=q8_0")

    def test_two_gpus(self):
        self.check("plan-together", "nvidia-h200-2", *model("qwen3-32b"), "--parallel=24", "--ctx=32k")

    def test_need_alone(self):
        self.check("plan-need", "nvidia-h200-2", "--memory=200000MiB")

    def test_memory_that_nobody_knows(self):
        self.check("plan-unknown", "tsuku-nvidia-intel", *model("gemma-3-27b"), code=3)

    def test_no_gpu(self):
        self.check("plan-no-gpu", "software-only", *model("llama-3.1-8b"), code=3)

    def test_document(self):
        self.check("plan-document", "nvidia-h200-2", "--json=pretty", *model("qwen3-32b"), "--margin=70000MiB")


class PlanAnswers(unittest.TestCase):
    def test_parts_add_up(self):
        code, answer = document("nvidia-h200-1", *model("gemma-3-27b"), "--ctx=32768")
        need, gpu = answer["need"], answer["gpus"][0]
        self.assertEqual((code, gpu["fit"], answer["is_estimate"]), (0, "fits", True))
        parts = sum(need[part] for part in ("layers", "output", "cache", "compute"))
        self.assertEqual(gpu["need"], parts + gpu["overhead"])
        self.assertEqual(gpu["budget"]["bytes"], gpu["budget"]["available"] - answer["margin"])

    def test_weights_are_those_of_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.gguf"
            shapes.published("qwen3-32b").write(path)
            start = len(shapes.published("qwen3-32b").header()[0])
            _, answer = document("nvidia-h200-1", f"--gguf={path}")
            need = answer["need"]
            self.assertEqual(need["layers"] + need["output"] + need["embedding"], path.stat().st_size - start)

    def test_one_gpu_of_two(self):
        _, answer = document("nvidia-h200-2", "--memory=1000MiB", "--gpu=1")
        self.assertEqual([gpu["gpu"] for gpu in answer["gpus"]], ["pci:0000:00:07.0"])
        self.assertEqual(answer["together"], [])

    def test_one_partition_of_a_gpu(self):
        part = "pci:0000:1a:00.0/mig-5"
        _, answer = document("nvidia-h100-mig-mixed", "--memory=1000MiB", f"--gpu={part}")
        self.assertEqual([gpu["gpu"] for gpu in answer["gpus"]], [part])

    def test_a_gpu_on_which_no_backend_works(self):
        self.assertIn("  pci:0000:1b:00.0  cuda does not work on this GPU: MIG mode is enabled, but no GPU instance has a compute instance\n",
                      replay("nvidia-h100-mig-mixed", "--memory=8GiB").stdout)

    def test_a_gpu_that_is_not_there(self):
        done = replay("nvidia-h200-2", "--memory=1000MiB", "--gpu=7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no GPU '7'", done.stderr)

    def test_exit_status_says_whether_it_fits(self):
        self.assertEqual(replay("nvidia-h200-1", "--memory=100000MiB").returncode, 0)
        self.assertEqual(replay("nvidia-h200-1", "--memory=200000MiB").returncode, 3)
        self.assertEqual(replay("nvidia-h200-2", "--memory=200000MiB").returncode, 0)


class PlanCommandLine(unittest.TestCase):
    BAD = {
        (): "plan: missing --gguf=FILE or --memory=SIZE",
        ("--memory=1MiB", "--gguf=x"): "plan: missing --gguf",
        ("--memory=0MiB",): "request: need-mib: '0' is not a number from 1",
        ("--memory=1MiB", "--ctx=4096"): "request: need-mib can be combined only with gpus, application and margin-mib",
        ("--memory=1MiB", "--beginning"): "plan: --beginning, --print-model and --format require a model",
        ("--memory=1MiB", "--format=vllm"): "plan: --beginning, --print-model and --format require a model",
        ("--gguf=x", "--ctx=0"): "request: ctx: '0' is not a number from 1",
        ("--gguf=x", "--ctx=99999999999999999999"): "request: ctx: '99999999999999999999' is not a number from 1 to 4294967296",
        ("--gguf=x", "--ctx=k"): "request: ctx: 'k' is not a number from 1 to 4294967296",
        ("--gguf=x", "--ctx=4194305k"): "request: ctx: '4194305k' is not a number from 1 to 4294967296",
        ("--gguf=x", "--cache-type-k=q4_K", "--cache-type-v=q4_K"): "request: kv: 'q4_K' is not a cache type",
        ("--gguf=x", "--cache-type-k=q8_0", "--cache-type-v=q8_0", "--flash-attention=off"): "request: kv: values in q8_0 need flash attention",
        ("--gguf=x", "--parallel=5000"): "request: streams: '5000' is not a number from 1 to 4096",
        ("--gguf=x", "--batch=2000000"): "request: batch: '2000000' is not a number from 1 to 1048576",
        ("--gguf=x", "--tensor-split=1,-1"): "request: tensor-split: '-1' is not a non-negative number",
        ("--gguf=x", "--tensor-split=nan"): "request: tensor-split: 'nan' is not a non-negative number",
    }

    def test_that_makes_no_sense_is_refused(self):
        for words, problem in self.BAD.items():
            with self.subTest(words=words):
                done = replay("software-only", *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("gpuprobectl: " + problem, done.stderr)


class PlanFormats(unittest.TestCase):
    MODEL = model("qwen3-32b")

    def printed(self, machine, *words, code=0):
        done = replay(machine, *self.MODEL, *words)
        self.assertEqual(done.returncode, code)
        self.assertRegex(done.stderr, r"^(gpuprobectl: set the variables that this command prints: gpuprobectl env \S+ --gpu=\S+( \(.*\))?\n)?$")
        return done.stdout

    def test_of_llama_cpp(self):
        self.assertEqual(
            self.printed("nvidia-h200-1", "--format=llama.cpp", "--ctx=8k", "--parallel=2", "--cache-type-k=q8_0", "--cache-type-v=q4_0", "--swa-full"),
            "--n-gpu-layers 65 --ctx-size 16384 --batch-size 2048 --ubatch-size 512 --parallel 2 --cache-type-k q8_0 "
            "--cache-type-v q4_0 --flash-attn on --no-kv-unified --swa-full --split-mode none\n")

    def test_of_llama_cpp_on_two_gpus(self):
        text = self.printed("nvidia-h200-2", "--format=llama.cpp", "--ctx=32k", "--parallel=24", "--flash-attention=off")
        self.assertIn("--flash-attn off", text)
        self.assertIn("--split-mode layer --tensor-split 33,32", text)

    def unlike(self, folder, kind):
        """Returns a machine with GPUs of 12 and 24 GB. The driver lists the smaller GPU first; applications would choose the larger GPU first."""
        machine = Machine(libraries=ONEAPI, libc_version="2.39")
        for number, (address, memory) in enumerate((("0000:01:00.0", 12 * GB), ("0000:02:00.0", 24 * GB))):
            if kind == "cuda":
                machine.nvidia(address, memory=memory, number=number, device=("2684", "2204")[number], capability=("8.9", "8.6")[number])
            elif kind == "sycl":
                # Level Zero lists the larger GPU first. If this variable is set, Level Zero sorts GPUs by address.
                machine.intel(("0000:04:00.0", "0000:03:00.0")[number], device="56a0", memory=(24 * GB, 12 * GB)[number], level_zero=True,
                              vulkan=False, integrated=False)
            else:
                machine.amd(address, memory=memory, hip=kind == "rocm", unique_id=f"00c0ffee00c0ffe{number}")
        machine.write(folder)
        return folder

    def test_parts_are_in_the_order_that_env_makes(self):
        # {runtime: {variable: value}}. These values select the GPUs in the same order as the shares of --tensor-split.
        told = {
            "cuda": {"CUDA_VISIBLE_DEVICES": "GPU-00000000-0000-4000-8000-000000000001,GPU-00000000-0000-4000-8000-000000000002"},
            "rocm": {"ROCR_VISIBLE_DEVICES": "GPU-00c0ffee00c0ffe0,GPU-00c0ffee00c0ffe1", "HIP_VISIBLE_DEVICES": "0,1"},
            "vulkan": {"GGML_VK_VISIBLE_DEVICES": None},  # all GPUs, in Vulkan's order
            "sycl": {"ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1", "ONEAPI_DEVICE_SELECTOR": "level_zero:0,1"},
        }
        for kind, expected in told.items():
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder:
                capture = self.unlike(pathlib.Path(folder), kind)
                done = replay(capture, *self.MODEL, "--ctx=16k", "--parallel=3", "--format=llama.cpp")
                first, second = map(int, done.stdout.split("--tensor-split ")[1].split(","))
                self.assertLess(first, second, "the smaller GPU comes first and has the smaller share")
                remark = done.stderr.strip().removeprefix("gpuprobectl: set the variables that this command prints: gpuprobectl ")
                command, _, says = remark.partition(" (")
                self.assertEqual(says, "the shares are in the order of these GPUs)")
                shown = run(f"--replay={capture}", *command.split()).stdout
                variables = dict(line.split("=", 1) for line in shown.splitlines())
                self.assertEqual({name: variables.get(name) for name in expected}, expected)
                self.assertEqual(run(f"--replay={capture}", "plan", *self.MODEL, "--ctx=16k", "--parallel=3", "--format=llama.cpp", "--quiet").stderr, "")

    def test_names_the_one_of_several_that_it_is_for(self):
        with tempfile.TemporaryDirectory() as folder:
            capture = self.unlike(pathlib.Path(folder), "cuda")
            done = replay(capture, *self.MODEL, "--ctx=8k", "--format=llama.cpp")
            self.assertIn("--split-mode none", done.stdout)
            self.assertEqual(done.stderr, "gpuprobectl: set the variables that this command prints: gpuprobectl env llama.cpp --gpu=pci:0000:02:00.0\n")

    def test_of_llama_cpp_without_a_gpu(self):
        self.assertIn("--n-gpu-layers 0 ", self.printed("software-only", "--format=llama.cpp", code=3))

    def test_of_ollama(self):
        self.assertEqual(
            self.printed("nvidia-h200-1", "--format=ollama", "--cache-type-k=q8_0", "--cache-type-v=q8_0"),
            "OLLAMA_CONTEXT_LENGTH=4096\nOLLAMA_NUM_PARALLEL=1\nOLLAMA_FLASH_ATTENTION=1\nOLLAMA_KV_CACHE_TYPE=q8_0\n"
            "# Modelfile: PARAMETER num_gpu 65\n# Modelfile: PARAMETER num_batch 512\n")

    def test_of_vllm(self):
        self.assertEqual(
            self.printed("nvidia-h200-1", "--format=vllm"),
            "--max-model-len 4096 --max-num-seqs 1 --max-num-batched-tokens 4096 --kv-cache-dtype auto "
            "--gpu-memory-utilization 0.98\n")

    def test_count_the_gpus_that_carry_something(self):
        text = self.printed("nvidia-h200-4", "--format=vllm", "--ctx=32k", "--parallel=24", "--tensor-split=1,1,0,0")
        self.assertIn("--pipeline-parallel-size 2", text)
        self.assertIn("fits on 2 of 4 GPUs", replay("nvidia-h200-4", "--memory=140000MiB").stdout)

    def test_say_what_a_program_cannot_be_told(self):
        for machine, words, problem in (
                ("nvidia-h200-1", ["--format=ollama", "--cache-type-k=q8_0", "--cache-type-v=f16"], "ollama requires the same cache type for keys and values"),
                ("nvidia-h200-1", ["--format=ollama", "--cache-type-k=q5_1", "--cache-type-v=q5_1"], "ollama supports only f16, q8_0 and q4_0 caches"),
                ("nvidia-h200-1", ["--format=vllm", "--cache-type-k=q4_0", "--cache-type-v=q4_0"], "vllm supports only f16, bf16 and q8_0 caches"),
                ("software-only", ["--format=vllm"], "vllm needs the whole model on GPUs")):
            with self.subTest(words=words):
                done = replay(machine, *self.MODEL, *words)
                self.assertEqual(done.stdout, "")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(problem, done.stderr)


class PlanFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "model.gguf"

    def refused(self, *words):
        done = replay("software-only", f"--gguf={self.path}", *words)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        return done.stderr

    def test_that_is_not_there(self):
        self.assertIn("model.gguf: No such file", self.refused())

    def test_that_is_a_folder_or_a_pipe(self):
        self.path.mkdir()
        self.assertIn("not a regular file", self.refused())
        self.path.rmdir()
        os.mkfifo(self.path)
        self.assertIn("not a regular file", self.refused())

    def test_that_is_empty_or_something_else(self):
        self.path.write_bytes(b"")
        self.assertIn("byte 0: the file ends within its header", self.refused())
        self.path.write_bytes(b"\x7fELF" + bytes(100))
        self.assertIn("byte 0: not a GGUF file", self.refused())

    def test_whose_tensors_are_cut_off(self):
        self.path.write_bytes((MODELS / "llama-3.1-8b.header.gguf").read_bytes())
        self.assertRegex(self.refused(), r"token_embd.weight ends at byte \d+, but the file ends at byte 17824")

    def test_that_is_a_beginning_too_short_for_its_header(self):
        self.path.write_bytes((MODELS / "llama-3.1-8b.header.gguf").read_bytes()[:1000])
        self.assertIn("the file ends within its header", self.refused("--beginning"))

    def test_from_standard_input(self):
        """Tests with a model from a pipe: its size is unknown until the end of the data."""
        whole = (MODELS / "llama-3.1-8b.header.gguf").read_bytes()
        words = [CTL, f"--replay={MACHINES / 'nvidia-h200-1'}", "plan", "-j", "--gguf=-"]

        def piped(content):
            return subprocess.run(words, env=environment(), input=content, capture_output=True, timeout=60, check=False)

        self.assertEqual(json.loads(piped(whole + bytes(1 << 22)).stdout),
                         document("nvidia-h200-1", *model("llama-3.1-8b"))[1])
        self.assertIn(b"-: the file ends within its header", piped(whole[:1000]).stdout)

    def test_with_a_header_larger_than_a_window(self):
        made = shapes.published("llama-3.1-8b")
        made.keys = {"tokenizer.ggml.tokens": ["x" * 90] * 100_000, **made.keys}
        made.write(self.path)
        done = replay("nvidia-h200-1", f"--gguf={self.path}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_that_claims_everything_in_bounded_memory(self):
        """Tests with the header of a sparse file of 1 TiB that claims to contain 2^60 strings."""
        start = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_writer.text("a") + struct.pack("<IIQ", 9, 8, 1 << 60)
        self.path.write_bytes(start)
        os.truncate(self.path, 1 << 40)
        limit = 1 << 30

        def bounded():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        words = [CTL, f"--replay={MACHINES / 'software-only'}", "plan", f"--gguf={self.path}"]
        if os.environ.get("GPUPROBE_SANITIZE"):
            self.skipTest("a sanitizer reserves more address space than the limit")
        done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False,
                              preexec_fn=bounded)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("the header is larger than 128 MiB", done.stderr)

    def test_with_controls_in_its_name(self):
        made = shapes.published("llama-3.1-8b")
        made.keys["general.name"] = b"a\x1b[2Jb\xff"
        made.write(self.path)
        done = replay("nvidia-h200-1", f"--gguf={self.path}")
        self.assertTrue(done.stdout.startswith("a\ufffd[2Jb\ufffd (llama"), done.stdout)


class PlanParts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        made = shapes.published("llama-3.1-8b")
        keys, tensors = made.keys, list(made.tensors.items())
        third = len(tensors) // 3 + 1
        for number in range(3):
            split = {"split.no": number, "split.count": 3, "split.tensors.count": len(tensors)}
            made.keys = {**(keys if number == 0 else {}), **split}
            made.tensors = dict(tensors[number * third:(number + 1) * third])
            made.write(self.part(number + 1))

    def part(self, number):
        return self.folder / f"model-0000{number}-of-00003.gguf"

    def test_are_found_from_any_of_them(self):
        _, whole = document("nvidia-h200-1", *model("llama-3.1-8b"))
        for number in (1, 2, 3):
            _, answer = document("nvidia-h200-1", f"--gguf={self.part(number)}")
            self.assertEqual(answer["need"], whole["need"])

    def test_are_all_needed(self):
        self.part(2).unlink()
        done = replay("nvidia-h200-1", f"--gguf={self.part(1)}")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"one of the model's 3 parts: .*model-00002-of-00003.gguf: No such file")

    def test_may_be_beginnings(self):
        _, whole = document("nvidia-h200-1", *model("llama-3.1-8b"))
        for number in (1, 2, 3):
            os.truncate(self.part(number), 1 << 20)
        _, answer = document("nvidia-h200-1", "--beginning", f"--gguf={self.part(2)}")
        self.assertEqual(answer["need"], whole["need"])
        self.part(3).unlink()
        done = replay("nvidia-h200-1", "--beginning", f"--gguf={self.part(1)}")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"one of the model's 3 parts, of which only the beginning is read: .*model-00003-of-00003.gguf: No such file")

    def test_are_not_read_from_standard_input(self):
        with self.part(1).open("rb") as first:
            done = subprocess.run([CTL, f"--replay={MACHINES / 'nvidia-h200-1'}", "plan", "--gguf=-"], stdin=first,
                                  capture_output=True, text=True, check=False, env=environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn("the model has 3 parts, but standard input has only one part: give the name of a file", done.stderr)

    def test_of_two_models_are_not_mixed(self):
        with self.part(2).open("rb") as second:
            self.part(3).write_bytes(second.read(65536))  # the rest of the file is sparse
        os.truncate(self.part(3), self.part(2).stat().st_size)
        done = replay("nvidia-h200-1", f"--gguf={self.part(1)}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("part 3 is labeled as part 2 of 3", done.stderr)

    def test_under_another_name_are_asked_for(self):
        self.part(1).rename(self.folder / "renamed.gguf")
        done = replay("nvidia-h200-1", f"--gguf={self.folder / 'renamed.gguf'}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the model has 3 parts, which must have names like model-00001-of-00002.gguf", done.stderr)


class PlanOverTheSocket(WithDaemon):
    @classmethod
    def setUpClass(cls):
        os.environ["FAKE_FREE"] = str(3 << 30)
        cls.addClassCleanup(os.environ.pop, "FAKE_FREE")
        super().setUpClass()

    def test_memory_is_read_when_asked(self):
        code, answer = self.document("plan", "--memory=1800MiB", "--margin=1024MiB")
        self.assertEqual(code, 0)
        for gpu in answer["gpus"]:
            self.assertEqual((gpu["budget"]["source"], gpu["budget"]["bytes"]), ("free", 2 << 30))
            self.assertEqual(gpu["fit"], "fits")

    def test_show_has_it_too(self):
        self.assertIn("3.0 GiB", self.ask("show", "--all", "0").stdout)


class PlanOverTheSocketOfASilentDaemon(WithDaemon):
    def test_the_report_stands_in(self):
        _, report = self.document("describe")
        _, answer = self.document("plan", "--memory=1MiB", "--margin=0MiB")
        free = {gpu["id"]: gpu["memory"]["free"] for gpu in report["gpus"]}
        for gpu in answer["gpus"]:
            if free[gpu["gpu"]] is not None and not gpu["budget"]["is_shared_with_host"]:
                self.assertEqual(gpu["budget"]["available"], free[gpu["gpu"]])


if __name__ == "__main__":
    unittest.main()
