# SPDX-License-Identifier: Apache-2.0
"""python3 -m gpuprobe_variant_provider: prints the variants that this machine can run as a static list."""
import argparse
import json
import os
import sys
import tempfile
from typing import Dict, List

import gpuprobe

from . import properties

# The vendor's provider that this package replaces in each namespace. Source of the format: astral-sh/uv, branch charlie/wheel-variant@dd4562af,
# crates/uv-variants/src/variant_lock.rs. uv treats a missing provider as an error, so the list contains all providers.
PROVIDERS = {
    "nvidia": ("nvidia-variant-provider==0.0.2", "nvidia_variant_provider.plugin:NvidiaVariantPlugin"),
    "amd": ("amd-variant-provider==0.0.2", "amd_variant_provider.plugin:AMDVariantPlugin"),
    "intel": ("intel-variant-provider==0.0.3", "intel_variant_provider.plugin:IntelVariantPlugin"),
}


def toml_from(found: Dict[str, Dict[str, List[str]]]) -> str:
    lines = ["[metadata]", 'created-by = "gpuprobe"', 'version = "0.1"']
    for namespace, (resolved, plugin) in PROVIDERS.items():
        lines += ["", "[[provider]]", f'resolved = ["{resolved}"]', f'plugin-api = "{plugin}"', f'namespace = "{namespace}"',
                  "", "[provider.properties]"]
        lines += [f"{name} = {json.dumps(values)}" for name, values in found[namespace].items()]
    return "\n".join(lines) + "\n"


def write(path: str, text: str) -> None:
    """Writes the file atomically. All users may read the file."""
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".", encoding="utf-8", delete=False) as file:
        try:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m gpuprobe_variant_provider", description="Prints the wheel variants that this machine runs.",
        epilog="Exit status 3: drivers are still being asked, and FILE stays as it was.")
    parser.add_argument("--format", choices=("toml", "json"), default="toml", help="toml: UV_VARIANT_LOCK; json: static-properties")
    parser.add_argument("--output", metavar="FILE", help="into this file")
    parser.add_argument("--daemon-only", action="store_true", help="never run gpuprobectl")
    arguments = parser.parse_args()
    try:
        with gpuprobe.Client(daemon_only=arguments.daemon_only) as client:
            report = client.describe()
    except (gpuprobe.Failure, TimeoutError) as problem:
        print(f"{parser.prog}: {problem}", file=sys.stderr)
        return 1
    if report["state"] in ("starting", "probing") and arguments.output:
        return 3
    found = properties(report)
    text = toml_from(found) if arguments.format == "toml" else json.dumps(found, indent=2) + "\n"
    if not arguments.output:
        sys.stdout.write(text)
        return 0
    try:
        write(arguments.output, text)
    except OSError as problem:
        print(f"{parser.prog}: {arguments.output}: {problem.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
