# SPDX-License-Identifier: Apache-2.0
"""Compares `select` and `recommend` for each application that has a selection and a manifest, on every recorded machine and on simulated machines.
The answers must match tests/data/selection/applications/NAME.json. If the answers of `select` and `recommend` differ, one of them must give a reason.
GPUPROBE_ACCEPT=1 writes the files with the answers."""
import concurrent.futures
import json
import os

from made_machine import GB, Machine
from scenario_case import SOURCE, ScenarioCase

MACHINES = SOURCE / "tests/data/machines"
ANSWERS = SOURCE / "tests/data/selection/applications"
# {family of variants: backend}, if the family and the backend have different names.
BACKENDS = {"xpu": "sycl"}
# Reasons that only `recommend` has, because they are about a build. A missing library may be installed together with the build, so `recommend`
# advises the user to install the library and does not reject the build.
OF_BUILDS = {"arch-not-in-build", "built-for-older", "cuda-version-unfit", "driver-too-old", "glibc-too-old", "library-missing",
             "other-libc", "ptx-needs-newer-driver", "rocm-version-unfit", "vulkan-feature-missing", "vulkan-too-old"}
# Reasons for which `select` and `recommend` may answer differently: `select` does not choose a backend if a fact is
# unknown, but `recommend` may choose a build; and a build may bundle a library that is missing on the
# machine.
OPEN = {"fact-unknown", "not-probed", "requirement-unknown", "unknown-not-chosen", "joined-weakly", "loader-missing"}
ARM = {"arch": "aarch64", "libc_version": "2.39"}
NEW = {"libc_version": "2.39"}
# Simulated machines. All facts about them are known. On recorded machines, many facts are unknown.
MADE = {
    "rtx-5090-driver-580": lambda: Machine(**NEW).nvidia(capability="12.0"),
    "rtx-5090-driver-570": lambda: Machine(**NEW).nvidia(capability="12.0", driver="570.86.10"),
    "rtx-4090-glibc-2.31": lambda: Machine(libc_version="2.31").nvidia(),
    "rtx-4090-musl": lambda: Machine(libc="musl", libc_version="1.2.4").nvidia(),
    "h100-driver-550": lambda: Machine(**NEW).nvidia(capability="9.0", driver="550.54.14", memory=80 * GB),
    "t4-driver-535": lambda: Machine().nvidia(capability="7.5", driver="535.54.03", memory=16 * GB),
    "v100": lambda: Machine(**NEW).nvidia(capability="7.0", memory=32 * GB),
    "gtx-1080": lambda: Machine(**NEW).nvidia(capability="6.1", memory=8 * GB),
    "k80-driver-470": lambda: Machine(**NEW).nvidia(capability="3.7", driver="470.256.02"),
    "nouveau": lambda: Machine(**NEW).nvidia(kernel="nouveau", cuda=False, nvml=False),
    "rx-7900-xtx": lambda: Machine(**NEW).amd(),
    "rx-7900-xtx-without-rocm": lambda: Machine(**NEW).amd(hip=False),
    "mi300x": lambda: Machine(**NEW).amd(device="74a1", gfx="gfx942", memory=192 * GB, pci_class="1200", vulkan=False),
    "rx-580": lambda: Machine(**NEW).amd(device="67df", gfx="gfx803", memory=8 * GB),
    "strix-halo": lambda: Machine(**NEW).amd(device="1586", gfx="gfx1151", memory=96 * GB, integrated=True),
    "arc-a770": lambda: Machine(**NEW).intel(device="56a0", integrated=False, level_zero=True, memory=16 * GB),
    "intel-laptop": lambda: Machine(**NEW).intel(),
    "nvidia-beside-amd": lambda: Machine(**NEW).nvidia().amd(),
    "gh200": lambda: Machine(**ARM).nvidia(capability="9.0", memory=96 * GB),
    "arm-amd": lambda: Machine(**ARM).amd(),
    "no-gpu": lambda: Machine(**NEW),
}


def captures():
    return sorted(place.parent.name for place in MACHINES.glob("*/capture.json"))


def document(name):
    return json.loads((SOURCE / "data/knowledge/applications" / f"{name}.json").read_text(encoding="utf-8"))


