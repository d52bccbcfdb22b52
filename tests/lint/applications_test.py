#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each data file in data/knowledge/applications names the sources of its facts and the dates on which the facts expire."""

import datetime
import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/knowledge"))
from manifest_import.layout import document_text  # noqa: E402

APPLICATIONS = ROOT / "data" / "knowledge" / "applications"
WITH_MANIFEST = {"comfyui", "ctranslate2", "cupy", "cyllama", "faster-whisper", "flash-attn", "jan", "jax", "lemonade", "llama.app", "llama.cpp",
            "localai", "node-llama-cpp", "ollama", "onnxruntime", "paddle", "ramalama", "sglang", "shimmy", "stable-diffusion.cpp",
            "tensorflow", "torch", "transformers.js", "tsuku-llm", "tsuku-llm-recipe", "vllm", "whisper.cpp", "xformers"}
OUR_OWN = {"default", "measured"}  # data files that describe no other project
# Files on a branch can change, so the citation of a file contains the repository, the commit and the path.
MOVING = re.compile(r"https://(github\.com/[^/]+/[^/]+/(blob|tree|raw)/|raw\.githubusercontent\.com/|github\.com/[^/]+/[^/]+/?$)")
MAX_LIFE = datetime.timedelta(days=200)


def no_twins(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"a key appears twice: {keys}")
    return dict(pairs)


def load(path):
    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=no_twins)


