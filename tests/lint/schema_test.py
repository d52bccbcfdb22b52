#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the files in data/schema are valid JSON schemas, and that the project's documents conform to them."""

import json
import pathlib
import sys
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "data" / "schema"
APPLICATIONS = sorted((ROOT / "data" / "knowledge" / "applications").glob("*.json"))


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


class Schemas(unittest.TestCase):
    def test_each_is_a_schema(self):
        for path in sorted(SCHEMAS.glob("*.schema.json")):
            with self.subTest(path.name):
                schema = load(path)
                jsonschema.validators.validator_for(schema).check_schema(schema)


def validator_of(name):
    """Returns a validator for a schema that may refer to other schemas."""
    known = {path.name: load(path) for path in SCHEMAS.glob("*.schema.json")}
    return jsonschema.Draft202012Validator(known[name], resolver=jsonschema.RefResolver("", known[name], store=known))


def manifest_of(path):
    """Returns the manifest of an application as an installer passes it; None for an application without one."""
    document = load(path)
    shared = {key: document[key] for key in ("name", "source") if key in document}
    return {"schema": "gpuprobe.variants/1", **shared, **document["manifest"]} if "manifest" in document else None


class ApplicationSchema(unittest.TestCase):
    def setUp(self):
        self.validator = validator_of("application.schema.json")

    def test_accepts_every_application(self):
        self.assertTrue(APPLICATIONS)
        for path in APPLICATIONS:
            with self.subTest(path.name):
                application = load(path)
                errors = [f"{e.json_path}: {e.message}" for e in self.validator.iter_errors(application)]
                self.assertEqual(errors, [])
                self.assertEqual(application["name"], path.stem)

    def test_refuses_what_is_no_application(self):
        path = ROOT / "data" / "knowledge" / "applications" / "torch.json"
        self.assertTrue(self.validator.is_valid(load(path)))
        for name, spoil in {
            "neither part": lambda c: [c.pop("selection"), c.pop("manifest")],
            "unknown member": lambda c: c.update(floors={}),
            "unknown member of the selection": lambda c: c["selection"].update(floor={}),
            "unknown backend": lambda c: c["selection"].update(backends=["vulcan", "cpu"]),
            "floor that is not a list": lambda c: c["selection"].update(floors={"cuda": "driver>=550"}),
            "unknown situation": lambda c: c["selection"].update(messages={"selectd": "text"}),
            "answer of two values": lambda c: c["selection"].update(answers={"gpu": [{"a": [], "b": []}]}),
            "name in a part": lambda c: c["manifest"].update(name="torch"),
            "no backends": lambda c: c["selection"].pop("backends"),
            "no cpu among the backends": lambda c: c["selection"].update(backends=["cuda"]),
            "no description": lambda c: [c.pop("description"), c.pop("manifest")],
            "no platforms": lambda c: c["manifest"].pop("platforms"),
            "unknown member of a variant": lambda c: c["manifest"]["platforms"]["linux-x86_64"]["variants"]["cpu"].update(surprise=1),
            "fact that is not an object": lambda c: c["source"]["facts"].append("somebody"),
        }.items():
            with self.subTest(name):
                application = load(path)
                spoil(application)
                self.assertFalse(self.validator.is_valid(application))


class VariantsSchema(unittest.TestCase):
    def setUp(self):
        self.validator = jsonschema.Draft202012Validator(load(SCHEMAS / "variants.schema.json"))

    def test_accepts_every_sample(self):
        paths = sorted((ROOT / "tests" / "data" / "variants" / "manifests").glob("*.json"))
        self.assertEqual(len(paths), 11)
        for path in paths:
            with self.subTest(path.name):
                errors = [f"{e.json_path}: {e.message}" for e in self.validator.iter_errors(load(path))]
                self.assertEqual(errors, [])

    def test_accepts_every_product_alone(self):
        for path in APPLICATIONS:
            manifest = manifest_of(path)
            with self.subTest(path.name):
                errors = [f"{e.json_path}: {e.message}" for e in self.validator.iter_errors(manifest)] if manifest else []
                self.assertEqual(errors, [])

    def test_refuses_what_the_reader_refuses(self):
        good = load(ROOT / "tests" / "data" / "variants" / "manifests" / "llama.cpp.json")
        name = "ubuntu-vulkan-x64"
        variant = lambda m: m["platforms"]["linux-x86_64"]["variants"][name]
        mistakes = {
            "another schema": lambda m: m.update(schema="gpuprobe.variants/2"),
            "no name": lambda m: m.pop("name"),
            "another system": lambda m: m["platforms"].update({"darwin-arm64": {"variants": {"v": {}}}}),
            "unknown member": lambda m: variant(m).update(surprise=1),
            "absurd version": lambda m: variant(m)["requires"]["host"].update(glibc_min="2." + "9" * 20),
            "zero hash": lambda m: variant(m)["artifact"].update(sha256="0" * 64),
            "local file": lambda m: variant(m)["artifact"].update(urls=["file:///etc/passwd"]),
            "file without hash": lambda m: variant(m)["artifact"].pop("sha256"),
            "hash without URL": lambda m: variant(m).update(sha256="a" * 64),
            "no instant": lambda m: m.update(expires="tomorrow"),
            "tier out of range": lambda m: variant(m).update(tier=1001),
        }
        self.assertTrue(self.validator.is_valid(good))
        for mistake, spoil in mistakes.items():
            with self.subTest(mistake):
                manifest = json.loads(json.dumps(good))
                spoil(manifest)
                self.assertFalse(self.validator.is_valid(manifest))

    def test_leaves_new_predicates_to_the_reader(self):
        manifest = {"schema": "gpuprobe.variants/1", "name": "p", "platforms": {"linux-x86_64": {"variants": {
            "v": {"requires": {"host": {"npu": True}, "device": {"fp8": True}, "network": "fast"}}}}}}
        self.assertTrue(self.validator.is_valid(manifest))


if __name__ == "__main__":
    sys.exit(unittest.main())
