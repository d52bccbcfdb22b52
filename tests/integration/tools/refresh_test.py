# SPDX-License-Identifier: Apache-2.0
"""Tests how tools/knowledge/refresh updates applications from small indexes, and its reasons for rejecting indexes."""
import contextlib
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
CTL = str(pathlib.Path(os.environ["GPUPROBE_BIN"]) / "gpuprobectl")
TOOL = SOURCE / "tools/knowledge/refresh"
sys.path.insert(0, str(TOOL.parent))
from manifest_import.documents import Refusal  # noqa: E402
from manifest_import.indexes import github_release, glibc_of, newest_wheels, ollama_presets, pypi_project, version_of  # noqa: E402
from manifest_import.refresh import Renewal  # noqa: E402

RELEASES = "https://github.com/o/n/releases/download"
WHEELS = "https://download.pytorch.org/whl"


def application(name, variants, version="1.0", platform="linux-x86_64"):
    return {"schema": "gpuprobe.application/1", "name": name,
            "source": {"url": f"https://github.com/o/n/releases/tag/{version}", "facts": [{"of": "all", "url": "https://example.org"}]},
            "manifest": {"version": version, "issued": "2026-01-01T00:00:00Z", "expires": "2026-07-01T00:00:00Z",
                        "platforms": {platform: {"variants": variants}}}}


def file(name, tag="b1", digest="1"):
    return {"type": "file", "urls": [f"{RELEASES}/{tag}/{name}"], "sha256": digest * 64, "size": 1}


def asset(name, tag="b2", digest="sha256:" + "2" * 64):
    return {"name": name, "size": 2, "digest": digest, "browser_download_url": f"{RELEASES}/{tag}/{name}"}


def links(*names):
    return "".join(f'<a href="/whl/{name.replace("+", "%2B")}#sha256=0">{name}</a>' for name in names)


def wheel(version, architecture="x86_64"):
    return f"torch-{version}-cp312-cp312-manylinux_2_28_{architecture}.whl"


class RefreshCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-refresh-")
        self.addCleanup(folder.cleanup)
        self.lists, self.applications = (pathlib.Path(folder.name) / each for each in ("lists", "applications"))
        self.lists.mkdir()
        self.applications.mkdir()
        self.rules = pathlib.Path(folder.name) / "rules.json"
        self.rules.write_text(json.dumps({"libraries": {}, "rules": [], "by_hand": []}), encoding="utf-8")

    def has(self, document):
        (self.applications / f"{document['name']}.json").write_text(json.dumps(document), encoding="utf-8")

    def listed(self, path, text):
        place = self.lists / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")

    def run_tool(self, *more):
        return subprocess.run([TOOL, self.lists, f"--applications={self.applications}", f"--rules={self.rules}", "--day=2026-11-22", *more], text=True,
                              capture_output=True, env={**os.environ, "GPUPROBECTL": CTL}, timeout=60, check=False)

    def written(self, name):
        """Runs tools/knowledge/refresh with --write. Returns the data file that the tool writes, the messages of the tool, and the difference that it
        prints."""
        done = self.run_tool("--write")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.applications / f"{name}.json").read_text(encoding="utf-8")
        return json.loads(text), done.stderr.splitlines(), done.stdout

    def variants(self, document, platform="linux-x86_64"):
        return document["manifest"]["platforms"][platform]["variants"]


