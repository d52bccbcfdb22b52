#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the GPU that gpuprobe chooses for it.

Usage: run_with_gpu.py APPLICATION PROGRAM [ARGUMENT…]

APPLICATION is a name of `gpuprobectl apps`. Needs python3-dbus.
"""
import os
import sys

import dbus

NAME = "org.gpuprobe.GpuProbe1"


def select(application, **request):
    """Returns the answer of SelectBackend, whose member Backend is "" if no backend fits the machine."""
    bus = dbus.SystemBus()
    manager = dbus.Interface(bus.get_object(NAME, "/org/gpuprobe/GpuProbe1"), NAME + ".Manager")
    return manager.SelectBackend(application, dbus.Dictionary(request, signature="sv"))


def main():
    application, *command = sys.argv[1:]
    answer = select(application, built=dbus.Array(["cuda", "vulkan", "cpu"], signature="s"), explain=True)
    for message in answer.get("Messages", []):
        print(message, file=sys.stderr)
    if not answer["Backend"]:
        print(f"no backend fits for {application}", file=sys.stderr)
        for candidate in answer["Candidates"]:
            for reason in candidate["Reasons"]:
                print(f"  {candidate['Backend']}: {reason['Text']}", file=sys.stderr)
                if "Fix" in reason:
                    print(f"    fix: {reason['Fix']}", file=sys.stderr)
        return 3
    print(f"{command[0]}: {answer['Decision']}", file=sys.stderr)
    variables = {str(name): str(value) for name, value in answer["Environment"].items()}
    os.execvpe(command[0], command, {**os.environ, "GPU_BACKEND": str(answer["Backend"]), **variables})


if __name__ == "__main__":
    sys.exit(main())
