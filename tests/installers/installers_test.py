# SPDX-License-Identifier: Apache-2.0
"""Runs real installers with the arguments that `export` prints, using package indexes on the loopback interface.

Each variant is exported from a manifest that contains only this variant, without its requirements. pip then resolves the
packages for the variant's platform, for Python 3.12, and for the oldest glibc that the variant supports.
"""
import collections
import concurrent.futures
import fnmatch
import functools
import hashlib
import io
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

import index

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
APPLICATIONS = SOURCE / "data/knowledge/applications"
MACHINES = SOURCE / "tests/data/machines"
PYTHON = "/usr/bin/python3"
MACHINE = {"x86_64": MACHINES / "nvidia-h200-1", "aarch64": MACHINES / "soc-gb10"}
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "GPUPROBE_SOCKET": "/nonexistent/socket",
               "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
ARCHIVES = (".tar.gz", ".tar.xz", ".tar.zst", ".tgz", ".zip")

# No program has this option, so that a command with the output of a failed export fails too.
NO_ANSWER = "--gpuprobe-has-no-answer\n"

Build = collections.namedtuple("Build", "application platform arch name variant artifact")


def ask(machine, *words):
    return subprocess.run([BIN / "gpuprobectl", f"--replay={machine}", *words], env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=120, check=False)


