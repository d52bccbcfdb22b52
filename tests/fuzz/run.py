#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Creates the seeds of a harness and runs the harness on them for a short time, as a test. tools/fuzz searches for a longer time.

Usage: run.py libfuzzer|rerun NAME PROGRAM    exits with the status of the program
"""
import os
import subprocess
import sys
import tempfile

import seeds

LIBFUZZER = ["-seed=1", "-runs=2000", "-max_total_time=10", "-rss_limit_mb=2048", "-timeout=10",
             f"-max_len={seeds.MAX_SEED}", "-print_final_stats=1", "-verbosity=0"]


def main(words):
    searcher, name, program = words
    # Some harnesses write files, so use a file system in memory if one exists.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        os.mkdir(f"{folder}/seeds")
        paths = seeds.write(name, f"{folder}/seeds")
        command = [program, *LIBFUZZER, f"{folder}/seeds"] if searcher == "libfuzzer" else [program, *paths]
        return subprocess.run(command, cwd=folder, env={**os.environ, "TMPDIR": folder}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
