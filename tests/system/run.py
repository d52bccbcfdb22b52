#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the packages in a separate Debian system: tests/system/run.py [--suite S] [--bus B] [--machine M] DEB

A container (systemd-nspawn, half a minute) uses the host's kernel and has no devices. A virtual machine (QEMU without KVM,
some minutes) has its own kernel, and GPUs can be added and removed. Both the container and the virtual machine need root. tests/system/guest contains
the tests.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = {"container": 1800, "vm": 3600}
# The folder in the tested machine that contains the hostile driver, and the file that describes the driver's victims; see tests/escape.
ATTACKED = "/srv/gpuprobe-escape"
GPU = {"driver": "bochs-display", "id": "gpu", "bus": "port0"}


class Monitor:
    """QEMU's control socket. Source: QEMU Machine Protocol specification, section 2."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(100):
            try:
                self.socket.connect(str(path))
                break
            except OSError:
                time.sleep(0.1)
        self.lines = self.socket.makefile("rw", encoding="utf-8")
        self.lines.readline()
        self.execute("qmp_capabilities")

    def execute(self, command, **arguments):
        self.lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.lines.flush()
        while True:
            answer = json.loads(self.lines.readline())
            if "return" in answer or "error" in answer:
                return answer


def fill(share, package):
    """Copies the files that tests/system/guest needs to the tested system."""
    shutil.copy(HERE / "guest", share)
    for file in [package, *package.parent.glob("gpuprobe-switcheroo_*.deb")]:
        shutil.copy(file, share)
    shutil.copytree(HERE.parents[1] / "debian", share / "source/debian")
    subprocess.run(["cc", "-shared", "-fPIC", "-nostdlib", "-o", share / "crashing_driver.so", HERE / "crashing_driver.c"],
                   check=True)
    fill_attacks(share / "escape")
    make_later_version(package, share / "later")


def fill_attacks(folder):
    """Compiles the hostile driver and copies the driver and its tests to the tested system, which has no compiler."""
    attacks = HERE.parent / "escape"
    folder.mkdir()
    for file in [*attacks.glob("*.py"), HERE.parent / "integration/bus/bus_case.py"]:
        shutil.copy(file, folder)
    sources = sorted(str(path) for path in attacks.glob("*.c") if path.name != "canary.c")
    compiler = ["cc", "-std=gnu11", "-O1", "-Wall"]
    subprocess.run([*compiler, "-shared", "-fPIC", f'-DVICTIMS="{ATTACKED}/victims"', *sources, "-o", folder / "libcuda.so.1",
                    "-lrt", "-lpthread", "-ldl"], check=True)
    subprocess.run([*compiler, attacks / "canary.c", "-o", folder / "canary"], check=True)


def make_later_version(package, folder):
    """Builds a package with a higher version, to test an upgrade."""
    with tempfile.TemporaryDirectory() as tree:
        subprocess.run(["dpkg-deb", "--raw-extract", package, f"{tree}/package"], check=True)
        control = pathlib.Path(tree) / "package/DEBIAN/control"
        control.write_text(re.sub(r"^Version: .*", r"\g<0>+later", control.read_text(encoding="utf-8"), flags=re.M),
                           encoding="utf-8")
        folder.mkdir()
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", f"{tree}/package", folder], check=True,
                       stdout=subprocess.DEVNULL)


def container(root, share):
    return ["systemd-nspawn", "--quiet", f"--directory={root}", "--register=no", "--keep-unit", "--volatile=overlay",
            f"--bind={share}:/share", "--private-network",
            # A real machine allows these system calls, but systemd 252 blocks these calls in containers.
            "--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self", "--boot"]


def virtual_machine(root, share, folder):
    disk = root.with_suffix(".disk")
    if not disk.exists():
        print(f"==> making {disk}", flush=True)
        subprocess.run(["mkfs.ext4", "-q", "-d", root, disk, "4G"], check=True)
    kernel = max((root / "boot").glob("vmlinuz-*"))
    initrd = max((root / "boot").glob("initrd.img-*"))
    return [
        "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1536",
        "-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 root=/dev/vda rw panic=-1 quiet mitigations=off",
        "-drive", f"file={disk},format=raw,if=virtio,snapshot=on",
        "-virtfs", f"local,path={share},mount_tag=share,security_model=none",
        # Reserve address space for hot-plugged devices, because otherwise the kernel driver rejects a hot-plugged device.
        "-device", "pcie-root-port,id=port0,chassis=1,slot=1,mem-reserve=32M,pref64-reserve=64M",
        "-device", "pcie-root-port,id=port1,chassis=2,slot=2", "-device", "virtio-gpu-pci,bus=port1",
        "-vga", "none", "-nic", "none", "-display", "none", "-serial", f"file:{folder}/serial",
        "-qmp", f"unix:{folder}/qmp,server=on,wait=off",
    ]


def serve(process, share, monitor, deadline):
    """Adds and removes the GPU when the guest requests this, until the virtual machine has stopped."""
    request = share / "request"
    while process.poll() is None:
        if time.monotonic() > deadline:
            process.kill()
            return False
        if monitor and request.exists():
            wanted = request.read_text(encoding="utf-8").strip()
            request.unlink()
            done = monitor.execute("device_add", **GPU) if wanted == "plug" else monitor.execute("device_del", id=GPU["id"])
            (share / "answer").write_text(json.dumps(done), encoding="utf-8")
        time.sleep(1)
    return True


def boot(machine, root, share):
    folder = share.parent
    command = container(root, share) if machine == "container" else virtual_machine(root, share, folder)
    with (folder / "console").open("w", encoding="utf-8") as console:
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
    try:
        monitor = Monitor(folder / "qmp") if machine == "vm" else None
        return serve(process, share, monitor, time.monotonic() + PATIENCE[machine])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--suite", default="bookworm", choices=("bookworm", "trixie"))
    parser.add_argument("--bus", default="dbus-daemon", choices=("dbus-daemon", "dbus-broker"))
    parser.add_argument("--machine", default="container", choices=PATIENCE)
    wanted = parser.parse_args()

    root = pathlib.Path(subprocess.run([HERE / "image", wanted.suite, wanted.bus, wanted.package], check=True,
                                       stdout=subprocess.PIPE, text=True).stdout.strip())
    share = pathlib.Path(tempfile.mkdtemp(prefix="gpuprobe-system-")) / "share"
    share.mkdir()
    fill(share, wanted.package)
    name = f"{wanted.suite}, {wanted.bus}, {wanted.machine}"
    print(f"==> {name} ({root})", flush=True)
    began = time.monotonic()
    in_time = boot(wanted.machine, root, share)
    results = (share / "results.tap").read_text(encoding="utf-8") if (share / "results.tap").exists() else ""
    print(results, end="")
    failed = results.count("not ok -")
    is_whole = "1.." in results
    print(f"==> {name}: {results.count('ok -') - failed} passed, {failed} failed, {time.monotonic() - began:.0f} s")
    if failed or not is_whole or not in_time:
        print(f"    {'' if in_time else 'it took too long; '}log: {share}/log, console and serial: {share.parent}")
        return 1
    shutil.rmtree(share.parent)
    return 0


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("tests/system needs root: it makes a machine's root folder", file=sys.stderr)
        sys.exit(77)
    sys.exit(main())
