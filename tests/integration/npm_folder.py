# SPDX-License-Identifier: Apache-2.0
"""Installs the packages that a package-lock.json lists from npm's registry, without running their scripts."""
import fcntl
import shutil
import subprocess
import unittest


def installed(source, folder):
    """Installs the packages in source/package-lock.json into `folder`, once for each build. If npm fails, skips the test."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = (source / "package-lock.json").read_bytes()
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "installed.json"
        if done.exists() and done.read_bytes() == wanted:
            return folder
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, folder)
        npm = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=110, check=False)
        if npm.returncode != 0:
            raise unittest.SkipTest(f"npm cannot install the packages in {source.name}/package-lock.json: " + npm.stderr.strip()[-300:])
        done.write_bytes(wanted)
    return folder
