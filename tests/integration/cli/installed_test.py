# SPDX-License-Identifier: Apache-2.0
"""Tests of select --installed, which reads the properties of an installed build from its files."""
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from cli_case import SOURCE, run

sys.path[:0] = [str(SOURCE / "tests" / each) for each in ("support", "runtimes", "integration/scenarios")]
import gpu_files  # noqa: E402 (next to the seeds of the fuzz harnesses)
import npm  # noqa: E402 (next to the tests of runtimes)
from made_machine import GB, ONEAPI, Machine  # noqa: E402 (next to the scenarios)

H200 = SOURCE / "tests/data/machines/nvidia-h200-1"  # has driver 580, CUDA 13.0, and compute capability 9.0


def without_libraries(folder):
    """Copies the machine with the H200 without the CUDA toolkit, like a machine on which only the driver is installed."""
    machine = pathlib.Path(folder) / "machine"
    shutil.copytree(H200, machine, symlinks=True)
    path = machine / "capture.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    libraries = document["host"]["libraries"]
    document["host"]["libraries"] = [name for name in libraries if not name.startswith(("libcu", "libnv"))]
    path.write_text(json.dumps(document), encoding="utf-8")
    return machine


class InstalledCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.build = self.folder / "build"
        self.build.mkdir()
        self.machine = without_libraries(self.folder)

    def ask(self, path, application="node-llama-cpp", machine=None):
        done = run(f"--replay={machine or self.machine}", "-j", "select", application, f"--installed={path}")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return json.loads(done.stdout)

    def reasons(self, answer, backend="cuda"):
        return {reason["code"]: reason["detail"] for candidate in answer["candidates"]
                if candidate["backend"] == backend for reason in candidate["reasons"]}

    def library(self, name="libggml-cuda.so", needs=("libcuda.so.1",), **more):
        return gpu_files.library(self.build, name, needs, **more)


