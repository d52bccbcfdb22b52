# SPDX-License-Identifier: Apache-2.0
"""Calls for every interface: a method of org.gpuprobe, its parameters, and the arguments with which gpuprobectl makes the same call."""
import functools
import os
import pathlib
import random
import subprocess

BACKENDS = ["cuda", "rocm", "sycl", "vulkan", "opencl", "cpu"]
TERMS = ["driver>=550", "cuda>=12.8", "compute-capability>=8.0", "gfx=gfx11*", "vulkan>=1.3", "memory>=8GiB", "vendor=nvidia|amd",
         "fp16", "kernel>=6.1", "glibc>=2.31", "backend=cuda"]


NO_GPU = "pci:0000:00:00.0"

# {key of a request: option of gpuprobectl}, if the key and the option have different names.
OPTIONS = {"deny": "exclude", "gpus": "gpu", "variant": "installed", "min_memory": "memory", "need_mib": "memory"}


def value_words(key, value):
    """Returns "=" and the value of an option, or an empty string for True. gpuprobectl reads sizes without a unit as bytes."""
    if value is True:
        return ""
    return f"={','.join(value) if isinstance(value, list) else value}{'MiB' if key.endswith('_mib') else ''}"


def words_of(verb, name, request):
    """Returns the arguments of gpuprobectl for a request. Returns None if gpuprobectl cannot express the request (an empty list, for
    example), or refuses an argument before making the call."""
    words = [verb, name]
    for key, value in request.items():
        if value in (-1, "wrong", [], [NO_GPU]):
            return None
        option = "--" + OPTIONS.get(key, key.replace("_", "-"))
        if value is False or isinstance(value, dict) or key == "onyl":
            return None
        if isinstance(value, list) and any("," in each for each in value):
            return None
        words.append(option + value_words(key, value))
    return words


def select(application, **request):
    return "Select", {"application": application, "request": request}, words_of("select", application, request)


def recommend(application, **request):
    return "Recommend", {"application": application, "request": request}, words_of("recommend", application, request)


MODELS = pathlib.Path(__file__).resolve().parents[2] / "data/models"


@functools.cache
def model(name):
    """Returns the JSON document that describes a model with a recorded header."""
    done = subprocess.run([pathlib.Path(os.environ["GPUPROBE_BIN"]) / "gpuprobectl", "plan", "--beginning", "--print-model",
                           f"--gguf={MODELS / name}.header.gguf"], capture_output=True, text=True, check=True)
    return done.stdout


PLAN_OPTIONS = {"gpus": ("gpu",), "kv": ("cache-type-k", "cache-type-v"), "streams": ("parallel",), "need_mib": ("memory",),
                "margin_mib": ("margin",), "context_mib": ("context-memory",)}


def plan_words(key, value):
    """Returns the options of `plan` for a key of its request. Each of the two caches has an option; if the key contains a single type, this type is
    used for both caches."""
    options = PLAN_OPTIONS.get(key, (key.replace("_", "-"),))
    if key == "kv":
        return [f"--{option}={each}" for option, each in zip(options, 2 * ([value] if isinstance(value, str) else value))]
    return [f"--{option}{value_words(key, value)}" for option in options]


def plan(name, **request):
    words = [word for key, value in request.items() for word in plan_words(key, value)]
    is_known = all(not isinstance(value, dict) and value not in ("wrong", [NO_GPU]) for value in request.values())
    return ("Plan", {"model": model(name), "request": request},
            ["plan", "--beginning", f"--gguf={MODELS / name}.header.gguf", *words] if is_known else None)


def first(gpus):
    """Returns one call of each kind, including calls that the daemon refuses."""
    gpu = gpus[0] if gpus else NO_GPU
    return [
        ("Describe", {}, ["describe"]), ("ListGpus", {}, ["list"]), ("Diagnose", {}, ["doctor"]),
        ("ListApplications", {}, ["apps"]), ("ListHardwareDevices", {}, None),
        ("ListQuarantine", {}, ["quarantine"]), ("ListOverrides", {}, ["override"]),
        ("Plan", {"need": 8 << 30}, ["plan", "--memory=8192MiB"]), ("Query", {"terms": TERMS}, None), ("Query", {"terms": TERMS, "gpus": []}, None),
        ("Query", {"terms": TERMS, "gpus": [gpu]}, None), ("GetMemory", {"gpu": gpu}, None),
        select("default"), select("ollama", explain=True), select("default", only=["sycl"]), select("defualt"),
        select("llama.cpp", backend="rocm", strict=True), select("default", onyl=["cuda"]), select("vllm", gpus=[gpu]),
        plan("qwen3-32b", kv=["q4_0"], flash_attention="off"),
        recommend("torch"), recommend("torhc"), recommend("llama.cpp", explain=True), recommend("torch", exclude=["nothing"]),
        plan("llama-3.1-8b"), plan("gemma-3-27b", ctx="32k", kv=["q8_0", "q4_0"], streams=2), plan("qwen3-32b", gpus=[gpu], swa_full=True),
        plan("qwen3-32b", ctx="wrong"), plan("llama-3.1-8b", application="ollama"), plan("llama-3.1-8b", application="olama"), ("Plan", {"request": {"need_mib": 8192, "gpus": [gpu]}}, 
         ["plan", "--memory=8192MiB", f"--gpu={gpu}"] if gpus else None),
        ("Plan", {"model": "{}", "request": {}}, None), ("Plan", {"request": {}}, None),
        ("Query", {"terms": ["nothing>=1"]}, None), ("GetMemory", {"gpu": "pci:none"}, None), ("Plan", {"need": "much"}, None),
        ("Nothing", {}, None), ("Select", {"application": "default", "request": {"built": "cuda"}}, None),
    ]