@functools.cache
def builds():
    """Returns all variants in the applications' data files."""
    found = []
    for path in sorted(APPLICATIONS.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for platform, entry in document.get("manifest", {}).get("platforms", {}).items():
            arch = {"amd64": "x86_64", "arm64": "aarch64"}.get(word := platform.split("-")[1], word)
            for name, variant in entry["variants"].items():
                found.append(Build(document["name"], platform, arch, name, variant, variant["artifact"]))
    return found


def is_wheel_file(artifact):
    return artifact["type"] == "file" and artifact["urls"][0].endswith(".whl")


def is_python(artifact):
    return artifact["type"] in ("index", "wheel") or is_wheel_file(artifact)


def arguments_of(artifact):
    """Returns the expected pip arguments for the artifact. This function is written independently of the code under test."""
    if is_wheel_file(artifact):
        return [f"{artifact['urls'][0]}#sha256={artifact['sha256']}"]
    if not is_python(artifact):
        return None
    urls = artifact.get("urls", []) if artifact["type"] == "index" else []
    options = [["--extra-index-url", url] for url in urls[:-1]] + [["--index-url", url] for url in urls[-1:]]
    return artifact.get("ref", "").split() + list(itertools.chain(*options))


def fits_uv(application, artifact):
    """Returns whether environment variables are enough to configure uv: variables can contain indexes, but no names or extras of packages."""
    words = artifact.get("ref", "").split()
    is_index = artifact["type"] == "index"
    if any("[" in word for word in words) or is_wheel_file(artifact):
        return False
    if is_index and len(words) != 1:
        return True
    name = re.split("[=<>~!;@]", words[0])[0]
    return index.project(name) == index.project(application) and (is_index or words == [name])


def command_in(text):
    """Returns the words of the command that an error message recommends."""
    return shlex.split(text.partition("; run: ")[2])


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.indexes = index.Indexes()
        cls.addClassCleanup(cls.indexes.close)

    def asked(self, build, form):
        """Returns the result of `export` for the variant."""
        manifest = {"name": build.application, "platforms": {f"linux-{build.arch}": {
            "default": build.name, "variants": {build.name: {"tier": 1, "artifact": build.artifact}}}}}
        path = self.folder / f"{hash((build.application, build.arch, build.name))}.json"
        path.write_text(json.dumps(manifest), encoding="utf-8")
        # The manifest of the test contains no requirements, so gpuprobe assumes that the variant uses no GPU.
        return ask(MACHINE[build.arch], "export", form, f"--manifest={path}", "--allow-cpu")

    def exported(self, build, form="pip"):
        """Returns the output of `export` for the variant, split into words as a shell splits "$(…)"."""
        done = self.asked(build, form)
        self.assertEqual(done.returncode, 0, (build[:4], done.stderr))
        return done.stdout.split()


def listed(promise, arch):
    pattern = promise.replace("{arch}", arch).replace("…", "*")
    return pattern if pattern.endswith(".whl") else pattern + "*.whl"


def promised(build):
    """Returns the patterns of the files that pip must choose for the variant; None if listings.json does not contain the variant."""
    for name, files in index.LISTINGS["promised"].get(build.application, {}).items():
        gfx = re.sub(r"^device-", "", build.name)
        if name.replace("{gfx}", gfx) == build.name:
            return [listed(file.replace("{gfx}", gfx), build.arch) for file in files]
    return None


class Pip(Case):
    """Tests that pip can resolve the output of `export pip`, and chooses the expected files."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest("pip is not installed for /usr/bin/python3")

    def resolve(self, arguments, arch, glibc):
        """Returns the names of the files that pip would install, and pip's messages."""
        tags = [f"manylinux_2_{minor}_{arch}" for minor in range(glibc, 4, -1)]
        tags += [f"manylinux2014_{arch}", f"linux_{arch}"] + (["manylinux1_x86_64"] if arch == "x86_64" else [])
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            report = pathlib.Path(folder) / "report.json"
            done = subprocess.run(
                [PYTHON, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-cache-dir", "--only-binary=:all:",
                 "--retries=0", f"--report={report}", f"--target={folder}/packages", "--implementation=cp", "--python-version=3.12",
                 *(f"--platform={tag}" for tag in tags), *map(self.indexes.local, arguments)],
                env={**ENVIRONMENT, "HOME": folder, "PIP_INDEX_URL": self.indexes.local("https://pypi.org/simple")},
                capture_output=True, text=True, timeout=300, check=False)
            if done.returncode != 0:
                return None, done.stderr
            installed = json.loads(report.read_text(encoding="utf-8"))["install"]
        urls = [item["download_info"]["url"] for item in installed]
        return [url.rpartition("/")[2].partition("#")[0].replace("%2B", "+") for url in urls], done.stderr

    def chosen(self, build):
        arguments = self.exported(build)
        if is_wheel_file(build.artifact):  # the server has a dummy wheel, whose hash is different
            name = arguments[0].rpartition("/")[2].partition("#")[0]
            arguments = [re.sub(r"sha256=.*", "sha256=" + index.hash_of(index.wheel(name)), arguments[0])]
        minor = int(build.variant.get("requires", {}).get("host", {}).get("glibc_min", "2.17").split(".")[1])
        return self.resolve(arguments, build.arch, minor)

    def test_the_promised_files_are_chosen(self):
        python = [build for build in builds() if is_python(build.artifact) and promised(build)]
        self.assertGreater(len(python), 70)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = list(pool.map(self.chosen, python))
        right = collections.Counter()
        for build, (files, messages) in zip(python, answers):
            with self.subTest(build=build[:4]):
                self.assertIsNotNone(files, messages)
                self.assertNotIn("does not provide the extra", messages)
                wanted = promised(build)
                for pattern in wanted:
                    self.assertTrue(fnmatch.filter(files, pattern), (pattern, files))
                self.assertEqual(len(files), len(wanted), files)
                right[build.application] += 1
        total = collections.Counter(build.application for build in python)
        for application, count in total.items():
            print(f"pip {application}: {right[application]} of {count} as promised")

    def test_every_python_variant_is_listed(self):
        for build in builds():
            if is_python(build.artifact) and not promised(build):
                self.assertIn(build.application, index.LISTINGS["unlisted"], build[:4])

    def test_every_index_is_served(self):
        urls = {url for build in builds() if build.artifact["type"] == "index" for url in build.artifact["urls"]}
        self.assertEqual(sorted(urls - set(index.LISTINGS["indexes"])), [])

    def test_a_wheel_with_another_hash_is_refused(self):
        for build in builds():
            if is_wheel_file(build.artifact):
                files, messages = self.resolve(self.exported(build), build.arch, 28)
                self.assertIsNone(files)
                self.assertIn("DO NOT MATCH THE HASHES", messages)

    def test_without_the_arguments_pip_takes_other_files(self):
        # Shows why the exported arguments are needed: without them, pip chooses the builds from PyPI.
        pypi = ["--index-url", "https://pypi.org/simple"]
        for name, files in {"torch": ["torch-2.14.0-*"], "vllm": ["vllm-0.31.0-*", "torch-2.13.0-*"],
                            "jax": ["jax-0.11.1-*", "jaxlib-0.11.1-*"]}.items():
            chosen, messages = self.resolve([name, *pypi], "x86_64", 28)
            self.assertIsNotNone(chosen, messages)
            self.assertEqual([bool(fnmatch.filter(chosen, file)) for file in files], [True] * len(files), chosen)

    def test_nothing_makes_pip_fail(self):
        files, messages = self.resolve([], "x86_64", 28)
        self.assertIsNone(files)
        self.assertIn("at least one requirement", messages)


class Uv(Case):
    """Tests that uv can resolve the output of `export uv`."""

    def test_an_answer_that_variables_cannot_contain_is_a_command(self):
        """Tests that `export uv` fails for a package with an extra or with another name, and prints a command that names the package."""
        counts = collections.Counter()
        for build in (build for build in builds() if is_python(build.artifact)):
            with self.subTest(build=build[:4]):
                done = self.asked(build, "uv")
                fits = fits_uv(build.application, build.artifact)
                counts[fits] += 1
                if fits:
                    self.assertEqual(done.returncode, 0, done.stderr)
                    continue
                self.assertEqual((done.returncode, done.stdout), (3, NO_ANSWER))
                wanted = arguments_of(build.artifact)
                words = build.artifact.get("ref", "").split() or wanted
                self.assertEqual(command_in(done.stderr)[:3 + len(words)], ["uv", "pip", "install", *words])
        self.assertGreater(counts[False], 20)
        self.assertGreater(counts[True], 50)

    def options(self, build):
        """Returns the variables and the options with which uv installs the variant."""
        if fits_uv(build.application, build.artifact):
            return dict(line.split("=", 1) for line in self.exported(build, "uv")), []
        words = command_in(self.asked(build, "uv").stderr)
        return {}, [self.indexes.local(word) for word in words if word.startswith("--")]

    def test_the_promised_files_are_chosen(self):
        uv = shutil.which("uv")
        if not uv:
            self.skipTest("uv is not installed: neither Debian nor npm has it")
        for build in builds():
            if build.application not in ("torch", "xformers", "paddle") or not promised(build):
                continue
            variables, options = self.options(build)
            variables["UV_INDEX"] = " ".join(map(self.indexes.local, variables.get("UV_INDEX", "").strip("'").split()))
            done = subprocess.run(
                [uv, "pip", "compile", "-", "--python-version=3.12", f"--python-platform={build.arch}-manylinux_2_28", "--no-cache", *options,
                 f"--default-index={self.indexes.local('https://pypi.org/simple')}"],
                input="\n".join(build.artifact["ref"].split()), text=True, capture_output=True, check=False,
                env={**ENVIRONMENT, **variables,
                     "UV_TORCH_BACKEND_INDEX": self.indexes.local("https://download.pytorch.org/whl").rstrip("/")})
            with self.subTest(build=build[:4]):
                self.assertEqual(done.returncode, 0, done.stderr)
                for pattern in promised(build):
                    name, version = pattern.split("-")[:2]
                    self.assertIn(f"{index.project(name)}=={version}", done.stdout)


class Machines(unittest.TestCase):
    """Tests on every recorded machine that `export` prints the arguments for the variant that `recommend` chooses."""

    @staticmethod
    def names():
        done = subprocess.run(["git", "-C", SOURCE, "ls-files", "tests/data/machines/*/capture.json"], capture_output=True,
                              text=True, check=False)
        found = sorted(path.split("/")[3] for path in done.stdout.split())
        return found or sorted(path.name for path in MACHINES.iterdir() if (path / "capture.json").exists())

    def setUp(self):
        self.applications = sorted({build.application for build in builds() if is_python(build.artifact)})
        self.cells = list(itertools.product(self.names(), self.applications))
        self.assertGreater(len(self.cells), 100 * 14)

    def each(self, check):
        counts = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for cell, outcome in zip(self.cells, pool.map(lambda cell: check(*cell), self.cells)):
                with self.subTest(machine=cell[0], application=cell[1]):
                    self.assertIn(outcome, ("agree", "not for pip", "none"))
                counts[outcome] += 1
        print(dict(counts))
        return counts

    @staticmethod
    def check(machine, application):
        """Compares `export` with `recommend`, and returns a word for the result or a description of the difference."""
        answer = json.loads(ask(MACHINES / machine, "-j", "recommend", application).stdout)
        pip = ask(MACHINES / machine, "export", "pip", application)
        if answer["variant"] is None:
            return "none" if (pip.returncode, pip.stdout) == (3, NO_ANSWER) and pip.stderr else f"nothing fits, but {pip}"
        wanted = arguments_of(answer["artifact"])
        option = []
        if not answer["gpus"] and any(warning["code"] == "gpu-unused" for warning in answer["warnings"]):
            if (pip.returncode, pip.stdout) != (3, NO_ANSWER):
                return f"a GPU stays unused, but {pip}"
            option = ["--allow-cpu"]
            pip = ask(MACHINES / machine, "export", "pip", application, *option)
        if wanted is None:
            uv = ask(MACHINES / machine, "export", "uv", application, *option)
            refused = [(each.returncode, each.stdout) == (3, NO_ANSWER) for each in (pip, uv)]
            return "not for pip" if all(refused) else f"no Python package, but {pip} and {uv}"
        if (pip.returncode, pip.stdout.split()) != (0, wanted):
            return f"{wanted} wanted, but {pip}"
        uv = ask(MACHINES / machine, "export", "uv", application, *option)
        return "agree" if Machines.agrees(uv, application, answer["artifact"]) else f"uv differs: {uv}"

    @staticmethod
    def agrees(uv, application, artifact):
        """Returns whether the output of `export uv` is complete, or its error message contains a complete command."""
        if fits_uv(application, artifact):
            return uv.returncode == 0 and Machines.has_indexes(uv.stdout, artifact)
        words = artifact["ref"].split() if "ref" in artifact else arguments_of(artifact)
        return (uv.returncode, uv.stdout) == (3, NO_ANSWER) and command_in(uv.stderr)[:3 + len(words)] == ["uv", "pip", "install", *words]

    @staticmethod
    def has_indexes(text, artifact):
        """Returns whether uv's variables contain each index of the artifact, either as the name of a backend or as a URL."""
        words = [line.split("=")[1] for line in text.splitlines() if line.startswith("UV_TORCH_BACKEND=")]
        rest = "".join(line.partition("=")[2].strip("'") for line in text.splitlines() if line.startswith("UV_INDEX=")).split()
        torch = "https://download.pytorch.org/whl/"
        wanted = [url for url in artifact.get("urls", []) if url != "https://pypi.org/simple"]
        return sorted(wanted) == sorted(rest + [torch + word for word in words])

    def test_pip_and_uv_agree_with_recommend(self):
        counts = self.each(self.check)
        self.assertGreater(counts["agree"], 300)
        self.assertGreater(counts["none"], 300)

    def test_conda_agrees_with_recommend(self):
        """Tests that `export conda` and `recommend torch` agree: if the build is for a GPU, `export conda` sets the variable that overrides conda's virtual package
        for this GPU, such as CONDA_OVERRIDE_CUDA."""
        for machine in self.names():
            answer = json.loads(ask(MACHINES / machine, "-j", "recommend", "torch").stdout)
            done = ask(MACHINES / machine, "export", "conda", "torch", "--allow-cpu")
            if answer["variant"] is None:
                continue
            variables = dict(line.split("=", 1) for line in done.stdout.splitlines())
            with self.subTest(machine=machine):
                self.assertEqual(done.returncode, 0)
                if (answer["variant"] or "").startswith("cu"):
                    self.assertRegex(variables["CONDA_OVERRIDE_CUDA"], r"^\d+\.\d+$")
                if re.match("rocm|device-", answer["variant"] or ""):
                    self.assertEqual(variables["CONDA_OVERRIDE_AMDGPU"], "0")
                if answer["variant"] == "cpu":
                    self.assertEqual((variables["CONDA_OVERRIDE_CUDA"], variables["CONDA_OVERRIDE_AMDGPU"]), ("", ""))
                self.assertIn("pip install torch", done.stderr)


class Containers(Case):
    """Tests that docker's own parser accepts the image references and the arguments for GPUs."""

    def setUp(self):
        if not shutil.which("docker"):
            self.skipTest("docker's client is not installed")

    def parsed(self, *words):
        """Returns docker's error message. docker parses its arguments before it connects to the daemon."""
        return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "DOCKER_HOST": "unix:///nonexistent", "HOME": str(self.folder)}).stderr

    def test_references(self):
        images = sorted({build.artifact["ref"] for build in builds() if build.artifact["type"] == "oci"})
        self.assertGreater(len(images), 15)
        self.assertIn("invalid reference format", self.parsed("pull", "Not an image"))
        for image in images:
            with self.subTest(image=image):
                self.assertRegex(self.parsed("pull", image), "(?i)connect")
                self.assertRegex(image.rpartition("/")[2], ":", "an image without a tag changes unseen")

    def test_arguments(self):
        for machine in ("nvidia-h200-4", "rocm-mi300x-spx", "soc-strix-halo", "pc-three-vendors", "soc-gb10"):
            arguments = ask(MACHINES / machine, "export", "container").stdout.split()
            with self.subTest(machine=machine):
                self.assertTrue(arguments)
                self.assertNotRegex(self.parsed("create", *arguments, "image:tag"), "(?i)invalid|unknown flag")


