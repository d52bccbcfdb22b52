# SPDX-License-Identifier: Apache-2.0
"""Checks that gpuprobe accepts a manifest, with gpuprobectl or, if gpuprobectl is not installed, with the schema."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from .documents import MAX_MANIFEST, Refusal, checked_size, json_line, scrubbed, within

ROOT = pathlib.Path(__file__).resolve().parents[3]
MACHINE = ROOT / "tests/data/machines/software-only"
SCHEMA = ROOT / "data/schema/variants.schema.json"
NO_MATCH = 3  # exit status of gpuprobectl if the manifest is valid but no variant fits the machine
MAX_COMPLAINT = 1024  # bytes
SECONDS = 60


def check_by_program(program, text):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(text)
        file.flush()
        words = [program, "--quiet", f"--replay={MACHINE}", "recommend", f"--manifest={file.name}"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
        except OSError as problem:
            raise Refusal(f"{program}: {problem.strerror}") from None
    if done.returncode not in (0, NO_MATCH):
        complaint = done.stderr.strip().removeprefix("gpuprobectl: ").removeprefix(f"{file.name}: ")
        raise Refusal(complaint or f"{program}: ended with {done.returncode}")


def check_by_schema(validator_of, text):
    validator = validator_of(json.loads(SCHEMA.read_text(encoding="utf-8")))
    problem = next(validator.iter_errors(json.loads(text)), None)
    if problem:
        place = problem.json_path.removeprefix("$").removeprefix(".")
        raise Refusal(scrubbed(f"manifest: {place}: {problem.message}", MAX_COMPLAINT))


def check(manifest):
    """Returns the name of the checker; None if neither gpuprobectl nor jsonschema is installed."""
    text = json_line(manifest).rstrip()
    with within("manifest"):
        checked_size(text, MAX_MANIFEST)
    if program := os.environ.get("GPUPROBECTL") or shutil.which("gpuprobectl"):
        check_by_program(program, text)
        return "gpuprobectl"
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return None
    check_by_schema(Draft202012Validator, text)
    return "schema"
