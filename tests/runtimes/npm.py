# SPDX-License-Identifier: Apache-2.0
"""Installs npm packages, without running their scripts, into a folder that is kept between runs."""
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import unittest

KEPT = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent / "runtimes"


@contextlib.contextmanager
def locked(folder):
    """Holds a lock during the installation, so that two tests that run at the same time do not install a package twice."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def package(name, version, *beside):
    """Returns the folder of the installed package. `beside` lists other packages (NAME@VERSION) that the package must find. If the package cannot be
    installed, skips the test with the reason. Optional dependencies are left out, because some packages have gigabytes of optional dependencies."""
    folder = KEPT / version / name.replace("/", "+")
    with locked(KEPT):
        if not (folder / "complete").exists():
            install(folder, f"{name}@{version}", *beside)
    return folder / "node_modules" / name


def install(folder, package_and_version, *beside):
    if not shutil.which("npm"):
        raise unittest.SkipTest("npm is not installed")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text("{}", encoding="utf-8")
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", "--force",
               "--omit=optional", package_and_version, *beside]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest(f"{package_and_version}: npm did not end within five minutes") from None
    if done.returncode != 0:
        reason = [line for line in done.stderr.splitlines() if "error" in line] or ["npm failed"]
        raise unittest.SkipTest(f"{package_and_version}: {reason[0]}")
    (folder / "complete").touch()
