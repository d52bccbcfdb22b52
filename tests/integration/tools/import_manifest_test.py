# SPDX-License-Identifier: Apache-2.0
"""Tests the manifests that tools/knowledge/import-manifest makes from other projects' lists, and its reasons for rejecting lists."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
CTL = str(pathlib.Path(os.environ["GPUPROBE_BIN"]) / "gpuprobectl")
DATA = SOURCE / "tests/data/variants/imported"
MACHINES = SOURCE / "tests/data/machines"
TOOL = SOURCE / "tools/knowledge/import-manifest"
sys.path.insert(0, str(TOOL.parent))
from manifest_import import github, localai, unsloth  # noqa: E402
from manifest_import.documents import MAX_LIST, Refusal, json_pretty, parse_json, scrubbed  # noqa: E402

HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
RELEASE, OVERLAY, LIST, HASHES, INDEX = (
    (DATA / name).read_bytes()
    for name in ("github.release.json", "github.overlay.json", "unsloth.list.json", "unsloth.hashes.json", "localai.yaml"))


def golden(name):
    return (DATA / f"{name}.json").read_bytes()


class ImportCase(unittest.TestCase):
    maxDiff = None

    def assert_refused(self, problem, convert, *inputs):
        with self.assertRaises(Refusal) as refusal:
            convert(*inputs)
        self.assertTrue(str(refusal.exception).startswith(problem), refusal.exception)

    def assert_sound_when_cut(self, convert, text):
        """Checks that a list that is truncated at any byte is either converted, or rejected with a reason. Returns the number of manifests."""
        taken = 0
        for length in range(len(text)):
            try:
                manifest, _ = convert(text[:length])
                taken += 1
                self.assertEqual(manifest["schema"], "gpuprobe.variants/1")
            except Refusal as problem:
                self.assertTrue(str(problem), length)
        return taken


def release(*assets, **more):
    return json.dumps({"tag_name": "b1", "assets": assets, **more}).encode()


def asset(name, digest=f"sha256:{HASH}"):
    return {"name": name, "size": 7, "browser_download_url": f"https://a/{name}", "digest": digest}


def overlay(**members):
    return json.dumps({"schema": "gpuprobe.overlay/1", "name": "x", **members}).encode()


def rule(**members):
    return {"pattern": "*", "platform": "linux-x86_64", "variant": "v", **members}


class ImportGithub(ImportCase):
    def test_makes_a_manifest_and_names_what_it_leaves_out(self):
        manifest, skipped = github.convert(RELEASE, OVERLAY)
        self.assertEqual(json_pretty(manifest), golden("github"))
        self.assertEqual(skipped, ["llama-b1-ubuntu-rocm-9-x64.tar.gz: no rule of the overlay",
                                   "llama-b2-vulkan-x64.tar.gz: no SHA-256 digest"])

    def test_a_star_stands_for_any_text(self):
        for pattern, text in (("a*c", "abc"), ("a*c", "ac"), ("*", ""), ("a*b*c", "a-b-b-c"), ("abc", "abc"), ("**", "x")):
            self.assertTrue(github.matches(pattern, text), (pattern, text))
        for pattern, text in (("abc", "abcd"), ("a*c", "acd"), ("ab*ba", "aba"), ("", "a"), ("a*b*b", "ab"), ("a?c", "abc")):
            self.assertFalse(github.matches(pattern, text), (pattern, text))

    def test_gives_a_variant_what_its_rule_says(self):
        given = rule(family="f", artifact=3, **{"x-why": "of the overlay alone"})
        manifest, _ = github.convert(release(asset("a")), overlay(rules=[given]))
        variant = manifest["platforms"]["linux-x86_64"]["variants"]["v"]
        self.assertEqual(list(variant), ["family", "artifact"])
        self.assertEqual(variant["artifact"], {"type": "file", "urls": ["https://a/a"], "sha256": HASH, "size": 7})

    def test_refuses_with_the_place(self):
        for problem, given, rules in (
            ("release: not JSON at byte 1", b"<html>", OVERLAY),
            ("release: not JSON at byte 14", b'{"tag_name":"\xff"}', OVERLAY),
            ("release: tag_name: missing", b'{"message":"Not Found"}', OVERLAY),
            ("release: expected object, found array", b"[]", OVERLAY),
            ("release: assets[0].name: missing", release({}), OVERLAY),
            ("release: assets[0].size: expected non-negative integer, found integer",
             release({**asset("a"), "size": -1}), OVERLAY),
            ("release: assets[0].size: expected non-negative integer, found number",
             release({**asset("a"), "size": 1 << 64}), OVERLAY),
            ("overlay: schema: missing", release(), b"{}"),
            ("overlay: schema: not gpuprobe.overlay/1", release(), b'{"schema":"x"}'),
            ("overlay: odd: unknown member", release(), overlay(odd=1)),
            ("overlay: platforms.p: expected object, found string", release(), overlay(platforms={"p": "x"})),
            ("overlay: rules[0].pattern: missing", release(), overlay(rules=[rule(pattern="")])),
            ("overlay: rules: more than 512 rules", release(), overlay(rules=[rule()] * 513)),
            ("overlay: two files for linux-x86_64/v", release(asset("a"), asset("b")), overlay(rules=[rule()])),
        ):
            with self.subTest(problem):
                self.assert_refused(problem, github.convert, given, rules)

    def test_cut_anywhere_makes_a_manifest_or_a_reason(self):
        self.assertEqual(self.assert_sound_when_cut(lambda text: github.convert(text, OVERLAY), RELEASE.rstrip()), 0)
        self.assertEqual(self.assert_sound_when_cut(lambda text: github.convert(RELEASE, text), OVERLAY.rstrip()), 0)


class ImportUnsloth(ImportCase):
    def test_makes_a_manifest_and_names_what_it_leaves_out(self):
        manifest, skipped = unsloth.convert(LIST, HASHES)
        self.assertEqual(json_pretty(manifest), golden("unsloth"))
        self.assertEqual(skipped, ["app-win.zip: of another kind: windows-cuda",
                                   "app-odd.tar.gz: has no known requirements",
                                   "app-unhashed.tar.gz: no SHA-256"])

    def skipped_with(self, old, new):
        self.assertIn(old, LIST)
        return unsloth.convert(LIST.replace(old, new), HASHES)[1][0]

    def test_leaves_out_what_it_cannot_read(self):
        unclear = "app-cuda13-newer.tar.gz: has no known requirements"
        for line in (b'"cuda"', b'"cuda100"', b'"cuda+3"', b'"rocm"', b"null"):
            self.assertEqual(self.skipped_with(b'"cuda13"', line), unclear)
        for capability in (b'"1"', b'"1200"', b'"x20"', '"８6"'.encode()):
            self.assertEqual(self.skipped_with(b'"120"', capability), unclear)
        self.assertEqual(self.skipped_with(b'"cuda12-newer"', b'"cuda12-older"'),
                         "app-cuda12-newer.tar.gz: another file has the same profile")

    def test_refuses_with_the_place(self):
        start = b'{"repo":"r","release_tag":"t","artifacts":'
        for problem, given, hashes in (
            ("list: component: missing", b"{}", HASHES),
            ("list: artifacts[0].supported_sms[0]: expected string, found integer", LIST.replace(b'"70"', b"70"), HASHES),
            ("hashes: repo: missing", LIST, b"{}"),
            ("hashes: artifacts: expected object, found integer", LIST, start + b"3}"),
            ('hashes: artifacts["a.gz"].sha256: missing', LIST, start + b'{"a.gz":{}}}'),
        ):
            with self.subTest(problem):
                self.assert_refused(problem, unsloth.convert, given, hashes)

    def test_cut_anywhere_makes_a_manifest_or_a_reason(self):
        self.assertEqual(self.assert_sound_when_cut(lambda text: unsloth.convert(text, HASHES), LIST.rstrip()), 0)
        self.assertEqual(self.assert_sound_when_cut(lambda text: unsloth.convert(LIST, text), HASHES.rstrip()), 0)


def alias_bomb(levels):
    """Returns a YAML document with lists that each contain nine aliases of the previous list."""
    lists = [f"- &a{level} [{','.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, levels + 1)]
    return ("- &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(lists)).encode()


def merge_bomb(levels):
    """Returns a YAML document with mappings that each merge the previous mapping twice."""
    mappings = [f"- &a{level} {{<<: [*a{level - 1}, *a{level - 1}]}}\n" for level in range(1, levels + 1)]
    return ("- &a0 {name: x}\n" + "".join(mappings)).encode()


def with_members(count):
    members = "".join(f"  k{number}: v\n" for number in range(2, count))
    return f"- name: a\n  capabilities: {{cpu: b}}\n{members}- {{name: b, uri: c}}\n".encode()


def with_entries(count):
    return b"- {name: a, capabilities: {cpu: b}}\n" + b"- {name: b, uri: c}\n" * (count - 1)


def with_merges(count):
    return b"- {name: a, " + b"<<: {x: y}, " * count + b"capabilities: {cpu: b}}\n- {name: b, uri: c}\n"


class ImportLocalai(ImportCase):
    def test_makes_a_manifest_and_names_what_it_leaves_out(self):
        manifest, skipped = localai.convert(INDEX, "llama-cpp")
        self.assertEqual(json_pretty(manifest), golden("localai"))
        self.assertEqual(skipped, ["intel: no backend with uri: gone-llama-cpp",
                                   "metal: means no GPU that is known on Linux",
                                   "nvidia-cuda-12: a build for processors: quay.io/x:latest-cpu-llama-cpp",
                                   "vulkan: not an OCI reference: https://example.org/vulkan"])

    def test_prefers_own_members_to_merged_ones(self):
        manifest, skipped = localai.convert(INDEX, "llama-cpp-development")
        self.assertEqual(json_pretty(manifest), golden("localai-development"))
        self.assertEqual(skipped,
                         ["default: a build for a GPU: quay.io/x:latest-gpu-nvidia-cuda-12-llama-cpp"])

    def test_knows_each_capability(self):
        keys = ", ".join(f"{key}: b" for key in localai.CAPABILITIES)
        manifest, skipped = localai.convert(f"- {{name: a, capabilities: {{{keys}}}}}\n- {{name: b, uri: x}}\n".encode())
        self.assertEqual(skipped, [])
        self.assertEqual(json_pretty(manifest), golden("localai-capabilities"))

    def test_takes_the_toolkit_from_the_tag(self):
        for ref, toolkit in (("x-cuda-9-y", "9.0"), ("x-cuda-x1-y", "12.0"), ("x-cuda-", "12.0"),
                             ("x-cuda-99999999999", "12.0"), ("x", "12.0")):
            self.assertEqual(localai.toolkit_of(ref, 12), toolkit, ref)

    def test_needs_no_name_for_the_only_one(self):
        manifest, _ = localai.convert(b"[{name: a, capabilities: {cpu: b}}, {name: b, uri: 'quay.io/x:cpu'}]")
        self.assertEqual(manifest["name"], "localai-a")

    def test_takes_as_much_as_its_limits(self):
        deepest = b"- {name: z, uri: d, deep: " + b"[" * 14 + b"]" * 14 + b"}\n"
        for index in (with_members(64), with_entries(4096), with_merges(16), with_entries(2) + deepest,
                      b"- &x {name: a, capabilities: {cpu: b}}\n- &x {name: b, uri: c}\n- {<<: *x, name: d}\n"):
            self.assertIn("platforms", localai.convert(index)[0])

    def test_refuses_with_the_place(self):
        unfit = "no entry with capabilities and without uri"
        for problem, index, *name in (
            ("index: empty", b""),
            ("index: not YAML at byte 3", b"- \xff"),
            ("index: not a list", b"name: a\n"),
            ("index: [0]: not a mapping", b"- a\n"),
            ("index: [1]: name: missing", b"- {name: a, uri: b}\n- {uri: c}\n"),
            ("index: [0]: name: missing", b"- {name: ~}\n"),
            ("index: [0]: name: not a text", b"- {name: [a]}\n"),
            ("index: [0] (a): uri: not a text", b"- {name: a, uri: {}}\n"),
            ("index: [0] (a): capabilities: not a mapping", b"- {name: a, capabilities: b}\n"),
            ("index: a: capabilities.cpu: not a text", b"- {name: a, capabilities: {cpu: [b]}}\n"),
            (f"index: {unfit}", b"- {name: a, uri: b}\n"),
            (f"index: vllm: {unfit}", INDEX, "vllm"),
            (f"index: piper: {unfit}", INDEX, "piper"),
            ("index: 2 entries, name one: llama-cpp, llama-cpp-development", INDEX),
            ("index: line 2: the referenced anchor is not defined", b"- a\n- *b\n"),
            ("index: line 2: twice: name", b"- name: a\n  name: b\n"),
            ("index: line 1: a key that is not text", b"- {[a]: b}\n"),
            ("index: line 2: a second document", b"- a\n---\n- b\n"),
            ("index: line 2: ", b"- a\n]\n"),
            ("index: not YAML at byte 3: ", b"- \x07\n"),
            ("index: [0]: <<: not a mapping", b"- {<<: a, name: b}\n"),
            ("index: [0]: merges more than 16 mappings", b"- &a\n  name: b\n  <<: *a\n"),
            ("index: line 1: merges more than 16 mappings", with_merges(17)),
            ("index: [4]: merges more than 16 mappings", merge_bomb(30)),
            ("index: [0]: not a mapping", alias_bomb(30)),
            ("index: line 1: more than 16 levels deep", b"[" * 17 + b"]" * 17),
            ("index: line 1: more than 16 levels deep", b"- " * 10_000),
            ("index: line 65: more than 64 members", with_members(65)),
            ("index: more than 4096 entries", with_entries(4097)),
            ("index: line 262144: more than 262144 nodes", b"- a\n" * 262_144),
            ("index: over 4194304 bytes", b"#" * (MAX_LIST + 1)),
        ):
            with self.subTest(problem):
                self.assert_refused(problem, localai.convert, index, *name)

    def test_cut_anywhere_makes_a_manifest_or_a_reason(self):
        taken = self.assert_sound_when_cut(lambda text: localai.convert(text, "llama-cpp"), INDEX)
        self.assertTrue(0 < taken < len(INDEX), taken)


class ImportedDocuments(ImportCase):
    """Tests the reader that the converters for all three formats use."""

    def test_json_is_read_strictly(self):
        for problem, text in (
            ("over 64 bytes", b" " * 65),
            ("not JSON at byte 1", b""),
            ("not JSON at byte 8", '["€",'.encode()),
            ("not JSON: NaN", b"[NaN]"),
            ("[0]: number out of range", b"[1e999]"),
            ("not JSON at byte 4", b"[1 2]"),
            ("a.b[1].c: a key appears twice", b'{"a":{"b":[1,{"c":1,"c":2}]}}'),
            ("[0]: half a surrogate pair", b'["\\ud800"]'),
        ):
            with self.subTest(problem):
                self.assert_refused(problem, parse_json, text, 64)

    def test_json_nests_64_levels(self):
        parse_json(b"[" * 64 + b"]" * 64, MAX_LIST)
        for depth in (65, 100_000):
            with self.assertRaisesRegex(Refusal, "nested too deeply$"):
                parse_json(b"[" * depth + b"]" * depth, MAX_LIST)

    def test_a_terminal_is_told_nothing_but_text(self):
        self.assertEqual(scrubbed("a\x1b[2J\u202eb\x9b\ud800"), "a\ufffd[2J\ufffdb\ufffd\ufffd")
        self.assertEqual(scrubbed("€€", 5), "€")


class ImportManifest(ImportCase):
    """Tests the command line of the tool as users run it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tool(self, *words, **environment):
        return subprocess.run([TOOL, *map(str, words)], env={"PATH": "/nonexistent", **environment},
                              capture_output=True, text=True, timeout=60, check=False)

    def file(self, name, content):
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def recommended(self, manifest, machine):
        path = self.file("manifest.json", manifest.encode())
        words = [CTL, f"--replay={MACHINES / machine}", "-q", "recommend", f"--manifest={path}"]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout

    def test_makes_a_manifest_that_recommend_takes(self):
        needs = rule(pattern="*-cuda-*", variant="cuda", family="cuda", requires={"device": {"backend": "cuda"}})
        done = self.run_tool("--format=github", "--overlay", self.file("overlay", overlay(rules=[needs])),
                             self.file("release", release(asset("a-cuda-x64"), asset("a-rocm-x64"))), GPUPROBECTL=CTL)
        self.assertEqual((done.returncode, done.stderr),
                         (0, "import-manifest: left out: a-rocm-x64: no rule of the overlay\n"))
        self.assertEqual(self.recommended(done.stdout, "nvidia-h200-1"), "cuda\n")

    def test_makes_one_of_a_backend_of_localai(self):
        done = self.run_tool("--format=localai", "--entry=llama-cpp", DATA / "localai.yaml", GPUPROBECTL=CTL)
        self.assertEqual((done.returncode, done.stdout), (0, golden("localai").decode()))
        self.assertEqual(self.recommended(done.stdout, "nvidia-h200-1"), "nvidia-cuda-13\n")
        self.assertEqual(self.recommended(done.stdout, "software-only"), "default\n")

    def test_prints_one_line_and_no_remarks_when_told(self):
        done = self.run_tool("-jq", "--format=unsloth", "--overlay", DATA / "unsloth.hashes.json",
                             DATA / "unsloth.list.json", GPUPROBECTL=CTL)
        self.assertEqual((done.stdout.count("\n"), done.stderr), (1, ""))
        self.assertEqual(json.loads(done.stdout), json.loads(golden("unsloth")))

    def test_refuses_a_manifest_that_the_product_would_refuse(self):
        zero = release(asset("a", "sha256:" + "0" * 64))
        for given, rules, by_program, by_schema in (
            (zero, overlay(rules=[rule()]),
             "manifest: platforms.linux-x86_64.variants.v.artifact.sha256: a placeholder: all zero",
             "manifest: platforms.linux-x86_64.variants.v.artifact"),
            (release(), overlay(), "manifest: platforms: needs 1 to 64 platforms", "manifest: platforms: "),
            (release(asset("a" * (1 << 20))), overlay(rules=[rule()]),
             "manifest: over 1048576 bytes", "manifest: over 1048576 bytes"),
        ):
            words = ("--format=github", "--overlay", self.file("overlay", rules), self.file("release", given))
            for problem, environment in ((by_program, {"GPUPROBECTL": CTL}), (by_schema, {})):
                with self.subTest(problem):
                    done = self.run_tool(*words, **environment)
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertTrue(done.stderr.startswith(f"import-manifest: {problem}"), done.stderr)

    def test_names_the_file_that_cannot_be_read(self):
        done = self.run_tool("--format=localai", self.folder / "none")
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"import-manifest: {self.folder}/none: No such file or directory\n"))
        done = self.run_tool("--format=localai", self.file("large", b"#" * (MAX_LIST + 1)))
        self.assertEqual(done.stderr, f"import-manifest: {self.folder}/large: over 4194304 bytes\n")

    def test_refuses_words_that_do_not_go_together(self):
        for words in (["f"], ["--format=github", "f"], ["--format=unsloth", "f"], ["--format=odd", "f"], ["--format=localai"],
                      ["--format=localai", "--overlay=o", "f"], ["--format=github", "--overlay=o", "--entry=e", "f"]):
            done = self.run_tool(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)


if __name__ == "__main__":
    unittest.main()