class KnownVersions(RefreshCase):
    """Tests how tools/knowledge/refresh finds newer versions, which a data file does not describe yet."""

    def setUp(self):
        super().setUp()
        self.rules.write_text(json.dumps({"rules": [], "by_hand": [], "releases": {"app": "pypi/app.json"}}), encoding="utf-8")
        self.has(application("app", {"cpu": {"family": "cpu"}}, version="1.0"))
        self.path = self.applications / "app.json"

    def test_a_check_prints_them_and_writes_them_only_if_asked(self):
        self.listed("pypi/app.json", {"info": {"version": "1.1"}})
        before = self.path.read_text(encoding="utf-8")
        done = self.run_tool("--check")
        self.assertIn("Versions on 2026-11-22: 1 looked up, ", done.stdout)
        self.assertRegex(done.stdout, r"app +1\.0 +newer: 1\.1 +checked: 2026-11-22\n")
        self.assertEqual(self.path.read_text(encoding="utf-8"), before)
        self.assertEqual(self.run_tool("--check", "--write").returncode, 0)
        document = json.loads(self.path.read_text(encoding="utf-8"))
        self.assertEqual((document["source"]["checked"], document["source"]["newer"]), ("2026-11-22", "1.1"))
        self.assertEqual(document["manifest"]["issued"], "2026-01-01T00:00:00Z")

    def test_a_document_without_an_index_was_never_looked_up(self):
        self.assertRegex(self.run_tool("--check").stdout, r"app +1\.0 +newer: - +checked: -\n")


class ByRelease(RefreshCase):
    def setUp(self):
        super().setUp()
        beside = {**file("app-b1-ubuntu-cuda.tar.gz"), "companion_files": [{"urls": [f"{RELEASES}/b1/rt-b1.tar.gz"], "sha256": "1" * 64, "size": 1}]}
        self.has(application("app", {
            "cuda": {"family": "cuda", "tier": 400, "requires": {"device": {"backend": "cuda"}}, "artifact": beside},
            "old": {"family": "rocm", "artifact": file("app-b0-ubuntu-rocm.tar.gz", tag="b0")},
            "gone": {"family": "vulkan", "artifact": file("app-b1-ubuntu-vulkan.tar.gz")}}, version="b1"))
        self.release = [asset("app-b2-ubuntu-cuda.tar.gz"), asset("rt-b2.tar.gz"), asset("app-b2-ubuntu-new.tar.gz"), asset("app-b2-win.zip")]

    def test_takes_the_files_of_a_newer_release(self):
        self.listed("github/o+n.json", {"tag_name": "b2", "assets": self.release})
        document, remarks, difference = self.written("app")
        artifact = self.variants(document)["cuda"]["artifact"]
        self.assertEqual((artifact["urls"], artifact["sha256"], artifact["size"]), ([f"{RELEASES}/b2/app-b2-ubuntu-cuda.tar.gz"], "2" * 64, 2))
        self.assertEqual(artifact["companion_files"], [{"urls": [f"{RELEASES}/b2/rt-b2.tar.gz"], "sha256": "2" * 64, "size": 2}])
        self.assertEqual((document["manifest"]["version"], document["source"]["url"]), ("b2", "https://github.com/o/n/releases/tag/b2"))
        self.assertEqual((document["manifest"]["issued"], document["manifest"]["expires"]), ("2026-11-22T00:00:00Z", "2027-05-22T00:00:00Z"))
        self.assertIn('+    "version": "b2"', difference)
        self.assertEqual(remarks, ["refresh: app: linux-x86_64/gone is left out: app-b2-ubuntu-vulkan.tar.gz is not in release b2, "
                                   "or has no digest in the release",
                                   "refresh: app: app-b2-ubuntu-new.tar.gz is new and was not added, because its requirements are unknown"])

    def test_leaves_what_it_needs_and_other_releases_as_they_are(self):
        self.listed("github/o+n.json", {"tag_name": "b2", "assets": self.release})
        variants = self.variants(self.written("app")[0])
        self.assertEqual(sorted(variants), ["cuda", "old"])
        self.assertEqual(variants["cuda"]["requires"], {"device": {"backend": "cuda"}})
        self.assertEqual(variants["old"]["artifact"], file("app-b0-ubuntu-rocm.tar.gz", tag="b0"))

    def test_a_file_without_a_digest_is_none(self):
        self.listed("github/o+n.json", {"tag_name": "b2", "assets": [{**each, "digest": None} for each in self.release]})
        self.assertEqual(sorted(self.variants(self.written("app")[0])), ["old"])

    def test_shows_and_does_not_write_unless_told(self):
        self.listed("github/o+n.json", {"tag_name": "b2", "assets": self.release})
        before = (self.applications / "app.json").read_text(encoding="utf-8")
        self.assertIn("b/app.json", self.run_tool().stdout)
        self.assertEqual((self.applications / "app.json").read_text(encoding="utf-8"), before)

    def test_what_is_for_the_rules_is_no_index(self):
        for name in ("github/o+n@b2.json", "npm/app.json", "pages/example.org/page"):
            self.listed(name, {"tag_name": "b2", "assets": self.release})
        done = self.run_tool()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_another_projects_release_changes_nothing(self):
        self.listed("github/o+other.json", {"tag_name": "b2", "assets": self.release})
        done = self.run_tool()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class ByWheels(RefreshCase):
    def setUp(self):
        super().setUp()
        index = lambda name: {"family": "cuda", "artifact": {"type": "index", "urls": [f"{WHEELS}/{name}"]}}
        document = application("torch", {name: index(name) for name in ("cu9", "cu8", "cu7")}, version="2.14")
        document["manifest"]["platforms"]["linux-aarch64"] = {"variants": {name: index(name) for name in ("cu9", "cu8")}}
        self.variants(document)["cu9"]["version"] = "2.13"
        self.has(document)
        self.listed("pytorch/cu9.html", links(wheel("2.15.0+cu9"), wheel("2.9.1+cu9"), wheel("2.16.0.dev1+cu9"), wheel("2.15.0+cu9", "aarch64")))
        self.listed("pytorch/cu8.json", {"files": [{"filename": wheel("2.11.0+cu8")}, {"filename": "torch-2.15.0-cp312-cp312-win_amd64.whl"}]})
        self.listed("pytorch/cu10.html", links(wheel("2.15.0+cu10")))

    def test_a_variant_has_the_version_with_which_its_index_ends(self):
        document, remarks, _ = self.written("torch")
        self.assertEqual(document["manifest"]["version"], "2.15")
        versions = {name: variant.get("version") for name, variant in self.variants(document).items()}
        self.assertEqual(versions, {"cu9": None, "cu8": "2.11", "cu7": None})
        self.assertEqual(sorted(self.variants(document, "linux-aarch64")), ["cu9"])
        self.assertEqual(remarks, ["refresh: torch: linux-aarch64/cu8 is left out: cu8 has no wheel for this platform",
                                   "refresh: torch: index cu10 is new and was not added, because the kernels in its wheels are unknown"])

    def test_reads_html_and_json(self):
        for text in (links(wheel("2.10.0+a"), wheel("2.9.0")), json.dumps({"files": [{"filename": wheel("2.10.0")}]})):
            self.assertEqual(newest_wheels(text.encode()), {"x86_64": (2, 10, 0)})
        for text in (b"", b"<html>no link</html>", b'{"files": 3}', b"\xff"):
            with self.assertRaises(Refusal):
                newest_wheels(text)

    def test_a_development_version_is_no_release(self):
        self.assertEqual([version_of(text) for text in ("2.14.0", "2.15.0.dev20260901", "", "1.2.3.4.5")], [(2, 14, 0), None, None, None])


