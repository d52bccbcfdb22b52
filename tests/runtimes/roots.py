# SPDX-License-Identifier: Apache-2.0
"""Creates root folders of other Debian releases, in which a program uses the release's Mesa, Vulkan loader and device-select layer.

Creating a root folder takes about five minutes. The root folders are kept in $XDG_CACHE_HOME/gpuprobe/system.
"""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

PACKAGES = "mesa-vulkan-drivers,libvulkan1,libgomp1,nodejs,python3"
MIRROR = os.environ.get("GPUPROBE_MIRROR", "http://deb.debian.org/debian")
# Bind-mounts each folder before "--" into the root folder, and runs the command after "--" in the root folder.
START = """root=$0
mount -t tmpfs tmpfs "$root/tmp" || exit 125
while [ "$1" != -- ]; do mkdir -p "$root$1" && mount --bind "$1" "$root$1" && shift || exit 125; done
shift
mount -t proc proc "$root/proc" && exec chroot "$root" "$@"
"""


def folder(suite):
    """Returns the root folder of that release. If the folder does not exist and cannot be created, skips the test with the reason."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    root = cache / "gpuprobe/system" / f"{suite}-mesa"
    if os.geteuid() != 0:
        raise unittest.SkipTest("only root can start programs in another root folder")
    if root.with_suffix(".done").exists():
        return root
    if os.environ.get("GPUPROBE_RUNTIMES") != "all":
        raise unittest.SkipTest(f"makes a root folder of Debian {suite}: runs with --all")
    if not shutil.which("debootstrap"):
        raise unittest.SkipTest("debootstrap is not installed")
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, root, MIRROR],
                          capture_output=True, text=True, timeout=1000, check=False)
    if done.returncode != 0:
        raise unittest.SkipTest(f"debootstrap {suite}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    root.with_suffix(".done").touch()
    return root


def version(root, package):
    """Returns the installed version of a package, according to dpkg."""
    status = (root / "var/lib/dpkg/status").read_text(encoding="utf-8")
    return re.search(rf"^Package: {package}\n(?:.+\n)*?Version: (.+)$", status, re.MULTILINE).group(1)


def started_in(root, folders, command):
    """Returns the command that runs `command` in the root folder, in which the given folders are visible under their own paths."""
    return ["unshare", "--mount", "sh", "-c", START, str(root), *map(str, folders), "--", *map(str, command)]
