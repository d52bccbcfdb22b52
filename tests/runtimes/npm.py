# SPDX-License-Identifier: Apache-2.0
"""Packages from npm, installed without their scripts into a folder that is kept from one run to the next."""
import os
import pathlib
import shutil
import subprocess
import unittest

KEPT = pathlib.Path(os.environ["GPUPROBE_BIN"]).parent / "runtimes"


def package(name, version, *beside):
    """The package's folder, with other packages (NAME@VERSION) where it finds them. Skips the test with the reason where it
    cannot be had. What a package has by choice is left out: of some that is gigabytes."""
    folder = KEPT / version / name.replace("/", "+")
    there = folder / "node_modules" / name
    if (folder / "complete").exists():
        return there
    if not shutil.which("npm"):
        raise unittest.SkipTest("npm is not installed")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text("{}", encoding="utf-8")
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", "--force",
               "--omit=optional", f"{name}@{version}", *beside]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest(f"{name}@{version}: npm did not end within five minutes") from None
    if done.returncode != 0:
        reason = [line for line in done.stderr.splitlines() if "error" in line] or ["npm failed"]
        raise unittest.SkipTest(f"{name}@{version}: {reason[0]}")
    (folder / "complete").touch()
    return there