class ByProject(RefreshCase):
    def project(self, *files, version="1.5.0"):
        return {"info": {"name": "App_Name", "version": version}, "urls": [{"filename": each} for each in files]}

    def setUp(self):
        super().setUp()
        package = lambda ref, **more: {"family": "cuda", "requires": {"host": {"glibc_min": "2.17"}}, "artifact": {"type": "package", "ref": ref}, **more}
        document = application("app", {"gpu": package("app-name[gpu]"), "other": package("something")}, version="1.4")
        document["manifest"]["platforms"]["linux-aarch64"] = {"variants": {"gpu": package("app-name"), "cpu": package("something")}}
        self.has(document)

    def test_takes_version_and_glibc_from_the_wheels(self):
        self.listed("pypi/app-name.json", self.project("app_name-1.5.0-cp312-cp312-manylinux_2_28_x86_64.whl"))
        document, remarks, _ = self.written("app")
        self.assertEqual(document["manifest"]["version"], "1.5")
        self.assertEqual(self.variants(document)["gpu"]["requires"]["host"], {"glibc_min": "2.28"})
        self.assertEqual(self.variants(document)["other"]["requires"]["host"], {"glibc_min": "2.17"})
        self.assertEqual(sorted(self.variants(document, "linux-aarch64")), ["cpu"])
        self.assertEqual(remarks, ["refresh: app: linux-x86_64/gpu: glibc 2.28 instead of 2.17",
                                   "refresh: app: linux-aarch64/gpu is left out: App_Name 1.5.0 has no wheel for this platform"])

    def test_what_can_be_built_is_there_for_all(self):
        self.listed("pypi/app-name.json", self.project("app_name-1.5.0.tar.gz"))
        self.assertEqual(sorted(self.variants(self.written("app")[0], "linux-aarch64")), ["cpu", "gpu"])

    def test_a_yanked_file_counts_for_nothing(self):
        document = self.project("app_name-1.5.0-cp312-cp312-manylinux_2_28_x86_64.whl")
        document["urls"][0]["yanked"] = True
        self.assertEqual(pypi_project(json.dumps(document).encode()).glibc, {})

    def test_an_index_cut_anywhere_is_read_or_refused(self):
        release = json.dumps({"tag_name": "b2", "assets": [asset("a")]}).encode()
        project = json.dumps(self.project("a-1.tar.gz")).encode()
        for reader, text in ((github_release, release), (pypi_project, project), (newest_wheels, links(wheel("2.10.0")).encode())):
            for length in range(len(text)):
                with contextlib.suppress(Refusal):
                    reader(text[:length])
            reader(text)

    def test_tags_of_wheels(self):
        for tag, glibc in (("manylinux_2_28_x86_64", {"x86_64": (2, 28)}), ("manylinux2014_aarch64", {"aarch64": (2, 17)}),
                           ("manylinux_2_27_x86_64.manylinux_2_28_x86_64", {"x86_64": (2, 27)}),
                           ("win_amd64", {}), ("musllinux_1_2_x86_64", {}), ("manylinux_2_28_x86_640", {}), ("", {})):
            self.assertEqual(glibc_of(tag), glibc, tag)