class Installed(InstalledCase):
    def test_needs_ptx_that_the_driver_knows(self):
        new = self.library(sections={".nv_fatbin": gpu_files.cuda([86], [75, 90], (9, 1))})
        answer = self.ask(new)
        self.assertEqual(answer["backend"], "cpu")
        detail = self.reasons(answer)["ptx-needs-newer-driver"]
        self.assertEqual((detail["ptx"], detail["toolkit"], detail["driver_cuda"], detail["build"]),
                         ("9.1", "13.1", "13.0", "libggml-cuda.so"))
        old = self.library("libold.so", sections={".nv_fatbin": gpu_files.cuda([86], [75, 90], (9, 0))})
        self.assertEqual(self.ask(old)["backend"], "cuda")

    def test_needs_kernels_for_the_chip(self):
        other = self.library(sections={".nv_fatbin": gpu_files.cuda([75, 86])})
        self.assertIn("arch-not-in-build", self.reasons(self.ask(other)))
        own = self.library("libown.so", sections={".nv_fatbin": gpu_files.cuda([75]) + gpu_files.cuda(
            [90], suffix=gpu_files.SPECIFIC)})
        self.assertEqual(self.ask(own)["backend"], "cuda")

    def test_needs_libraries_that_are_not_bundled(self):
        code = {".nv_fatbin": gpu_files.cuda([90])}
        path = self.library(needs=["libcudart.so.13", "libcublas.so.13", "libcuda.so.1"], sections=code)
        answer = self.ask(path)
        self.assertEqual(answer["backend"], "cpu")
        self.assertIn("library-missing", self.reasons(answer))
        # The machine with the CUDA toolkit has both libraries.
        self.assertEqual(self.ask(path, machine=H200)["backend"], "cuda")
        # A copy of both libraries in the build's folder is also sufficient.
        for name in ("libcudart.so.13", "libcublas.so.13"):
            gpu_files.library(self.build, name, soname=name)
        self.assertEqual(self.ask(path)["backend"], "cuda")
        self.assertEqual(self.ask(self.build)["backend"], "cuda")

    def test_finds_libraries_where_the_file_says(self):
        code = {".nv_fatbin": gpu_files.cuda([90])}
        beside = self.folder / "nvidia/lib"
        beside.mkdir(parents=True)
        gpu_files.library(beside, "libcudart.so.12", soname="libcudart.so.12")
        for option in ("-Wl,-rpath,$ORIGIN/../nvidia/lib", "-Wl,--disable-new-dtags,-rpath,${ORIGIN}/../nvidia/lib"):
            path = self.library(needs=["libcudart.so.12"], sections=code, options=[option])
            self.assertEqual(self.ask(path)["backend"], "cuda", option)
        # gpuprobe does not use an absolute path in the file, because the capture is from another machine.
        path = self.library(needs=["libcudart.so.12"], sections=code, options=[f"-Wl,-rpath,{beside}"])
        self.assertIn("library-missing", self.reasons(self.ask(path)))

    def test_reads_compressed_kernels_and_relocatable_kernels(self):
        for section in (".nv_fatbin", "__nv_relfatbin"):
            content = gpu_files.fatbin(gpu_files.image(gpu_files.CUBIN, 90, flags=0x8011, payload=b"\x28\xb5\x2f\xfd"))
            path = self.library("lib" + section.strip("._") + ".so", sections={section: content})
            self.assertEqual(self.ask(path)["backend"], "cuda", section)

    def test_one_of_two_builds_will_do(self):
        for major in (12, 13):
            part = self.build / f"cuda_v{major}"
            part.mkdir()
            gpu_files.library(part, f"libcudart.so.{major}", soname=f"libcudart.so.{major}")
            gpu_files.library(part, "libggml-cuda.so", [f"libcudart.so.{major}"],
                              {".nv_fatbin": gpu_files.cuda([75, 90] if major == 12 else [100])})
        self.assertEqual(self.ask(self.build, "ollama")["backend"], "cuda")
        shutil.rmtree(self.build / "cuda_v12")
        self.assertIn("arch-not-in-build", self.reasons(self.ask(self.build, "ollama")))

    def test_hip_targets(self):
        bundles = gpu_files.bundle("gfx1030", "gfx90a:sramecc+:xnack-")
        gfx = lambda content: run(
            f"--replay={H200}", "-j", "select", "llama.cpp", "--installed=" +
            str(self.library("libggml-hip.so", ["libamdhip64.so.6"], sections={".hip_fatbin": content})))
        for content in (bundles, b"\0" * 64 + gpu_files.compressed(bundles), gpu_files.compressed(bundles, 3)):
            answer = json.loads(gfx(content).stdout)
            self.assertEqual(answer["backend"], "cpu")
            self.assertIn("not-built", self.reasons(answer))

    def test_other_backends_are_not_built(self):
        vulkan = gpu_files.library(self.build, "libggml-vulkan.so", ["libvulkan.so.1"])
        answer = self.ask(vulkan)
        self.assertIn("not-built", self.reasons(answer))
        self.assertNotIn("not-built", self.reasons(answer, "vulkan"))
        loads = gpu_files.library(self.build, "libdawn.so", text='const char *const loader = "libvulkan.so.1";')
        self.assertNotIn("not-built", self.reasons(self.ask(loads), "vulkan"))
        plain = gpu_files.library(self.build, "libplain.so")
        self.assertEqual(self.ask(plain)["backend"], "cpu")

    def test_hostile_folders(self):
        self.library(sections={".nv_fatbin": gpu_files.cuda([90])})
        (self.build / "secret.so").symlink_to("/proc/self/mem")
        (self.build / "loop").symlink_to(self.build)
        (self.build / "up").symlink_to("/")
        os.mkfifo(self.build / "pipe.so")
        (self.build / "empty.so").touch()
        (self.build / "cut.so").write_bytes(b"\x7fELF" + b"\2\1\1" + b"\xff" * 4000)
        huge = self.build / "huge.so"
        huge.write_bytes((self.build / "libggml-cuda.so").read_bytes())
        os.truncate(huge, 1 << 40)
        broken = gpu_files.cuda([90])
        self.library("broken.so", sections={".nv_fatbin": broken[:8] + b"\xff" * 8 + broken[16:]})
        done = run(f"--replay={self.machine}", "-q", "select", "node-llama-cpp", f"--installed={self.build}")
        self.assertEqual((done.returncode, done.stdout), (0, "cuda\n"), done.stderr)
        named = run("select", "node-llama-cpp", f"--replay={self.machine}", f"--installed={self.build / 'broken.so'}")
        self.assertEqual(named.returncode, 1, named.stdout)
        self.assertIn("CUDA code: a container extends past its section", named.stderr)

    def test_what_is_no_build_is_refused(self):
        text = self.build / "README"
        text.write_text("not a program", encoding="utf-8")
        for path, says in ((text, "not a 64-bit ELF"), (self.build, "contains no 64-bit ELF program or library"),
                           (self.build / "missing", "No such file"), ("/dev/null", "not a file or folder")):
            done = run(f"--replay={self.machine}", "select", "node-llama-cpp", f"--installed={path}")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(says, done.stderr)


