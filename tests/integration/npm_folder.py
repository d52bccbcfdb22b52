# SPDX-License-Identifier: Apache-2.0
"""What a package-lock.json names, installed from npm's registry without scripts."""
import fcntl
import shutil
import subprocess
import unittest


def installed(source, folder):
    """`folder`, with the node_modules of source/package-lock.json: installed once for this build. Skips where it can't be."""
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
            raise unittest.SkipTest(f"npm can't install what {source.name}/package-lock.json names: " + npm.stderr.strip()[-300:])
        done.write_bytes(wanted)
    return folder