class ByGallery(RefreshCase):
    GALLERY = """
- &llama
  name: "llama-cpp"
  capabilities: { default: "cpu", nvidia-cuda-12: "cuda12", amd: "rocm" }
- { name: "cpu", uri: "quay.io/x:new-cpu-llama-cpp" }
- { name: "cuda12", uri: "quay.io/x:new-gpu-nvidia-cuda-12-llama-cpp" }
- { name: "rocm", uri: "quay.io/x:new-gpu-rocm-llama-cpp" }
"""

    def test_takes_the_images_of_the_gallery(self):
        image = lambda ref: {"family": "f", "artifact": {"type": "oci", "ref": ref}}
        self.has(application("localai", {"default": image("quay.io/x:old-cpu"), "nvidia-cuda-12": image("quay.io/x:old"), "vulkan": image("quay.io/x:v")}))
        self.listed("localai/index.yaml", self.GALLERY)
        document, remarks, _ = self.written("localai")
        self.assertEqual({name: variant["artifact"]["ref"] for name, variant in self.variants(document).items()},
                         {"default": "quay.io/x:new-cpu-llama-cpp", "nvidia-cuda-12": "quay.io/x:new-gpu-nvidia-cuda-12-llama-cpp"})
        self.assertEqual(remarks, ["refresh: localai: linux-x86_64/vulkan is left out: the gallery has no image for this capability",
                                   "refresh: localai: capability amd is new, or has the image of another capability; it was not added"])


