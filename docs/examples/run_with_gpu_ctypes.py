#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the GPU that gpuprobe chooses for it, with the library libgpuprobe.so.1.

Usage: run_with_gpu_ctypes.py APPLICATION PROGRAM [ARGUMENT…]
"""
import ctypes
import errno
import json
import os
import sys

library = ctypes.CDLL("libgpuprobe.so.1")


def select(application, request):
    """Returns the return code of the library, and the answer or {"error": …}."""
    client, text = ctypes.c_void_p(), ctypes.c_char_p()
    code = library.gpuprobe_open(ctypes.byref(client), None, 0)
    if code < 0:
        return code, {"error": {"message": os.strerror(-code)}}
    code = library.gpuprobe_select(client, application.encode(), json.dumps(request).encode(), ctypes.byref(text))
    answer = json.loads(text.value) if text else {"error": {"message": os.strerror(-code)}}
    library.gpuprobe_free(text)
    library.gpuprobe_close(client)
    return code, answer


def main(words):
    if len(words) < 2:
        return 2
    code, answer = select(words[0], {"built": ["cuda", "vulkan", "cpu"]})
    if code == -errno.ENODATA:
        print(f"no backend fits for {words[0]}: {answer['error']['message']}", file=sys.stderr)
        for candidate in answer["error"]["candidates"]:
            for reason in candidate["reasons"]:
                print(f"  {candidate['backend']}: {reason['text']}", file=sys.stderr)
                if reason["fix"]:
                    print(f"    fix: {reason['fix']}", file=sys.stderr)
        return 3
    if code < 0:
        print(answer["error"]["message"], file=sys.stderr)
        return 1
    print(*answer["messages"], answer["decision"], sep="\n", file=sys.stderr)
    os.environ["GPU_BACKEND"] = answer["backend"]
    os.environ.update(answer["environment"])
    os.execvp(words[1], words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
