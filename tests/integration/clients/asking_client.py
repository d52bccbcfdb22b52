# SPDX-License-Identifier: Apache-2.0
"""Makes the calls on standard input, a line "METHOD<TAB>PARAMETERS" each, on the socket in the second argument, and prints a line with the answer,
or "refused", for each. The first argument is the kind of client: waiting or asyncio."""
import asyncio
import json
import sys

import gpuprobe


def questions():
    for line in sys.stdin:
        method, parameters = line.rstrip("\n").split("\t")
        yield method, json.loads(parameters)


async def ask_later(path):
    async with gpuprobe.AsyncClient(path, daemon_only=True) as client:
        for question in questions():
            try:
                print(json.dumps(await client.call(*question)))
            except gpuprobe.Refused:
                print("refused")


def ask(path):
    with gpuprobe.Client(path, daemon_only=True) as client:
        for question in questions():
            try:
                print(json.dumps(client.call(*question)))
            except gpuprobe.Refused:
                print("refused")


if __name__ == "__main__":
    kind, place = sys.argv[1:]
    if kind == "waiting":
        ask(place)
    else:
        asyncio.run(ask_later(place))