class ByPresets(RefreshCase):
    def presets(self, **changed):
        base = lambda folder: {"hidden": True, "cacheVariables": {"OLLAMA_RUNNER_DIR": folder}}
        cuda = lambda parent, words: {"inherits": [parent], "cacheVariables": {"CMAKE_CUDA_ARCHITECTURES": words}}
        rows = {"cuda_base": base("cuda_v13"), "cuda_linux": cuda("cuda_base", "75-virtual;80;90a;120-real"),
                "cuda_windows": cuda("cuda_base", "75"), "cuda_user_arch": {"inherits": "cuda_base"},
                "old_base": base("cuda_v12"), "old": cuda("old_base", "50-virtual;70"),
                "rocm_base": base("rocm_v7"), "rocm_linux": {"inherits": ["rocm_base"], "cacheVariables": {
                    "AMDGPU_TARGETS": "gfx90a:xnack+;gfx90a:xnack-;gfx1100"}},
                "vulkan": {"cacheVariables": {"OLLAMA_RUNNER_DIR": "vulkan", "GGML_VULKAN": "ON"}},
                "cpu": {"cacheVariables": {"OLLAMA_RUNNER_DIR": ""}}, **changed}
        return {"version": 3, "configurePresets": [{"name": name, **row} for name, row in rows.items() if row]}

    def setUp(self):
        super().setUp()
        build = lambda family, folder, device: {"family": family, "requires": {"device": device},
                                                "artifact": {"type": "dir", "ref": f"lib/ollama/{folder}", "x-archive": "o-amd64.tar.zst"}}
        several = [{"backend": "cuda", "driver_min": "550", "cuda": {"toolkit": "12.8", "sass": ["7.0"]}},
                   {"backend": "cuda", "driver_min": "570", "cuda": {"toolkit": "12.8", "ptx": ["5.0"]}}]
        self.document = application("ollama", {
            "cuda_v13": build("cuda", "cuda_v13", {"backend": "cuda", "cuda": {"toolkit": "13.0", "sass": ["8.0", "12.0"], "ptx": ["7.5"]}}),
            "cuda_v12": build("cuda", "cuda_v12", several),
            "rocm": build("rocm", "rocm_v7", {"backend": "hip", "gfx": ["gfx90a", "gfx1100"]}),
            "vulkan": build("vulkan", "vulkan", {"backend": "vulkan"}),
            "cpu": {"family": "cpu", "artifact": {"type": "dir", "ref": "lib/ollama/cpu", "x-archive": "o-amd64.tar.zst"}}})
        self.document["source"]["url"] = "https://github.com/o/n/releases/tag/v1.0"
        self.has(self.document)

    def renewed(self, **changed):
        self.listed("ollama/CMakePresets.json", self.presets(**changed))
        document, remarks, _ = self.written("ollama")
        return self.variants(document), remarks

    def test_those_of_the_document_change_nothing(self):
        variants, remarks = self.renewed()
        self.assertEqual((variants, remarks), (self.variants(self.document), []))

    def test_takes_the_code_of_a_folder(self):
        variants, remarks = self.renewed(
            cuda_linux={"inherits": ["cuda_base"], "cacheVariables": {"CMAKE_CUDA_ARCHITECTURES": "80-virtual;103-virtual"}},
            rocm_linux={"inherits": ["rocm_base"], "cacheVariables": {"AMDGPU_TARGETS": "gfx942"}})
        self.assertEqual(variants["cuda_v13"]["requires"]["device"], {"backend": "cuda", "cuda": {"toolkit": "13.0", "ptx": ["8.0", "10.3"]}})
        self.assertEqual(variants["rocm"]["requires"]["device"], {"backend": "hip", "gfx": ["gfx942"]})
        self.assertEqual(remarks, ["refresh: ollama: linux-x86_64/cuda_v13: ptx 8.0 10.3 now", "refresh: ollama: linux-x86_64/rocm: gfx gfx942 now"])

    def test_leaves_gpus_of_different_drivers_to_a_person(self):
        variants, remarks = self.renewed(old={"inherits": "old_base", "cacheVariables": {"CMAKE_CUDA_ARCHITECTURES": "50-virtual;70;75"}})
        self.assertEqual(variants["cuda_v12"], self.variants(self.document)["cuda_v12"])
        self.assertEqual(remarks, ["refresh: ollama: linux-x86_64/cuda_v12: the preset has sass 7.0 7.5, ptx 5.0; not updated, because "
                                   "the GPUs in the data file need different drivers"])

    def test_names_folders_that_are_gone_or_new(self):
        variants, remarks = self.renewed(vulkan=None, new={"cacheVariables": {"OLLAMA_RUNNER_DIR": "sycl"}})
        self.assertEqual(sorted(variants), ["cpu", "cuda_v12", "cuda_v13", "rocm"])
        self.assertEqual(remarks, ["refresh: ollama: linux-x86_64/vulkan is left out: no preset for Linux builds vulkan",
                                   "refresh: ollama: folder sycl is new and was not added, because its requirements, "
                                   "except its kernels, are unknown"])

    def test_the_first_that_is_inherited_wins(self):
        rows = self.presets(one={"cacheVariables": {"OLLAMA_RUNNER_DIR": "a", "AMDGPU_TARGETS": "gfx1"}},
                            two={"cacheVariables": {"OLLAMA_RUNNER_DIR": "b", "AMDGPU_TARGETS": "gfx2"}},
                            both={"inherits": ["two", "one"], "cacheVariables": {"OLLAMA_RUNNER_DIR": "c"}})
        self.assertEqual(ollama_presets(json.dumps(rows).encode())["c"].gfx, ["gfx2"])

    def test_presets_that_are_none(self):
        circle = {"configurePresets": [{"name": "a", "inherits": "b"}, {"name": "b", "inherits": "a"}]}
        for rows, problem in ((circle, "no preset for Linux"), ({"configurePresets": []}, "no preset for Linux"),
                              ({"configurePresets": [{"name": "a", "inherits": "gone"}]}, "gone is not there"),
                              ({"configurePresets": [{"name": "a", "inherits": [3]}]}, "expected a name"),
                              ({"configurePresets": [{"name": "a", "cacheVariables": []}]}, "expected object"),
                              ({"configurePresets": [{"name": str(number)} for number in range(300)]}, "over 256 presets"),
                              ({"configurePresets": [{}]}, "name: missing"), ([], "expected object")):
            with self.subTest(problem), self.assertRaisesRegex(Refusal, problem):
                ollama_presets(json.dumps(rows).encode())

    def test_the_release_has_the_archives(self):
        self.listed("github/o+n.json", {"tag_name": "v1.1", "assets": [asset("o-amd64.tar.zst")]})
        document, remarks, _ = self.written("ollama")
        self.assertEqual((document["manifest"]["version"], document["source"]["url"]), ("1.1", "https://github.com/o/n/releases/tag/v1.1"))
        self.assertEqual(remarks, [])
        rocm = self.variants(self.document)["rocm"]["artifact"]
        rocm["x-archive"] = "o-amd64-rocm.tar.zst"
        self.has(self.document)
        document, remarks, _ = self.written("ollama")
        self.assertEqual(sorted(self.variants(document)), ["cpu", "cuda_v12", "cuda_v13", "vulkan"])
        self.assertEqual(remarks, ["refresh: ollama: linux-x86_64/rocm is left out: o-amd64-rocm.tar.zst is not in release v1.1, or has no "
                                   "digest in the release"])