def instant(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")


def application(name):
    return load(APPLICATIONS / f"{name}.json")


def everyone():
    return {path: load(path) for path in sorted(APPLICATIONS.glob("*.json"))}


def with_manifest():
    return {path: document for path, document in everyone().items() if "manifest" in document}


def variants(document):
    for platform, content in document["manifest"]["platforms"].items():
        for name, variant in content["variants"].items():
            yield f"{platform}/{name}", variant


def devices(variant):
    """Returns the alternative requirements of a variant for a device."""
    device = variant.get("requires", {}).get("device", [])
    return device if isinstance(device, list) else [device]


def problems_in_source(document):
    """Finds facts without a permanent source, which is a file at a commit, or a page that is not code. At least one fact must come from code."""
    source = document.get("source", {})
    if document.get("name") in OUR_OWN:
        if source or not document.get("description", "").startswith("gpuprobe's own"):
            yield "says of no project, and not that it is ours"
        return
    if not source.get("url", "").startswith("https://"):
        yield "no page of the project"
    if not source.get("facts"):
        yield "no facts"
    for fact in source.get("facts", []):
        at_commit = all(fact.get(key) for key in ("repo", "commit", "path"))
        if not fact.get("of") or not (at_commit or fact.get("url", "").startswith("https://")):
            yield f"a fact without a place: {fact}"
        if not at_commit and MOVING.match(fact.get("url", "")):
            yield f"code without a commit: {fact['url']}"
        if "commit" in fact and not re.fullmatch("[0-9a-f]{7,40}", fact["commit"]):
            yield f"no commit: {fact['commit']}"
    if not any(fact.get("commit") for fact in source.get("facts", [])):
        yield "nothing of it was read in code"


def problems_in_variants(document):
    for place, variant in variants(document):
        artifact = variant.get("artifact")
        if not variant.get("family") or "tier" not in variant or not artifact:
            yield f"{place}: family, tier or artifact is missing"
            continue
        if not artifact.get("ref") and not artifact.get("urls"):
            yield f"{place}: nothing to fetch"
        if any(not url.startswith("https://") for url in artifact.get("urls", [])):
            yield f"{place}: not https"
        if set(artifact.get("sha256", "1")) == {"0"}:
            yield f"{place}: a digest that is none"


def problems_in_needs(document):
    """Finds downloads that do not name their C library, and variants for HIP that do not list their gfx targets."""
    floors = document.get("selection", {}).get("floors", {})
    has_gfx_floor = any(floor.startswith("gfx") for floor in floors.get("rocm", []))
    for place, variant in variants(document):
        platform = place.split("/")[0]
        is_fetched = variant.get("artifact", {}).get("type") not in ("oci", None)
        if is_fetched and platform.count("-") < 2 and "libc" not in variant.get("requires", {}).get("host", {}):
            yield f"{place}: for which C library?"
        if any(device.get("backend") == "hip" and "gfx" not in device for device in devices(variant)) and not has_gfx_floor:
            yield f"{place}: for which of AMD's GPUs?"


def problems_in(document, stem):
    if document.get("name") != stem:
        yield f"its name is {document.get('name')}, its file's {stem}"
    yield from problems_in_source(document)
    if "manifest" in document:
        yield from problems_in_dates(document["manifest"])
        yield from problems_in_manifest(document)
    elif stem not in OUR_OWN:
        yield from problems_in_dates(document["selection"])


def problems_in_dates(part):
    if "issued" not in part or "expires" not in part:
        yield "nobody knows when it ages"
        return
    life = instant(part["expires"]) - instant(part["issued"])
    if not datetime.timedelta(0) < life <= MAX_LIFE:
        yield f"good for {life}"


def problems_in_manifest(document):
    application = document["manifest"]
    yield from problems_in_variants(document)
    yield from problems_in_needs(document)
    for platform, content in application["platforms"].items():
        if "default" in content and content["default"] not in content["variants"]:
            yield f"{platform}: the default is not a variant"
        if content.get("on_none") == "error" and not content.get("none_hint"):
            yield f"{platform}: fails without a word"


class Applications(unittest.TestCase):
    def test_each_product_is_there(self):
        self.assertEqual({path.stem for path in with_manifest()}, WITH_MANIFEST)

    def test_each_says_all_that_a_reader_needs(self):
        for path, document in everyone().items():
            with self.subTest(path.name):
                self.assertEqual(list(problems_in(document, path.stem)), [])

    def test_each_is_laid_out_as_the_refresh_tool_does(self):
        for path in APPLICATIONS.glob("*.json"):
            with self.subTest(path.name):
                self.assertEqual(path.read_text(encoding="utf-8"), document_text(load(path)))

    def test_each_is_documented(self):
        page = (ROOT / "docs" / "applications.md").read_text(encoding="utf-8")
        for path in APPLICATIONS.glob("*.json"):
            document = load(path)
            with self.subTest(path.name):
                self.assertIn(f"`{path.stem}`", page)
                if "manifest" in document:
                    self.assertIn(f"| `{path.stem}` |", page)


class Floors(unittest.TestCase):
    """The minimum requirements in a selection must not repeat the lists of the builds, and must agree with data/rules."""

    def targets(self, document):
        return {target for _, each in variants(document) for device in devices(each) for target in device.get("gfx", [])}

    def test_say_no_list_that_the_builds_have(self):
        for path, document in with_manifest().items():
            with self.subTest(path.name):
                said = [each for floors in document.get("selection", {}).get("floors", {}).values() for each in floors]
                targets = self.targets(document)
                self.assertEqual([each for each in said if set(each.removeprefix("gfx=").split("|")) == targets], [])

    def test_of_ollama_are_those_of_the_rules(self):
        rules = load(ROOT / "data" / "rules" / "rocm_gfx.json")
        served = {target.split(":")[0] for target in rules["ollama_rocm_v7_2"]["gfx"]}
        self.assertEqual(self.targets(application("ollama")), served)


class Mistakes(unittest.TestCase):
    """Checks that each check finds the mistake that was made in a data file."""

    MISTAKES = {
        "another name": lambda c: c.update(name="other"),
        "no source": lambda c: c.pop("source"),
        "no facts": lambda c: c["source"].update(facts=[]),
        "fact without a place": lambda c: c["source"]["facts"].append({"of": "something"}),
        "file of a branch": lambda c: c["source"]["facts"].append(
            {"of": "something", "url": "https://github.com/ggml-org/llama.cpp/blob/master/README.md"}),
        "repository for a place": lambda c: c["source"]["facts"].append({"of": "something", "url": "https://github.com/ggml-org/llama.cpp"}),
        "nothing read in code": lambda c: c["source"].update(facts=[{"of": "something", "url": "https://example.org/page"}]),
        "branch for a commit": lambda c: c["source"]["facts"][0].update(commit="main"),
        "never expires": lambda c: c["manifest"].update(expires="2036-01-01T00:00:00Z"),
        "expired when issued": lambda c: c["manifest"].update(expires=c["manifest"]["issued"]),
        "zero digest": lambda c: first(c)["artifact"].update(sha256="0" * 64),
        "local file": lambda c: first(c)["artifact"].update(urls=["file:///tmp/x"]),
        "nothing to fetch": lambda c: first(c).update(artifact={"type": "wheel"}),
        "no family": lambda c: first(c).pop("family"),
        "no artifact": lambda c: first(c).pop("artifact"),
        "default that is none": lambda c: platform(c).update(default="none-such"),
        "no C library": lambda c: first(c)["requires"]["host"].pop("libc"),
        "no GPUs of AMD's": lambda c: (c["selection"]["floors"].pop("rocm"),
                                       platform(c)["variants"]["ubuntu-rocm-7.2-x64"]["requires"]["device"].pop("gfx")),
        "no hint": lambda c: platform(c).update(on_none="error"),
    }

    def test_each_is_seen(self):
        for name, spoil in self.MISTAKES.items():
            with self.subTest(name):
                document = application("llama.cpp")
                spoil(document)
                self.assertEqual(len(list(problems_in(document, "llama.cpp"))) > 0, True)

    def test_a_selection_without_a_source_is_seen(self):
        document = application("tsuku")
        self.assertEqual(list(problems_in(document, "tsuku")), [])
        del document["source"]
        self.assertNotEqual(list(problems_in(document, "tsuku")), [])

    def test_a_selection_that_never_ages_is_seen(self):
        document = application("tsuku")
        del document["selection"]["expires"]
        self.assertNotEqual(list(problems_in(document, "tsuku")), [])

    def test_one_of_our_own_with_a_source_is_seen(self):
        document = application("default")
        self.assertEqual(list(problems_in(document, "default")), [])
        document["source"] = application("tsuku")["source"]
        self.assertNotEqual(list(problems_in(document, "default")), [])

    def test_a_key_that_appears_twice_is_seen(self):
        with self.assertRaises(ValueError):
            json.loads('{"a": 1, "a": 2}', object_pairs_hook=no_twins)


def platform(document):
    return document["manifest"]["platforms"]["linux-x86_64"]


def first(document):
    return platform(document)["variants"]["ubuntu-vulkan-x64"]


if __name__ == "__main__":
    sys.exit(unittest.main())
