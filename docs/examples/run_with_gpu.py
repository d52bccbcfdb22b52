#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the GPU that gpuprobe picks for it.

Usage: run_with_gpu.py CONSUMER PROGRAM [ARGUMENT…]

CONSUMER is a name of `gpuprobectl consumers`. Needs python3-dbus.
"""
import os
import sys

import dbus

NAME = "org.gpuprobe.GpuProbe1"


def select(consumer, **request):
    """The answer of SelectBackend; None when nothing on this machine will do."""
    bus = dbus.SystemBus()
    manager = dbus.Interface(bus.get_object(NAME, "/org/gpuprobe/GpuProbe1"), NAME + ".Manager")
    try:
        return manager.SelectBackend(consumer, dbus.Dictionary(request, signature="sv"))
    except dbus.DBusException as problem:
        if problem.get_dbus_name() != NAME + ".Error.NoMatch":
            raise
        print(problem.get_dbus_message().split("\n")[0], file=sys.stderr)
        return None


def main():
    consumer, *command = sys.argv[1:]
    answer = select(consumer, built=dbus.Array(["cuda", "vulkan", "cpu"], signature="s"))
    if answer is None:
        return 3
    for message in answer.get("Messages", []):
        print(message, file=sys.stderr)
    print(f"{command[0]}: {answer['Decision']}", file=sys.stderr)
    variables = {str(name): str(value) for name, value in answer["Environment"].items()}
    os.execvpe(command[0], command, {**os.environ, "GPU_BACKEND": str(answer["Backend"]), **variables})


if __name__ == "__main__":
    sys.exit(main())