class Refusals(RefreshCase):
    def assert_refused(self, problem):
        done = self.run_tool("--write")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(problem, done.stderr)

    def test_an_index_that_is_none_stops_all(self):
        self.has(application("app", {"v": {"artifact": file("app-b1.tar.gz")}}, version="b1"))
        for path, text, problem in (("github/o+n.json", "<html>", "o+n.json: not JSON"), ("github/o+n.json", {"assets": []}, "tag_name: missing"),
                                    ("pytorch/cu1.html", "no links", "cu1.html: neither HTML"), ("pypi/a.json", {"info": {}}, "info.name: missing"),
                                    ("pypi/a.json", "[]", "expected object"), ("ollama/CMakePresets.json", "{}", "no preset for Linux")):
            with self.subTest(path=path, problem=problem):
                self.listed(path, text)
                self.assert_refused(problem)
                (self.lists / path).unlink()

    def test_what_is_left_of_a_product_must_be_one(self):
        document = application("app", {"v": {"artifact": file("app-b1.tar.gz")}}, version="b1")
        document["manifest"]["platforms"]["linux-x86_64"]["default"] = "v"
        self.has(document)
        self.listed("github/o+n.json", {"tag_name": "b2", "assets": []})
        self.assert_refused("app: ")

    def test_a_folder_that_is_not_there(self):
        self.lists.rmdir()
        self.assert_refused("no folder")

    def test_other_files_are_named(self):
        self.listed("pytorch/readme.txt", "text")
        self.assertIn("not an index: ", self.run_tool().stderr)