class Sides:
    """Compares the answers of `select` and `recommend` about one application on one machine."""

    def __init__(self, name, selected, recommended):
        selection, application = (document(name)[part] for part in ("selection", "manifest"))
        self.order = selection["backends"]
        ours = {theirs: ours for ours, theirs in selection.get("translate", {}).items()}
        about = selected.get("error", selected)
        self.word, self.variant, self.status = selected.get("backend"), recommended["variant"], recommended["status"]
        self.backend = ours.get(self.word, self.word)
        self.variants = application["platforms"].get(recommended["platform"], {}).get("variants", {})
        self.family = self.family_of(self.variant) if self.variant else None
        self.selecting = [(ours.get(each["backend"], each["backend"]), each) for each in about.get("candidates", [])]
        self.recommending = [(self.family_of(each["variant"]), each) for each in recommended["candidates"]]

    def family_of(self, variant):
        family = self.variants[variant]["family"]
        return BACKENDS.get(family, family)

    def summary(self):
        return f"{self.word} / {self.variant or self.status}"

    def unexplained(self):
        """Returns a description if one answer chose a backend that the other answer rejected without explaining the difference, and otherwise
        None."""
        if self.backend == self.family or self.status == "no-platform":
            return None
        rank = {backend: place for place, backend in enumerate(self.order)}
        selected_first = rank.get(self.backend, len(rank)) < rank.get(self.family, len(rank))
        chosen, there = (self.backend, self.recommending) if selected_first else (self.family, self.selecting)
        against = [each for kind, each in there if kind == chosen]
        if not against or any(self.explains(each) for each in against):
            return None
        return f"{chosen} was chosen, and the other side says of it {against}"

    @staticmethod
    def explains(candidate):
        return candidate["verdict"] != "accepted" and any(
            reason["code"] in OF_BUILDS | OPEN for reason in candidate["reasons"])


class ApplicationCase(ScenarioCase):
    def answer(self, machine, *words):
        return json.loads(self.run_ctl("--replay", str(machine), *words, "-j").stdout)

    def machines(self):
        """Returns {name: folder} of all recorded and simulated machines."""
        made = {f"made-{name}": self.capture(machine()) for name, machine in MADE.items()}
        return made | {name: MACHINES / name for name in captures()}

    def asked(self, question):
        """Returns {machine: result of calling `question` with the folder of the machine}."""
        machines = self.machines()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(machines, pool.map(question, machines.values())))

    def sides(self, name, machine):
        return Sides(name, self.answer(machine, "select", name), self.answer(machine, "recommend", name))

    def assert_recorded(self, name, given):
        path = ANSWERS / f"{name}.json"
        if os.environ.get("GPUPROBE_ACCEPT"):
            path.write_text(json.dumps(given, indent=2) + "\n", encoding="utf-8")
        self.assertEqual(given, json.loads(path.read_text(encoding="utf-8")))

    def check(self, name):
        answers = self.asked(lambda machine: self.sides(name, machine))
        self.assertEqual({machine: why for machine, sides in answers.items() if (why := sides.unexplained())}, {})
        self.assert_recorded(name, {machine: sides.summary() for machine, sides in answers.items()})


class Comfyui(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("comfyui")


class Ctranslate2(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("ctranslate2")


class Cupy(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("cupy")


class FasterWhisper(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("faster-whisper")


class FlashAttn(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("flash-attn")


class Jan(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("jan")


class Jax(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("jax")

    def asked_by_name(self, backend, machine):
        answer = self.answer(self.capture(MADE[machine]()), "select", "jax", f"--backend={backend}")
        return answer.get("backend"), answer.get("environment", {}).get("JAX_PLATFORMS")

    def test_takes_the_words_of_jax_platforms(self):
        for backend, machine, wanted in (("gpu", "rtx-5090-driver-580", ("cuda", "cuda,cpu")), ("gpu", "mi300x", ("rocm", "rocm,cpu")),
                                         ("cpu", "mi300x", ("cpu", "cpu")), ("cuda", "mi300x", (None, None)),
                                         ("gpu", "no-gpu", (None, None)), ("tpu", "rtx-5090-driver-580", (None, None)),
                                         ("oneapi", "arc-a770", (None, None))):
            with self.subTest(backend=backend, machine=machine):
                self.assertEqual(self.asked_by_name(backend, machine), wanted)


class Lemonade(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("lemonade")


class LlamaApp(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("llama.app")

    def test_the_installer_passes_over_what_comes_before_the_choice(self):
        for machine, backend, skipped in (("rtx-5090-driver-580", "cuda", ""), ("mi300x", "rocm", "CUDA"),
                                          ("arc-a770", "vulkan", "CUDA ROCM SYCL"), ("no-gpu", "cpu", "CUDA ROCM SYCL VULKAN")):
            with self.subTest(machine):
                answer = self.answer(self.capture(MADE[machine]()), "select", "llama.app")
                told = sorted(name.removeprefix("SKIP_") for name in answer["environment"] if name.startswith("SKIP_"))
                self.assertEqual((answer["backend"], told), (backend, skipped.split()))


class LlamaCpp(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("llama.cpp")


class Localai(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("localai")


class NodeLlamaCpp(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("node-llama-cpp")


class Onnxruntime(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("onnxruntime")


class Paddle(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("paddle")


class Ramalama(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("ramalama")


class Sglang(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("sglang")


class StableDiffusionCpp(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("stable-diffusion.cpp")


class Tensorflow(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("tensorflow")


class Torch(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("torch")


class TransformersJs(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("transformers.js")


class Vllm(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("vllm")


class WhisperCpp(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("whisper.cpp")


class Xformers(ApplicationCase):
    def test_both_agree_or_say_why(self):
        self.check("xformers")


class Blender(ApplicationCase):
    """Tests Blender, which has no variants, because one build supports all GPUs."""

    def test_chooses_as_recorded(self):
        self.assert_recorded("blender", self.asked(lambda machine: self.answer(machine, "select", "blender").get("backend")))
