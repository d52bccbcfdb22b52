# SPDX-License-Identifier: Apache-2.0
"""Converts Unsloth's llama-prebuilt-manifest.json, with the digests in llama-prebuilt-sha256.json, to a manifest.

Source: unslothai/unsloth, studio/install_llama_prebuilt.py
"""

import dataclasses
import re

from .documents import MAX_LIST, parse_json, scrubbed, within


@dataclasses.dataclass
class Prebuilt:
    asset: str
    kind: str  # "linux-cuda", "windows-cuda", "linux-rocm" …
    profile: str | None
    line: str  # "cuda12"; may be empty
    toolkit: str | None
    capabilities: list  # without a dot: "86" is 8.6, "120" is 12.0
    rank: int
    targets: set  # gfx targets


@dataclasses.dataclass
class Hashes:
    tag: str
    files: dict  # file name → repository and SHA-256


def prebuilt_from(entry):
    target = entry.optional("gfx_target")
    return Prebuilt(
        entry.required("asset_name"), entry.required("install_kind"), entry.optional("bundle_profile"),
        entry.optional("runtime_line", default=""), entry.optional("toolkit_version"), entry.texts("supported_sms"),
        entry.optional("rank", "integer", 999), {*entry.texts("mapped_targets"), *([] if target is None else [target])})


def hashes_from(root):
    repository, tag = root.required("repo"), root.required("release_tag")
    entries = root.at("artifacts")
    files = {name: (entries.at(name).optional("repo", default=repository), entries.at(name).required("sha256"))
             for name in root.optional("artifacts", "object", {})}
    return Hashes(tag, files)


def clamped(number):
    return min(max(number, 0), 999)


def priority_of(artifact, line):
    """Returns the sort key, as in Unsloth's installer: newest runtime first, then the build for the fewest capabilities, then the lowest rank."""
    span = int(artifact.capabilities[-1]) - int(artifact.capabilities[0])
    return 1_000_000 * line - 1000 * clamped(span) - clamped(artifact.rank)


def cuda_variant(artifact):
    """Returns the CUDA variant. Each NVIDIA GPU needs kernels for its own architecture."""
    line = re.fullmatch("cuda0*([0-9]{1,2})", artifact.line)
    if not line or not artifact.capabilities:
        return None
    if not all(re.fullmatch("[0-9]{2,3}", capability) for capability in artifact.capabilities):
        return None
    toolkit = f"{int(line[1])}.0" if artifact.toolkit is None else artifact.toolkit
    code = [f"{capability[:-1]}.{capability[-1]}" for capability in artifact.capabilities]
    device = {"backend": "cuda", "cuda": {"toolkit": toolkit, "sass": code, "exact": True}}
    return {"family": "cuda", "tier": 400, "priority": priority_of(artifact, int(line[1])),
            "requires": {"scope": "all", "device": device}}


def rocm_variant(artifact):
    if not artifact.targets:
        return None
    return {"family": "rocm", "tier": 300, "requires": {"device": {"backend": "hip", "gfx": sorted(artifact.targets)}}}


KINDS = {
    "linux-cuda": ("linux-x86_64", cuda_variant),
    "linux-arm64-cuda": ("linux-aarch64", cuda_variant),
    "linux-rocm": ("linux-x86_64", rocm_variant),
}


def file_of(artifact, hashes):
    repository, sha256 = hashes.files[artifact.asset]
    url = f"https://github.com/{repository}/releases/download/{hashes.tag}/{artifact.asset}"
    return {"type": "file", "urls": [url], "sha256": sha256}


def place(artifact, hashes, platforms):
    """Adds the file to the variants. Returns the reason if the file cannot be a variant, or None."""
    if artifact.kind not in KINDS:
        return f"of another kind: {artifact.kind}"
    if artifact.asset not in hashes.files:
        return "no SHA-256"
    platform, variant_of = KINDS[artifact.kind]
    variant = variant_of(artifact)
    if not variant:
        return "has no known requirements"
    variants = platforms.setdefault(platform, {"variants": {}})["variants"]
    name = artifact.asset if artifact.profile is None else artifact.profile
    if name in variants:
        return "another file has the same profile"
    variants[name] = {**variant, "artifact": file_of(artifact, hashes)}
    return None


def convert(listing, hashes):
    """Returns the manifest, and "name: reason" for each file that is left out."""
    with within("list"):
        root = parse_json(listing, MAX_LIST)
        manifest = {"schema": "gpuprobe.variants/1", "name": root.required("component"),
                    "version": root.required("upstream_tag"), "platforms": {}}
        artifacts = [prebuilt_from(entry) for entry in root.items("artifacts")]
    with within("hashes"):
        hashes = hashes_from(parse_json(hashes, MAX_LIST))
    reasons = [(artifact.asset, place(artifact, hashes, manifest["platforms"])) for artifact in artifacts]
    return manifest, [f"{scrubbed(asset)}: {scrubbed(why)}" for asset, why in reasons if why]
