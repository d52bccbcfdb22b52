# SPDX-License-Identifier: Apache-2.0
"""Tests of recommend, export, verify and applications as a user would use them."""
import hashlib
import json
import pathlib
import subprocess
import tempfile
import unittest

from cli_case import CTL, SOURCE, environment, run

H200 = SOURCE / "tests/data/machines/nvidia-h200-1"
BARE = SOURCE / "tests/data/machines/software-only"
MANIFESTS = SOURCE / "tests/data/variants/manifests"
APPLICATIONS = SOURCE / "data/knowledge/applications"
NAMES = sorted(path.stem for path in APPLICATIONS.glob("*.json") if "manifest" in json.loads(path.read_text(encoding="utf-8")))


def ask(*words, machine=H200):
    return run(f"--replay={machine}", *map(str, words))


class Recommend(unittest.TestCase):
    def test_tells_the_variant_where_to_get_it_and_what_comes_next(self):
        done = ask("recommend", "torch")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^cu13\d on NVIDIA H200 \(pci:0000:00:06\.0\)\n")
        self.assertRegex(done.stdout, r"\n  index https://download\.pytorch\.org/whl/cu13\d\n")
        self.assertRegex(done.stdout, r"\n  pip install torch --index-url https://download\.pytorch\.org/whl/cu13\d\n")
        self.assertRegex(done.stdout, r"\n  then .*cpu\n")

    def test_json_has_every_variant_with_its_reasons(self):
        answer = json.loads(ask("-j", "recommend", "torch").stdout)
        self.assertEqual(answer["status"], "ok")
        self.assertEqual(answer["application"], "torch")
        self.assertEqual(answer["gpus"], ["pci:0000:00:06.0"])
        self.assertEqual(len(answer["manifest_sha256"]), 64)
        application = json.loads((APPLICATIONS / "torch.json").read_text(encoding="utf-8"))["manifest"]
        self.assertEqual(
            sorted(candidate["variant"] for candidate in answer["candidates"]),
            sorted(application["platforms"][answer["platform"]]["variants"]),
        )
        rejected = [c for c in answer["candidates"] if c["verdict"] == "rejected"]
        self.assertTrue(rejected)
        for candidate in rejected:
            self.assertTrue(candidate["reasons"], candidate["variant"])

    def test_explains_in_sentences(self):
        done = ask("recommend", "torch", "--explain")
        self.assertRegex(done.stdout, r"\n  ✗  device-gfx1010, [^\n]*, rocm7\.2, xpu: does not work on NVIDIA GPUs\n")
        self.assertEqual(done.stdout.count("does not work on NVIDIA GPUs"), 1)
        self.assertRegex(done.stdout, r"\n  ✓  cpu +can be used\n")

    def test_names_unknown_facts_in_words_and_the_option_that_supplies_them(self):
        done = ask("recommend", "torch", machine=SOURCE / "tests/data/machines/wsl2-nvidia")
        self.assertIn("\n  ? the version of glibc is unknown (required: 2.28)\n", done.stdout)
        self.assertIn("\n  • if you know the version of glibc, add --assume=glibc=VERSION\n", done.stdout)
        done = ask("recommend", "llama.cpp", machine=SOURCE / "tests/data/machines/wsl2-nvidia")
        self.assertEqual(done.returncode, 3)
        self.assertIn("the version of glibc is unknown (required: 2.39); not probed yet\n", done.stderr)
        for words in ("\n  • if you know the version of glibc, add --assume=glibc=VERSION\n", "gpuprobectl probe"):
            self.assertIn(words, done.stderr)
        self.assertNotRegex(done.stderr, "glibc_min|libc \\(")

    def test_names_equal_gpus_once(self):
        four = SOURCE / "tests/data/machines/nvidia-h200-4"
        self.assertRegex(ask("recommend", "torch", machine=four).stdout, r"^cu13\d on 4 x NVIDIA H200 \(pci:0000:00:06\.0 …\)\n")
        self.assertTrue(ask("select", machine=four).stdout.startswith("cuda on 4 x NVIDIA H200 (pci:0000:00:06.0 …)\n"))
        two = ask("select", "--gpu=0,2", machine=four).stdout
        self.assertTrue(two.startswith("cuda on 2 x NVIDIA H200 (pci:0000:00:06.0, pci:0000:00:08.0)\n"), two)
        cpx = SOURCE / "tests/data/machines/rocm-mi300x-cpx"
        table = ask("list", "--no-legend", machine=cpx).stdout
        self.assertIn("0/xcp-0 …  pci:0000:05:00.0/xcp-0 …  8 x AMD Instinct MI300X", table)
        self.assertEqual(table.count("\n"), 4)
        self.assertEqual(ask("list", "--no-legend", "--all", machine=cpx).stdout.count("\n"), 18)

    def test_prints_names_alone(self):
        chain = ask("recommend", "torch", "--chain").stdout.splitlines()
        self.assertEqual(chain[-1], "cpu")
        self.assertEqual(ask("-q", "recommend", "torch").stdout, chain[0] + "\n")
        self.assertEqual(ask("-q", "recommend", "torch", "--explain").stdout, ask("recommend", "torch", "--explain").stdout)
        self.assertEqual(ask("recommend", "torch", "--explain", "--chain").returncode, 2)
        without = ask("recommend", "torch", "--chain", "--exclude=family:cuda").stdout.splitlines()
        self.assertEqual(without, ["cpu"])
        self.assertEqual(ask("-q", "recommend", "torch", "--prefer=cpu").stdout, "cpu\n")

    def test_exit_status_3_when_nothing_fits(self):
        done = ask("recommend", "--manifest", MANIFESTS / "tsuku-llm.json", machine=BARE)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("no variant fits", done.stderr)
        self.assertIn("needs a GPU with 8 GiB", done.stderr)
        answer = ask("-j", "recommend", "torch", "--only=family:rocm")
        self.assertEqual(answer.returncode, 3)
        self.assertEqual(json.loads(answer.stdout)["status"], "none")

    def test_names_the_closest_variant_when_nothing_fits(self):
        words = "recommend", "torch", "--only=family:rocm"
        self.assertRegex(ask(*words).stderr, r"\Agpuprobectl: no variant fits; the closest variant is cu13\d: the request allows only family:rocm\n")
        closest, = (warning for warning in json.loads(ask("-j", *words).stdout)["warnings"] if warning["code"] == "closest-variant")
        self.assertRegex(closest["text"], r"^the closest variant is cu13\d: the request allows only family:rocm$")
        exported = ask("export", "pip", *words[1:])
        self.assertRegex(exported.stderr, r"no variant of 'torch' works here; the closest variant is cu13\d: ")

    def test_tells_an_unknown_system_from_another(self):
        done = ask("recommend", "torch", machine=SOURCE / "tests/data/machines/lact-amd-rx7900xtx")
        self.assertEqual(done.returncode, 3)
        self.assertIn("the platform of this machine is unknown, and builds differ between platforms", done.stderr)
        self.assertIn("builds exist only for linux-aarch64, linux-x86_64\n", done.stderr)
        self.assertIn("--assume=platform=linux-x86_64,glibc=2.39\n", done.stderr)
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as manifest:
            manifest.write((MANIFESTS / "tsuku-llm.json").read_text(encoding="utf-8").replace('"linux-amd64-glibc', '"linux-riscv64-glibc'))
            manifest.flush()
            other = ask("recommend", "--manifest", manifest.name)
        self.assertEqual(other.returncode, 3)
        self.assertIn("no variant supports this kind of machine", other.stderr)

    def test_forces_and_says_what_speaks_against_it(self):
        done = ask("recommend", "torch", "--force=rocm7.2")
        self.assertEqual(done.returncode, 0)
        self.assertIn("https://download.pytorch.org/whl/rocm7.2", done.stdout)
        self.assertIn("does not work on NVIDIA GPUs", done.stderr)
        document = json.loads(ask("-j", "recommend", "torch", "--force=rocm7.2").stdout)
        self.assertIs(document["forced"], True)
        self.assertEqual(ask("recommend", "torch", "--force=cu999").returncode, 2)

    def test_says_what_is_wrong_with_a_manifest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.json"
            manifest = json.loads((MANIFESTS / "tsuku-llm.json").read_text(encoding="utf-8"))
            variant = manifest["platforms"]["linux-amd64-glibc"]["variants"]["cuda"]
            variant["artifact"]["sha256"] = "0" * 64
            path.write_text(json.dumps(manifest), encoding="utf-8")
            done = ask("recommend", "--manifest", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn("platforms.linux-amd64-glibc.variants.cuda.artifact.sha256", done.stderr)
            path.write_text(" " * (2 << 20), encoding="utf-8")
            self.assertEqual(ask("recommend", "--manifest", path).returncode, 1)
            path.write_text("", encoding="utf-8")
            self.assertIn("empty", ask("recommend", "--manifest", path).stderr)

    def piped(self, text, *words):
        """Runs `recommend` with a manifest on standard input, which is a pipe."""
        words = [CTL, f"--replay={H200}", "recommend", *words, "-q"]
        return subprocess.run(words, env=environment(), input=text, capture_output=True, text=True, timeout=60, check=False)

    def test_takes_a_manifest_from_a_pipe(self):
        manifest = (APPLICATIONS / "torch.json").read_text(encoding="utf-8")
        want = ask("recommend", "torch", "-q").stdout
        for name in ("-", "/dev/stdin", "/proc/self/fd/0"):
            with self.subTest(name):
                done = self.piped(manifest, f"--manifest={name}")
                self.assertEqual((done.returncode, done.stdout), (0, want), done.stderr)
        # --force reads the manifest a second time, but a pipe can be read only once.
        self.assertEqual(self.piped(manifest, "--manifest=-", "--force=cpu").stdout, "cpu\n")
        self.assertIn("-: empty", self.piped("", "--manifest=-").stderr)
        self.assertIn("over 1048576 bytes", self.piped(" " * (2 << 20), "--manifest=/dev/stdin").stderr)

    def test_a_folder_is_no_manifest(self):
        done = ask("recommend", f"--manifest={MANIFESTS}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Is a directory", done.stderr)

    def test_suggests_a_product(self):
        done = ask("recommend", "torhc")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did you mean 'torch'?", done.stderr)
        applications = json.loads(run("-j", "apps").stdout)["applications"]
        self.assertEqual([one["name"] for one in applications if one["variants"]], NAMES)
        self.assertEqual(run("-q", "apps").stdout.split(), [one["name"] for one in applications])

    def test_names_the_command_for_the_half_that_an_application_has(self):
        done = ask("recommend", "default")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'gpuprobectl select default' chooses the backend", done.stderr)
        done = ask("select", "tsuku-llm")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'gpuprobectl recommend tsuku-llm' names the variant", done.stderr)

    def test_shimmy_has_a_backend_and_a_variant(self):
        self.assertEqual(ask("recommend", "shimmy", "-q").returncode, 0)
        self.assertEqual(json.loads(ask("select", "shimmy", "-j").stdout)["application"], "shimmy")


class Export(unittest.TestCase):
    def test_conda_uv_and_wheel(self):
        conda = dict(line.split("=", 1) for line in ask("export", "conda").stdout.splitlines())
        self.assertEqual(conda["CONDA_OVERRIDE_CUDA"], "13.0")
        self.assertEqual(conda["CONDA_OVERRIDE_CUDA_ARCH"], "9.0")
        uv = ask("export", "uv", "torch").stdout
        self.assertRegex(uv, r"^UV_TORCH_BACKEND=cu13\d\nUV_CUDA_DRIVER_VERSION=580\.")
        self.assertIn("NV_VARIANT_PROVIDER_FORCE_SM_ARCH=9.0", ask("export", "wheel").stdout)

    def test_uv_is_given_a_command_if_variables_are_not_enough(self):
        for application, package in (("jax", "'jax[cuda13]~=0.11.1'"), ("tensorflow", "'tensorflow[and-cuda]'")):
            done = ask("export", "uv", application)
            self.assertEqual((done.returncode, done.stdout), (3, "--gpuprobe-has-no-answer\n"))
            self.assertIn(f"export uv: uv's environment variables cannot contain a package; run: uv pip install {package}\n", done.stderr)

    def test_names_the_oldest_uv_that_knows_the_value(self):
        self.assertRegex(ask("export", "uv", "torch").stderr, r"these variables need uv 0\.\d+\.\d+ or newer")
        answer = json.loads(ask("export", "uv", "torch", "-j").stdout)
        self.assertRegex(answer["command"], r"^uv pip install torch --torch-backend=cu13\d$")
        self.assertRegex(answer["min_version"], r"^0\.\d+\.\d+$")

    def test_other_formats_name_the_command_for_a_python_package(self):
        for format in ("conda", "container"):
            self.assertIn("to install the package, run: pip install 'jax[cuda13]~=0.11.1'\n", ask("export", format, "jax").stderr)

    def test_arguments(self):
        self.assertRegex(ask("export", "pip", "torch").stdout, r"^torch --index-url https://download\S+/cu13\d\n$")
        # The output has no quotes, because quotes in the output of "$(…)" would become part of the argument.
        self.assertRegex(ask("export", "pip", "jax").stdout, r"^jax\[cuda13\]\S+\n$")
        self.assertEqual(ask("export", "ggml").stdout, "-DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90\n")
        self.assertRegex(ask("export", "container").stdout, r"^--device=nvidia\.com/gpu=\S+\n$")
        self.assertEqual(ask("export", "pip").returncode, 2)

    def test_names_the_packages_that_exclude_each_other(self):
        artifact = {"type": "wheel", "ref": "example-gpu", "excludes": ["example", "example-rocm"]}
        variants = {"gpu": {"requires": {"device": {"backend": "cuda"}}, "artifact": artifact}}
        manifest = {"schema": "gpuprobe.variants/1", "name": "p", "platforms": {"linux-x86_64": {"variants": variants}}}
        sentence = "uninstall example, example-rocm first, if installed"
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(manifest, file)
            file.flush()
            self.assertIn(sentence, " ".join(ask("recommend", f"--manifest={file.name}").stdout.split()))
            answer = json.loads(ask("recommend", f"--manifest={file.name}", "-j").stdout)
            self.assertEqual(answer["artifact"]["excludes"], ["example", "example-rocm"])
            done = ask("export", "pip", "p", f"--manifest={file.name}")
            self.assertEqual(done.stdout, "example-gpu\n")
            self.assertIn(sentence, done.stderr)
        self.assertNotIn("uninstall", ask("export", "pip", "torch").stderr)

    def test_pip_gets_only_python_packages(self):
        for application in ("ollama", "llama.cpp", "localai"):
            done = ask("export", "pip", application)
            self.assertEqual((done.returncode, done.stdout), (3, "--gpuprobe-has-no-answer\n"))
            self.assertIn("is not a Python package", done.stderr)

    def test_a_container_is_given_what_it_can_use(self):
        done = ask("export", "container", machine=SOURCE / "tests/data/machines/sriov-mi300x-gim-host")
        self.assertEqual((done.returncode, done.stdout), (3, "--gpuprobe-has-no-answer\n"))
        self.assertIn("no GPU here has a device node or a CDI name", done.stderr)
        for machine, device in (("pc-hailo-8", "/dev/hailo0"), ("pc-lunar-lake-npu", "/dev/accel/accel0")):
            done = ask("export", "container", "frigate-detectors", machine=SOURCE / "tests/data/machines" / machine)
            self.assertEqual((done.returncode, done.stdout), (0, f"--device={device}\n"))
        done = ask("export", "container", "torch", "--exclude=family:cuda")
        self.assertEqual((done.returncode, done.stdout), (0, ""), "the CPU needs no GPU")
        self.assertEqual(ask("export", "container", machine=BARE).returncode, 0)

    def test_env_for_a_build(self):
        done = ask("env", "default", "--build")
        self.assertEqual(done.stdout, "CMAKE_CUDA_ARCHITECTURES=90\nGGML_CUDA=1\n")


class Verify(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "artifact"
        self.manifest = pathlib.Path(folder.name) / "m.json"
        self.content = b"0123456789" * 20000
        self.file.write_bytes(self.content)
        self.write({"size": len(self.content), "sha256": hashlib.sha256(self.content).hexdigest()})

    def write(self, members):
        artifact = {"type": "file", "urls": ["https://example.org/a"], **members}
        variants = {"v": {"artifact": artifact}, "w": {"artifact": {"type": "dir", "ref": "x"}}}
        self.manifest.write_text(json.dumps({
            "schema": "gpuprobe.variants/1", "name": "p", "platforms": {"linux-riscv64": {"variants": variants}},
        }), encoding="utf-8")

    def verify(self, variant="v"):
        return run("verify", str(self.file), f"--manifest={self.manifest}", f"--variant={variant}")

    def test_takes_what_the_manifest_says(self):
        done = self.verify()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"{self.file} is the variant v of p\n")

    def test_refuses_another_byte(self):
        self.file.write_bytes(self.content[:-1] + b"x")
        done = self.verify()
        self.assertEqual(done.returncode, 1)
        self.assertIn("SHA-256", done.stderr)

    def test_refuses_another_size(self):
        self.file.write_bytes(self.content + b"x")
        self.assertIn("200001 bytes, but the manifest expects 200000", self.verify().stderr)

    def test_refuses_a_placeholder(self):
        self.write({"sha256": "0" * 64})
        self.assertIn("placeholder", self.verify().stderr)

    def test_refuses_what_cannot_be_verified(self):
        self.assertIn("has no sha256", self.verify("w").stderr)
        self.assertIn("no variant 'z'", self.verify("z").stderr)
        self.file.unlink()
        self.assertEqual(self.verify().returncode, 1)


if __name__ == "__main__":
    unittest.main()