class InstalledForIntel(InstalledCase):
    """Tests with an Arc A770 and Intel's compute driver. gpuprobe reads the requirements of a SYCL build from the sonames and section names in the
    build's files."""

    SYCL = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64"

    def arc(self, name, libraries=(), level_zero=True):
        machine = Machine(libc_version="2.39", libraries=libraries).intel(device="56a0", integrated=False, level_zero=level_zero,
                                                                           memory=16 * GB)
        return machine.write(self.folder / name)

    def verdict(self, path, machine):
        answer = self.ask(path, "llama.cpp", machine)
        return answer["backend"], sorted(self.reasons(answer, "sycl"))

    def test_needs_the_oneapi_runtime(self):
        path = self.library("libggml-sycl.so", ["libsycl.so.8", "libsvml.so"])
        without, with_it = self.arc("without"), self.arc("with", ONEAPI)
        answer = self.ask(path, "llama.cpp", without)
        self.assertNotEqual(answer["backend"], "sycl")
        detail = self.reasons(answer, "sycl")["library-missing"]
        self.assertEqual((detail["want"], detail["build"]), (["libsycl.so.8"], "libggml-sycl.so"))
        self.assertEqual(self.ask(path, "llama.cpp", with_it)["backend"], "sycl")
        # A different version of the library is not sufficient, but a library in the build's folder is.
        self.assertEqual(self.verdict(path, self.arc("older", ["libsycl.so.7"]))[1], ["library-missing"])
        for name in ("libsycl.so.8", "libsvml.so"):
            gpu_files.library(self.build, name, soname=name)
        self.assertEqual(self.ask(path, "llama.cpp", without)["backend"], "sycl")

    def test_needs_level_zero(self):
        path = self.library("libown.so", ["libze_loader.so.1"])
        self.assertEqual(self.ask(path, "llama.cpp", self.arc("with"))["backend"], "sycl")
        # The loader belongs to the driver. A list of libraries does not show that the loader works; only the answers of the loader's API show this.
        backend, reasons = self.verdict(path, self.arc("without", ["libze_loader.so.1"], level_zero=False))
        self.assertNotEqual(backend, "sycl")
        self.assertIn("loader-missing", reasons)
        self.assertIn("not-built", self.reasons(self.ask(path, "llama.cpp", self.folder / "with"), "vulkan"))

    def test_spirv_is_for_intel(self):
        for section in (self.SYCL, self.SYCL + "-unknown-unknown", "__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen"):
            path = self.library("libx.so", (), sections={section: b"\3\2#\7"})
            self.assertEqual(self.ask(path, "llama.cpp", self.arc(section))["backend"], "sycl", section)
            answer = self.ask(path, "llama.cpp")  # on the H200
            self.assertEqual((answer["backend"], "not-built" in self.reasons(answer)), ("cpu", True), section)

    def test_another_section_has_no_kernels(self):
        for section in ("__CLANG_OFFLOAD_BUNDLE__sycl-native_cpu", ".spirv"):
            path = self.library("libx.so", (), sections={section: b"\3\2#\7"})
            self.assertIn("not-built", self.verdict(path, self.arc(section))[1], section)


class PublishedBuild(unittest.TestCase):
    """Tests with @node-llama-cpp/linux-x64-cuda from npm's registry, which has PTX 9.1 for Hopper and does not bundle CUDA 13."""

    def test_does_not_run_behind_driver_580(self):
        package = npm.package("@node-llama-cpp/linux-x64-cuda", "3.22.1")
        with tempfile.TemporaryDirectory() as folder:
            machine = without_libraries(folder)
            done = run(f"--replay={machine}", "-j", "select", "node-llama-cpp", f"--installed={package}")
            answer = json.loads(done.stdout)
            self.assertNotEqual(answer["backend"], "cuda")
            reasons = {reason["code"]: reason["detail"] for candidate in answer["candidates"]
                       if candidate["backend"] == "cuda" for reason in candidate["reasons"]}
            self.assertEqual(reasons["ptx-needs-newer-driver"]["ptx"], "9.1")
            self.assertIn("library-missing", reasons)


if __name__ == "__main__":
    unittest.main()
