# SPDX-License-Identifier: Apache-2.0
"""Makes a call with the Python package on each socket in FILE, which is a JSON array of paths, and prints a line with the result for each.

Usage: hostile_client.py waiting|asyncio ask|follow|repeat FILE
"""
import asyncio
import contextlib
import itertools
import json
import sys

import gpuprobe


def timeout(path):
    return 0.3 if "/late-" in path else 60


METHODS = [f"x.Method{number}" for number in range(20)]


def check(method, answer):
    """Checks that the answer belongs to the call."""
    if answer["method"] != method:
        raise AssertionError(f"{method} got the answer {answer}")


def waiting(how, path):
    if how == "repeat":
        gate = gpuprobe.Client(path.replace("/echo", "/gate"), timeout=60, daemon_only=True)
        with gpuprobe.Client(path, timeout=60, daemon_only=True) as client, gate:
            for method in METHODS:
                with contextlib.suppress(gpuprobe.Failure):
                    check(method, client.call(method))
                gate.describe()
        return {}
    if how == "ask":
        with gpuprobe.Client(path, timeout=timeout(path), daemon_only=True) as client:
            return client.call("Describe")
    for _ in itertools.islice(gpuprobe.Client(path, daemon_only=True).watch(), 1000):
        pass
    return {}


async def later(how, path):
    if how == "repeat":
        gate = gpuprobe.AsyncClient(path.replace("/echo", "/gate"), timeout=60, daemon_only=True)
        async with gpuprobe.AsyncClient(path, timeout=60, daemon_only=True) as client, gate:
            for method in METHODS:
                with contextlib.suppress(gpuprobe.Failure):
                    check(method, await client.call(method))
                await gate.describe()
        return {}
    if how == "ask":
        async with gpuprobe.AsyncClient(path, timeout=timeout(path), daemon_only=True) as client:
            return await client.call("Describe")
    left = 1000
    async for _ in gpuprobe.AsyncClient(path, daemon_only=True).watch():
        left -= 1
        if left == 0:
            break
    return {}


def outcome(kind, how, path):
    try:
        answer = waiting(how, path) if kind == "waiting" else asyncio.run(later(how, path))
        text = json.dumps(answer)
        return f"answers {text if len(text) < 4096 else 'long'}"
    except gpuprobe.Refused as problem:
        return "refused" if str(problem) else "LEAKED nothing"
    except gpuprobe.TimedOut:
        return "late"
    except gpuprobe.Failure:
        return "fails"
    except BaseException as problem:
        return f"LEAKED {type(problem).__name__}: {problem}"


if __name__ == "__main__":
    with open(sys.argv[3], encoding="utf-8") as file:
        for each in json.load(file):
            print(outcome(*sys.argv[1:3], each).replace("\n", " "), flush=True)
