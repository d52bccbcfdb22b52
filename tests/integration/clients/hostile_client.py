# SPDX-License-Identifier: Apache-2.0
"""Asks each socket of a file, a JSON array of paths, by the Python package, and prints a line for each: what became of it.

Usage: hostile_client.py waiting|asyncio ask|follow FILE
"""
import asyncio
import itertools
import json
import sys

import gpuprobe


def waiting(how, path):
    if how == "ask":
        with gpuprobe.Client(path, timeout=1, daemon_only=True) as client:
            return client.call("Describe")
    for _ in itertools.islice(gpuprobe.Client(path, daemon_only=True).changes(), 1000):
        pass
    return {}


async def later(how, path):
    if how == "ask":
        async with gpuprobe.AsyncClient(path, timeout=1, daemon_only=True) as client:
            return await client.call("Describe")
    left = 1000
    async for _ in gpuprobe.AsyncClient(path, daemon_only=True).changes():
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