class Archives(Case):
    """Tests that the URLs and hashes of archives are valid, that tar unpacks archives of their types, and that the unpacked program accepts
    --version."""

    def files(self):
        return [build for build in builds() if build.artifact["type"] == "file" and not is_wheel_file(build.artifact)]

    def test_urls_and_hashes(self):
        for build in (build for build in builds() if build.artifact["type"] == "file"):
            for file in [build.artifact, *build.artifact.get("companion_files", [])]:
                with self.subTest(build=build[:4], file=file):
                    for url in file.get("urls", []):
                        self.assertRegex(url, r"^https://[a-z0-9.-]+/[A-Za-z0-9._~/%+-]+$")
                        self.assertTrue(url.endswith((*ARCHIVES, ".whl")), url)
                    self.assertRegex(file.get("sha256", "0" * 64), r"^[0-9a-f]{64}$")
        digests = [build.artifact["sha256"] for build in self.files()]
        self.assertGreater(len(digests), 5)
        for digest, uses in collections.Counter(digests).items():
            urls = {build.artifact["urls"][0] for build in self.files() if build.artifact["sha256"] == digest}
            self.assertEqual(len(urls), 1, (digest, uses, urls))

    def archive(self, name):
        """Returns an archive of a given type, which contains a program that prints its version."""
        program = b"#!/bin/sh\n[ \"$1\" = --version ] && echo version: 1 stand-in\n"
        content = io.BytesIO()
        if name.endswith(".zip"):
            with zipfile.ZipFile(content, "w") as archive:
                info = zipfile.ZipInfo("build/bin/program")
                info.external_attr = 0o755 << 16
                archive.writestr(info, program)
            return content.getvalue()
        with tarfile.open(fileobj=content, mode="w:xz" if name.endswith("xz") else "w:gz") as archive:
            info = tarfile.TarInfo("build/bin/program")
            info.size, info.mode = len(program), 0o755
            archive.addfile(info, io.BytesIO(program))
        return content.getvalue()

    def test_a_stand_in_is_fetched_verified_unpacked_and_started(self):
        builds_of_suffix = {build.artifact["urls"][0].rpartition(".")[2]: build for build in self.files()}
        self.assertTrue(builds_of_suffix)
        for suffix, build in builds_of_suffix.items():
            url = build.artifact["urls"][0]
            content = self.archive(url)
            path = "/" + url.split("://")[1]
            self.indexes.server.files[path] = content
            artifact = {**build.artifact, "urls": [self.indexes.local(url)], "sha256": hashlib.sha256(content).hexdigest(),
                        "size": len(content)}
            manifest = self.folder / f"{suffix}.json"
            manifest.write_text(json.dumps({"name": "x", "platforms": {f"linux-{build.arch}": {
                "default": build.name, "variants": {build.name: {"tier": 1, "artifact": artifact}}}}}), encoding="utf-8")
            answer = json.loads(ask(MACHINE[build.arch], "-j", "recommend", f"--manifest={manifest}").stdout)
            place = self.folder / suffix
            place.mkdir()
            file = place / path.rpartition("/")[2]
            subprocess.run(["curl", "--silent", "--fail", "--output", file, answer["artifact"]["urls"][0]], check=True, timeout=60)
            verify = ("verify", file, f"--manifest={manifest}", f"--variant={build.name}")
            self.assertEqual(ask(MACHINE[build.arch], *verify).returncode, 0)
            subprocess.run(["tar", "-xf", file, "-C", place], check=True, timeout=60)
            done = subprocess.run([place / "build/bin/program", "--version"], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, "version: 1 stand-in\n")
            file.write_bytes(content[:-1])
            self.assertNotEqual(ask(MACHINE[build.arch], *verify).returncode, 0)
