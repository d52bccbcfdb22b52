# SPDX-License-Identifier: Apache-2.0
"""Computes with llama.cpp on all visible GPUs: llama_run.py FOLDER MODEL [CONTEXT [TOKENS]].

Prints {"devices": {name: description}, "tokens", "sizes"} or {"error"}. CONTEXT is the number of cells in the cache, by default 256.
Without TOKENS, the program only loads the model. llama_run.py runs until its standard input ends, so that a test can measure its memory.
"""
import ctypes
import json
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import llama  # noqa: E402


class Batch(ctypes.Structure):
    """llama_batch of include/llama.h at v0.5.0."""

    _fields_ = [("tokens", ctypes.c_int32), *((name, ctypes.c_void_p) for name in ("token", "embd", "pos", "n_seq_id", "seq_id", "logits"))]


def devices(ggml):
    """Returns the GPUs that ggml found: name -> description."""
    for name in ("ggml_backend_dev_count", "ggml_backend_dev_get"):
        getattr(ggml, name).restype = ctypes.c_size_t
    found = {}
    for i in range(ggml.ggml_backend_dev_count()):
        device = ctypes.c_void_p(ggml.ggml_backend_dev_get(ctypes.c_size_t(i)))
        for name in ("ggml_backend_dev_name", "ggml_backend_dev_description"):
            getattr(ggml, name).restype = ctypes.c_char_p
        if ggml.ggml_backend_dev_type(device) != 0:  # not the CPU
            found[ggml.ggml_backend_dev_name(device).decode()] = ggml.ggml_backend_dev_description(device).decode()
    return found


def computed(library, context, tokens):
    list_of_ones = (ctypes.c_int32 * tokens)(*([1] * tokens))
    library.llama_batch_get_one.restype = Batch
    library.llama_batch_get_one.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    library.llama_decode.argtypes = [ctypes.c_void_p, Batch]
    return library.llama_decode(context, library.llama_batch_get_one(ctypes.addressof(list_of_ones), tokens)) == 0


def main(folder, model, cells="256", tokens="0"):
    ggml, library = llama.load(folder)
    lines = llama.listened(library)
    switches = {**llama.SWITCHES, "ctx": int(cells), "flash": "auto"}
    context = llama.made(ggml, library, folder, model, switches, is_account=False)
    answer = {"devices": devices(ggml)}
    if context and (tokens == "0" or computed(library, ctypes.c_void_p(context), int(tokens))):
        answer["tokens"] = int(tokens)
        answer["sizes"] = llama.sizes("".join(lines))
    else:
        answer["error"] = [line for line in "".join(lines).splitlines() if "error" in line or "failed" in line][:3]
    print(json.dumps(answer), flush=True)
    sys.stdin.read()
    os._exit(0 if "tokens" in answer else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
