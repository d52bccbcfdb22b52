# SPDX-License-Identifier: Apache-2.0
"""Converts a GitHub release from GitHub's API to a manifest. An overlay (gpuprobe.overlay/1) contains the requirements of each file."""

import dataclasses

from .documents import MAX_LIST, MAX_MANIFEST, Refusal, parse_json, scrubbed, within

SCHEMA = "gpuprobe.overlay/1"
DIGEST = "sha256:"
MAX_RULES = 512
RULE_WORDS = ("pattern", "platform", "variant")


@dataclasses.dataclass
class Asset:
    name: str
    url: str
    size: int | None
    digest: str


@dataclasses.dataclass
class Rule:
    pattern: str
    platform: str
    variant: str
    members: dict  # members of the variant


@dataclasses.dataclass
class Overlay:
    name: str
    platforms: dict
    rules: list


def matches(pattern, text):
    """Returns whether the string matches the pattern. In the pattern, `*` matches any characters."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    if not text.startswith(first):
        return False
    text = text[len(first):]
    for piece in rest[:-1]:
        found = text.find(piece)
        if found < 0:
            return False
        text = text[found + len(piece):]
    return text.endswith(rest[-1])


def rule_from(entry):
    for word in RULE_WORDS:
        if not entry.required(word):
            entry.at(word).refuse("missing")
    members = {key: value for key, value in entry.value.items() if key not in RULE_WORDS and not key.startswith("x-")}
    return Rule(*map(entry.required, RULE_WORDS), members)


def overlay_from(root):
    for key in root.expect("object"):
        if key not in ("schema", "name", "platforms", "rules") and not key.startswith("x-"):
            root.at(key).refuse("unknown member")
    if root.required("schema") != SCHEMA:
        root.at("schema").refuse(f"not {SCHEMA}")
    rules = root.items("rules")
    if len(rules) > MAX_RULES:
        root.at("rules").refuse(f"more than {MAX_RULES} rules")
    platforms = root.optional("platforms", "object", {})
    for key in platforms:
        root.at("platforms").optional(key, "object")
    return Overlay(root.optional("name", default=""), platforms, [rule_from(rule) for rule in rules])


def asset_from(entry):
    return Asset(entry.required("name"), entry.required("browser_download_url"),
                 entry.optional("size", "non-negative integer"), entry.optional("digest", default=""))


def artifact_of(asset):
    size = {} if asset.size is None else {"size": asset.size}
    return {"type": "file", "urls": [asset.url], "sha256": asset.digest.removeprefix(DIGEST), **size}


def place(asset, overlay, platforms):
    """Adds the file to the variants. Returns the reason if the file cannot be a variant, or None."""
    rule = next((rule for rule in overlay.rules if matches(rule.pattern, asset.name)), None)
    if not rule:
        return "no rule of the overlay"
    if not asset.digest.startswith(DIGEST):
        return "no SHA-256 digest"
    if rule.platform not in platforms:
        platforms[rule.platform] = {**(overlay.platforms.get(rule.platform) or {}), "variants": {}}
    variants = platforms[rule.platform]["variants"]
    if rule.variant in variants:
        raise Refusal(f"overlay: two files for {scrubbed(rule.platform)}/{scrubbed(rule.variant)}")
    variants[rule.variant] = {**rule.members, "artifact": artifact_of(asset)}
    return None


def convert(release, overlay):
    """Returns the manifest, and "name: reason" for each file that is left out."""
    with within("overlay"):
        overlay = overlay_from(parse_json(overlay, MAX_MANIFEST))
    with within("release"):
        release = parse_json(release, MAX_LIST)
        manifest = {"schema": "gpuprobe.variants/1", "name": overlay.name, "version": release.required("tag_name")}
        published = release.optional("published_at")
        assets = [asset_from(entry) for entry in release.items("assets")]
    if published is not None:
        manifest["issued"] = published
    platforms = manifest["platforms"] = {}
    reasons = [(asset.name, place(asset, overlay, platforms)) for asset in assets]
    return manifest, [f"{scrubbed(name)}: {why}" for name, why in reasons if why]