class ByRules(RefreshCase):
    FACT = {"of": "the kernels", "repo": "o/n", "commit": "0123456", "path": "build.sh"}

    def setUp(self):
        super().setUp()
        document = application("app", {"gpu": {"family": "rocm", "requires": {"device": {"backend": "hip", "gfx": ["gfx900", "gfx908"]}},
                                              "artifact": {"type": "index", "urls": ["https://example.org"]}}})
        document["source"]["facts"] = [self.FACT]
        self.has(document)
        rule = {"applications": ["app"], "fact": "the kernels", "read": {"shell": {"variable": "T", "known": {}}}, "as": "gfx",
                "is": ["manifest/platforms/*/variants/gpu/requires/device/gfx"]}
        # This library has no kernels for gfx900, but the build has.
        parts = [{"applications": ["app"], "is": rule["is"], "of": ["rocBLAS 7.2"]}]
        self.rules.write_text(json.dumps({"parts": parts, "rules": [rule], "by_hand": []}), encoding="utf-8")

    @staticmethod
    def facts_in(done):
        """Returns the lines of the table of facts, which follows the table of versions."""
        lines = done.stdout.splitlines()
        return lines[[line.startswith("Facts on ") for line in lines].index(True):]

    def upstream(self, text):
        path = self.lists / "files/o+n/build.sh"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_takes_the_kernels_that_the_build_and_its_library_have(self):
        self.upstream('T="gfx900;gfx908;gfx90a:xnack+"\n')
        document, remarks, difference = self.written("app")
        self.assertEqual(self.variants(document)["gpu"]["requires"]["device"]["gfx"], ["gfx908", "gfx90a"])
        self.assertEqual(remarks, ["refresh: app: the kernels: changed: ['gfx900', 'gfx908'] → ['gfx908', 'gfx90a']"])
        self.assertEqual(document["manifest"]["issued"], "2026-11-22T00:00:00Z")
        self.assertIn("gfx90a", difference)

    def test_what_a_rule_cannot_read_is_an_error(self):
        self.upstream("T=$(cat list)\n")
        done = self.run_tool()
        self.assertEqual(done.returncode, 1)
        self.assertIn("the kernels: unreadable: a line that cannot be read: T=$(cat list)", done.stderr)

    def test_check_prints_a_table_and_changes_nothing(self):
        before = (self.applications / "app.json").read_text(encoding="utf-8")
        self.upstream("T=gfx908")
        done = self.run_tool("--check", "--write")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(self.facts_in(done), ["Facts on 2026-11-22: 2 changed",
                                               "changed    app                  the kernels: ['gfx900', 'gfx908'] → ['gfx908']",
                                               "changed    app                  kernels of rocBLAS 7.2: rocBLAS 7.2 has none for gfx900"])
        self.assertEqual((self.applications / "app.json").read_text(encoding="utf-8"), before)

    def test_a_folder_without_the_file_changes_nothing(self):
        self.assertEqual(self.facts_in(self.run_tool("--check"))[0], "Facts on 2026-11-22: 1 no file, 1 changed")
        self.assertEqual(self.run_tool().stdout, "")


class Dates(unittest.TestCase):
    def test_half_a_year(self):
        renewal = Renewal({"name": "x", "manifest": {}})
        for day, end in (("2026-11-22", "2027-05-22"), ("2026-08-31", "2027-02-28"), ("2027-01-01", "2027-07-01"), ("2024-08-30", "2025-02-28")):
            renewal.date(datetime.date.fromisoformat(day))
            self.assertEqual((renewal.now["issued"], renewal.now["expires"]), (f"{day}T00:00:00Z", f"{end}T00:00:00Z"))


if __name__ == "__main__":
    unittest.main()
