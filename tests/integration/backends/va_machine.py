# SPDX-License-Identifier: Apache-2.0
"""Simulates machines with GPUs, render nodes and our own VA drivers.

A program sees the simulated machine in a mount namespace: /sys describes the GPUs, and each render node is a harmless device of the kernel, such as
/dev/null, under another name. LIBVA_DRIVER_NAME is set, so that libva does not query the kernel driver of a render node. `NAME` is the name of the
driver, on which some answers depend.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
FAKES = pathlib.Path(os.environ["GPUPROBE_FAKES"])
DRIVER = FAKES / "vaapi/told_drv_video.so"
# The devices that act as render nodes, and their numbers. libdrm recognizes a render node by its minor number.
DEVICES = (("null", "1:3"), ("zero", "1:5"), ("full", "1:7"))
NODES = ("renderD3", "renderD5", "renderD7")
# Attributes of VA-API: VAConfigAttribRTFormat, …MaxPictureWidth, …MaxPictureHeight.
FORMAT, WIDTH, HEIGHT = "0", "18", "19"

# Mounts the machine's /sys and /dev, and runs the remaining arguments as a command.
START = """folder=$1; shift
for node in null zero full random urandom; do touch "$folder/dev/$node" && mount --bind "/dev/$node" "$folder/dev/$node" || exit 125; done
for node in $1; do touch "$folder/dev/dri/${node%=*}" && mount --bind "/dev/${node#*=}" "$folder/dev/dri/${node%=*}" || exit 125; done; shift
mount --bind "$folder/sys" /sys && mount --rbind "$folder/dev" /dev && exec "$@"
"""
# The launcher does not pass on its environment, so this script sets the variables by which libva finds our driver.
WORKER = """#!/bin/sh
export LIBVA_DRIVERS_PATH={folder}/drivers LIBVA_DRIVER_NAME={name}
exec {bin}/gpuprobe-worker "$@"
"""


def entry(entrypoint, formats=None, width=None, height=None):
    said = {FORMAT: formats, WIDTH: width, HEIGHT: height}
    return [entrypoint, {key: value for key, value in said.items() if value is not None}]


def needed():
    """Skips the test and gives the reason, if the machine that runs the test does not allow mount namespaces."""
    apart = subprocess.run(["unshare", *OPTIONS, "true"], capture_output=True, text=True, check=False)
    if apart.returncode != 0:
        raise unittest.SkipTest(f"no mount namespace: {apart.stderr.strip()}")


OPTIONS = ("--mount",) if os.geteuid() == 0 else ("--user", "--map-root-user", "--mount")


class VaMachine:
    """Simulates a machine with GPUs at 0000:03:00.0, 0000:04:00.0 …, whose drivers behave as `nodes` describe (see told_va.cpp)."""
    IDS = {"vendor": "0x1002", "device": "0x744c", "subsystem_vendor": "0x1002", "subsystem_device": "0x0e3b"}
    ADDRESSES = ("0000:03:00.0", "0000:04:00.0", "0000:05:00.0")
    KERNEL_DRIVER = "amdgpu"
    NAME = "told"
    WORKER = WORKER

    def __init__(self, *nodes):
        needed()
        # The folder of the drivers must not be below /tmp, because the sandbox hides /tmp.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="va-", dir=FAKES))
        for name in ("dev/dri", "dev/shm", "sys/class/drm", "sys/dev/char", "sys/bus/pci/devices", f"sys/bus/pci/drivers/{self.KERNEL_DRIVER}", "drivers"):
            (self.folder / name).mkdir(parents=True)
        for index, (_, number) in zip(range(len(nodes)), DEVICES):
            self._add_gpu(index, number)
        self.nodes = [f"{name}={device}" for name, (device, _), _ in zip(NODES, DEVICES, nodes)]
        shutil.copy(DRIVER, self.folder / f"drivers/{self.NAME}_drv_video.so")
        self.tell(*nodes)
        self.worker = self.folder / "worker"
        self.worker.write_text(self.WORKER.format(folder=self.folder, bin=BIN, name=self.NAME), encoding="utf-8")
        self.worker.chmod(0o755)

    def _add_gpu(self, index, number):
        sys = self.folder / "sys"
        address = self.ADDRESSES[index]
        device = sys / "devices/pci0000:00" / address
        node = device / "drm" / NODES[index]
        node.mkdir(parents=True)
        (device / "power").mkdir()
        for name, text in {**self.IDS, "class": "0x030000", "revision": "0xc8", "power/runtime_status": "active"}.items():
            (device / name).write_text(text + "\n", encoding="ascii")
        (node / "dev").write_text(number + "\n", encoding="ascii")
        (node / "device").symlink_to(f"../../../{address}")
        (device / "subsystem").symlink_to("../../../bus/pci")
        (device / "driver").symlink_to(f"../../../bus/pci/drivers/{self.KERNEL_DRIVER}")
        for link in (f"class/drm/{NODES[index]}", f"dev/char/{number}"):
            (sys / link).symlink_to(f"../../devices/pci0000:00/{address}/drm/{NODES[index]}")
        (sys / f"bus/pci/devices/{address}").symlink_to(f"../../../devices/pci0000:00/{address}")

    def tell(self, *nodes):
        """Sets the behavior of the drivers, and deletes the cached answers, because gpuprobe does not notice that the behavior has changed."""
        shutil.rmtree(self.folder / ".cache", ignore_errors=True)
        document = {number: node for (_, number), node in zip(DEVICES, nodes)}
        (self.folder / f"drivers/{self.NAME}_drv_video.json").write_text(json.dumps(document), encoding="utf-8")

    def suspend(self, index):
        (self.folder / f"sys/devices/pci0000:00/{self.ADDRESSES[index]}/power/runtime_status").write_text("suspended\n", encoding="ascii")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def started(self, *command):
        """Returns the command line that runs a command on the simulated machine."""
        return ["unshare", *OPTIONS, "sh", "-c", START, "sh", str(self.folder), " ".join(self.nodes), *map(str, command)]

    def run(self, *command, **variables):
        return subprocess.run(self.started(*command), env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.folder),
                                                           "LC_ALL": "C.UTF-8", **variables},
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)

    def ask(self, *words):
        return self.run(BIN / "gpuprobectl", "--direct", f"--worker={self.worker}", *words)

    def vainfo(self, index):
        """Returns what Debian's vainfo prints about each pair of profile and entry point, or None if vainfo fails. If vainfo does not print a size,
        the size is None."""
        done = self.run("vainfo", "-a", "--display", "drm", "--device", f"/dev/dri/{NODES[index]}",
                        LIBVA_DRIVERS_PATH=str(self.folder / "drivers"), LIBVA_DRIVER_NAME=self.NAME)
        if done.returncode != 0:
            return None
        pairs, values = [], []
        for line in done.stdout.splitlines():
            if found := re.fullmatch(r"(\S.*)/(VAEntrypoint\w+|<unknown entrypoint>)", line):
                pairs.append({"pair": found.groups(), "formats": set(), "width": None, "height": None})
            elif found := re.fullmatch(r" +(?:VAConfigAttrib(\w+) *: )?(\S+)", line):
                values = {"RTFormat": pairs[-1]["formats"]}.get(found[1], None if found[1] else values)
                if values is not None:
                    values.add(found[2])
                elif found[1] in ("MaxPictureWidth", "MaxPictureHeight"):
                    pairs[-1][found[1].removeprefix("MaxPicture").lower()] = int(found[2])
        return pairs
