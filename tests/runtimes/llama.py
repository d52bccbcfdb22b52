# SPDX-License-Identifier: Apache-2.0
"""Finds out how much memory llama.cpp reserves for a model: llama.cpp calculates the sizes of its buffers, but does not allocate
the weights.

As a program: `llama.py FOLDER MODEL SWITCHES` loads the shared objects in FOLDER and prints {"cache", "compute"} in MiB by
device, and {"parts"}, or {"error"}. llama.py runs in a separate process, because the library may abort.
"""
import collections
import ctypes
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

VERSION = "3.22.1"  # node-llama-cpp; its packages contain llama.cpp v0.5.0
CACHE_TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "bf16": 30}


class Parameters:
    """A structure of include/llama.h at v0.5.0. The tests know only the offsets of members that they change."""

    def __init__(self, function, size):
        kind = type("Parameters", (ctypes.Structure,), {"_fields_": [("bytes", ctypes.c_uint8 * size)]})
        function.restype = self.kind = kind
        self.bytes = bytearray(bytes(function().bytes))

    def put(self, offset, form, *values):
        struct.pack_into(form, self.bytes, offset, *values)

    def get(self, offset, form):
        return struct.unpack_from(form, self.bytes, offset)

    def structure(self):
        return self.kind.from_buffer_copy(bytes(self.bytes))


def model_parameters(library, layers, split, is_account):
    parameters = Parameters(library.llama_model_default_params, 80)
    assert parameters.get(16, "<ii") == (-1, 1), "n_gpu_layers and split_mode are elsewhere"
    parameters.put(16, "<i", layers)
    parameters.put(24, "<i", 0)  # load_mode: none
    parameters.put(76, "<?", is_account)  # no_alloc
    if split:
        parts = (ctypes.c_float * 128)(*split)
        parameters.kept = parts
        parameters.put(32, "<Q", ctypes.addressof(parts))
    return parameters


def context_parameters(library, switches):
    parameters = Parameters(library.llama_context_default_params, 160)
    assert parameters.get(0, "<IIII") == (512, 2048, 512, 1), "the sizes of a context are elsewhere"
    assert parameters.get(104, "<ii") == (1, 1), "the types of the cache are elsewhere"
    streams = switches["streams"]
    parameters.put(0, "<IIII", switches["ctx"] * streams, max(2048, switches["batch"]), switches["batch"], streams)
    parameters.put(52, "<i", {"auto": -1, "off": 0, "on": 1}[switches["flash"]])
    parameters.put(104, "<ii", CACHE_TYPES[switches["keys"]], CACHE_TYPES[switches["values"]])
    parameters.put(132, "<??", switches["swa_full"], False)  # kv_unified is false
    return parameters


def load(folder):
    """Loads the libraries ggml and llama from a folder of shared objects."""
    folder = pathlib.Path(folder)

    def library(pattern):
        return ctypes.CDLL(str(next(folder.glob(pattern))), mode=ctypes.RTLD_GLOBAL)

    library("libggml-base.so")
    ggml = library("libggml.*.so")
    library = library("libllama.*.so")
    return ggml, library


def listened(library):
    """Returns a list to which the library's log messages are added."""
    lines = []
    form = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
    library.kept = form(lambda level, text, data: lines.append(text.decode(errors="replace")))
    library.llama_log_set(library.kept, None)
    return lines


def made(ggml, library, folder, model, switches, is_account=True):
    """Returns a context for the model, or None. With `is_account`, sizes are calculated, but no memory is reserved and no weights are loaded."""
    ggml.ggml_backend_load_all_from_path(str(folder).encode())
    library.llama_backend_init()
    parameters = model_parameters(library, switches["layers"], switches["split"], is_account)
    library.llama_model_load_from_file.restype = ctypes.c_void_p
    library.llama_model_load_from_file.argtypes = [ctypes.c_char_p, parameters.kind]
    loaded = library.llama_model_load_from_file(str(model).encode(), parameters.structure())
    context = None
    if loaded:
        parameters = context_parameters(library, switches)
        library.llama_init_from_model.restype = ctypes.c_void_p
        library.llama_init_from_model.argtypes = [ctypes.c_void_p, parameters.kind]
        context = library.llama_init_from_model(loaded, parameters.structure())
    return context


def asked(folder, model, switches):
    ggml, library = load(folder)
    lines = listened(library)
    return bool(made(ggml, library, folder, model, switches)), "".join(lines)


def sizes(text):
    compute = re.findall(r"(\S+) compute buffer size = +([\d.]+) MiB", text)
    caches = re.findall(r"(?:llama_kv_cache\w*|llama_memory_recurrent): size = +([\d.]+) MiB", text)
    caches += re.findall(r"llama_dsv4_comp_state: \w+ ratio .* size = +([\d.]+) MiB", text)
    return {"compute": {device: float(size) for device, size in compute}, "cache": sum(map(float, caches))}


def parts(text):
    """Returns for each device its layers (the output layer has the number after the last layer), and the sizes of its cache and compute buffers in
    MiB."""
    found = collections.defaultdict(lambda: {"layers": [], "cache": 0.0, "compute": 0.0})
    for layer, device in re.findall(r"load_tensors: layer +(\d+) assigned to device (\w+)", text):
        found[device]["layers"].append(int(layer))
    for device, size in re.findall(r"(\S+) compute buffer size = +([\d.]+) MiB", text):
        found[device]["compute"] += float(size)
    holders = []
    for line in text.splitlines():
        if holder := re.search(r"llama_kv_cache\w*: layer +\d+: dev = (\w+)", line):
            holders.append(holder[1])
        # All layers with the same cache need the same amount of memory.
        if size := re.search(r"llama_kv_cache\w*: size = +([\d.]+) MiB", line):
            for holder in holders:
                found[holder]["cache"] += float(size[1]) / len(holders)
            holders = []
    return found


SWITCHES = {"ctx": 4096, "batch": 512, "streams": 1, "keys": "f16", "values": "f16", "flash": "on", "swa_full": False,
            "layers": 9999, "split": []}


def command(folder, model, **switches):
    return [sys.executable, __file__, str(folder), str(model), json.dumps({**SWITCHES, **switches})]


def reserved(folder, model, environment=None, **switches):
    """Returns the memory that the llama.cpp in `folder` reserves: {"cache", "compute"}; {"error"} if it rejects the model or the switches."""
    done = subprocess.run(command(folder, model, **switches), text=True, check=False, capture_output=True, timeout=120,
                          env={**os.environ, "GGML_NO_BACKTRACE": "1", **(environment or {})})
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout)


def main(folder, model, switches):
    is_made, text = asked(folder, model, json.loads(switches))
    problems = [line for line in text.splitlines() if re.search("error|failed|requires", line)]
    print(json.dumps({**sizes(text), "parts": parts(text)} if is_made else {"error": problems[:2]}))
    sys.stdout.flush()
    os._exit(0)  # skips the destructors, because nothing was allocated


if __name__ == "__main__":
    main(*sys.argv[1:])