def requests(gpus):
    """Yields requests for select."""
    for backend in BACKENDS:
        yield from ({"only": [backend]}, {"prefer": [backend]}, {"deny": [backend]}, {"backend": backend},
                    {"built": [backend, "cpu"]}, {"backend": backend, "strict": True, "any_vendor": True})
    for gpu in gpus[:2]:
        yield from ({"gpus": [gpu]}, {"deny": [gpu]}, {"gpus": [gpu], "backend": "vulkan"})
    for term in TERMS:
        yield {"require": [term]}
    yield from ({"min_memory": 16 << 30}, {"min_memory": 1 << 40, "strict": True}, {"backend": "none"}, {"require_verified": True},
                {"rank": "measured"}, {"rank": "wrong"}, {"platform": "darwin-arm64"}, {"fake": ["cuda"]}, {"forbid_fake": True},
                {"environment": {"CUDA_VISIBLE_DEVICES": "-1"}}, {"include_rejected": False}, {"needs": ["libcudart.so.13"]},
                {"needs": ["libcudart.so.12"], "bundles": ["libcudart.so.12"]}, {"kernels": ["sm_90", "compute_90@9.1"]},
                {"kernels": ["gfx1100"]}, {"explain": False}, {"variant": ["linux-x64-cuda"]}, {"gpus": []}, {"min_memory": -1})


def plans(gpus):
    """Returns requests for plan."""
    return [{}, {"ctx": 1}, {"ctx": 131072, "flash_attention": "off"}, {"ctx": "16k", "kv": "q8_0"}, {"batch": 2048, "ubatch": 256},
            {"streams": 16}, {"swa_full": True, "ctx": "32k"}, {"margin_mib": 0}, {"context_mib": 300}, {"tensor_split": "3,1"},
            {"gpus": gpus[:1] or [NO_GPU]}, {"kv": "q4_0", "flash_attention": "off"}, {"ctx": 0}, {"tensor_split": ["1", "wrong"]}]


def further(report):
    """Yields an endless sequence of random calls, which is always the same sequence for the same machine."""
    chance = random.Random(len(str(report["host"])))
    gpus = [gpu["id"] for gpu in report["gpus"]]
    asked = list(requests(gpus))
    while True:
        kind = chance.randrange(8)
        if kind < 4:
            request = dict(chance.choice(asked))
            if chance.random() < 0.3:
                request |= {"explain": True}
            yield select(chance.choice(APPLICATIONS), **request)
        elif kind < 6:
            request = chance.choice([{}, {"explain": True}, {"only": ["cuda"]}, {"prefer": ["vulkan"]}, {"need_mib": 20000},
                                     {"exclude": ["family:cuda"]}, {"include_rejected": False}, {"require_verified": True}])
            yield recommend(chance.choice(WITH_MANIFEST), **request)
        elif kind == 6:
            if chance.random() < 0.7:
                yield plan(chance.choice(["llama-3.1-8b", "gemma-3-27b", "qwen3-32b", "qwen2.5-14b"]), **chance.choice(plans(gpus)))
                continue
            need = chance.choice([0, 1 << 30, 40 << 30, 1 << 45])
            yield "Plan", {"need": need, "margin": chance.choice([None, 0, 1 << 30])}, None
        else:
            terms = chance.sample(TERMS, chance.randrange(1, 4))
            yield "Query", {"terms": terms, "gpus": chance.choice([None, gpus[:1], []])}, None


APPLICATIONS = ["default", "ollama", "llama.cpp", "vllm", "torch", "node-llama-cpp", "comfyui", "onnxruntime"]
WITH_MANIFEST = ["torch", "llama.cpp", "ollama", "localai", "jax", "whisper.cpp", "node-llama-cpp", "cyllama"]
