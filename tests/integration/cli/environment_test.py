# SPDX-License-Identifier: Apache-2.0
"""Tests of the environment that env and select print, on recorded machines."""
import json
import unittest

from cli_case import SOURCE, run

MACHINES = SOURCE / "tests/data/machines"
TWO = "nvidia-h200-2"
FIRST, SECOND = ("GPU-00000000-0000-4000-8000-00000000000" + last for last in "12")


def variables(*words, machine=TWO, **environment):
    """Returns {variable: value} with the values that a shell reads from the output of env."""
    done = run("--replay", str(MACHINES / machine), "env", *words, **environment)
    assert done.returncode == 0, done.stderr
    return {name: value.strip("'") for name, _, value in (line.partition("=") for line in done.stdout.splitlines())}


class UseAndHide(unittest.TestCase):
    def test_the_chosen_gpu_is_used_and_every_other_api_hidden(self):
        self.assertEqual(variables("llama.cpp", "--gpu=1"), {
            "CUDA_VISIBLE_DEVICES": SECOND, "GGML_VK_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "-1",
            "OCL_ICD_VENDORS": "/nonexistent", "ONEAPI_DEVICE_SELECTOR": "*:cpu", "ROCR_VISIBLE_DEVICES": ""})

    def test_a_library_that_the_caller_adds_to_opencl_is_hidden_with_it(self):
        added = {"OCL_ICD_FILENAMES": "libnvidia-opencl.so.1"}
        for words in (("default",), ("llama.cpp",), ("default", "--backend=none")):
            with self.subTest(words=words):
                self.assertEqual(variables(*words, **added),
                                 {**variables(*words), "OCL_ICD_FILENAMES": "/nonexistent"})
        self.assertNotIn("OCL_ICD_FILENAMES", variables("llama.cpp", "--backend=opencl", "--own-build", **added))

    def test_no_gpu_is_said_so_that_none_is_opened(self):
        hidden = {"CUDA_VISIBLE_DEVICES": "", "GGML_VK_VISIBLE_DEVICES": ""}
        for words in (("--backend=none",), ("--backend=off",), ("--backend=cpu",), ("--exclude=cuda,vulkan",)):
            with self.subTest(words=words):
                self.assertEqual(variables("node-llama-cpp", *words), hidden)
        # This application cannot use the CPU, so no backend is chosen. Even if no backend is chosen, all GPUs are hidden.
        self.assertEqual(variables("tsuku", "--backend=none"), hidden)
        self.assertEqual(variables("ramalama", "--backend=none"), {"GGML_VK_VISIBLE_DEVICES": "none"})

    def test_says_that_no_variable_hides_a_gpu_from_va_api(self):
        three = str(MACHINES / "pc-three-vendors")
        done = run("--replay", three, "env", "ffmpeg", "--backend=cpu")
        self.assertEqual((done.returncode, done.stdout), (0, "CUDA_VISIBLE_DEVICES=\n"))
        self.assertIn("through vaapi, because vaapi has no environment variable for hiding GPUs", done.stderr)
        warnings = json.loads(run("--replay", three, "env", "ffmpeg", "--backend=cpu", "-j").stdout)["warnings"]
        self.assertEqual([each["detail"]["api"] for each in warnings if each["code"] == "not-hidden"], ["vaapi"])
        # The options for FFmpeg name the chosen GPU.
        self.assertNotIn("hides a GPU", run("--replay", str(MACHINES / "nvidia-h200-1"), "env", "ffmpeg").stderr)
        self.assertNotIn("hides a GPU", run("--replay", three, "env", "llama.cpp", "--backend=none").stderr)

    def test_says_in_which_apis_no_variable_hides_the_other_gpus(self):
        def answer(machine, *words):
            return run("--replay", str(MACHINES / machine), "env", *words)

        # CUDA's variable also applies to OpenCL, but not to Vulkan.
        self.assertIn("programs can still use pci:0000:00:07.0 through Vulkan", answer(TWO, "0").stderr)
        self.assertEqual([(each["code"], each["detail"]) for each in json.loads(answer(TWO, "0", "-j").stdout)["warnings"]],
                         [("not-hidden", {"api": "vulkan", "gpus": ["pci:0000:00:07.0"]})])
        # OpenCL lists four equal GPUs, and no variable selects one of them.
        one = answer("hwloc-epyc-corona", "1")
        self.assertEqual((one.returncode, one.stdout), (3, ""))
        self.assertIn("no environment variable selects pci:0000:23:00.0", one.stderr)
        warnings = json.loads(answer("hwloc-epyc-corona", "1", "-j").stdout)["warnings"]
        self.assertEqual([(each["code"], each["detail"]["api"], len(each["detail"]["gpus"])) for each in warnings],
                         [("not-hidden", "opencl", 3)])
        # No API was probed on this recorded machine.
        self.assertIn("no API has listed", answer("pc-three-vendors", "1").stderr)

    def test_order_is_kept(self):
        self.assertEqual(variables("llama.cpp", "--gpu=1,0")["CUDA_VISIBLE_DEVICES"], f"{SECOND},{FIRST}")
        self.assertEqual(variables("llama.cpp", "--gpu=0,1")["CUDA_VISIBLE_DEVICES"], f"{FIRST},{SECOND}")

    def test_each_accepted_candidate_has_its_own(self):
        done = run("--replay", str(MACHINES / TWO), "select", "llama.cpp", "-j")
        candidates = json.loads(done.stdout)["candidates"]
        cuda, cpu = (each for each in candidates if each["verdict"] == "accepted")
        self.assertEqual((cuda["gpu"], cuda["also"]), ("pci:0000:00:06.0", ["pci:0000:00:07.0"]))
        self.assertEqual((cuda["environment"]["CUDA_VISIBLE_DEVICES"], cuda["also_environment"]),
                         (FIRST, {"CUDA_VISIBLE_DEVICES": [SECOND]}))
        self.assertEqual((cpu["environment"]["CUDA_VISIBLE_DEVICES"], cpu["also"], cpu["also_environment"]), ("", [], {}))
        self.assertEqual({len(each["environment"]) for each in candidates if each["verdict"] != "accepted"}, {0})

    def test_an_application_is_told_what_it_passes_on(self):
        self.assertEqual(variables("ramalama", machine="nvidia-h200-1"), {"CUDA_VISIBLE_DEVICES": FIRST})
        self.assertEqual(variables("localai")["LOCALAI_FORCE_META_BACKEND_CAPABILITY"], "nvidia-cuda-13")
        self.assertEqual(variables("localai", "--backend=none")["LOCALAI_FORCE_META_BACKEND_CAPABILITY"], "default")

    def test_what_lets_an_application_use_a_gpu_stays_there(self):
        # Only ROCm reports that this GPU is discrete.
        self.assertNotIn("OLLAMA_IGPU_ENABLE", variables("ollama", machine="soc-strix-halo", OLLAMA_IGPU_ENABLE="1"))
        told = variables("ollama", "--backend=vulkan", machine="soc-strix-halo", OLLAMA_IGPU_ENABLE="1")
        self.assertEqual(told["OLLAMA_IGPU_ENABLE"], "1")
        self.assertIn("OLLAMA_IGPU_ENABLE=1", run("--replay", str(MACHINES / "soc-strix-halo"), "select", "ollama",
                                                  "--backend=vulkan").stderr)

    def test_a_gpus_card_has_the_names_of_ggml(self):
        card = json.loads(run("--replay", str(MACHINES / TWO), "env", "1", "-j").stdout)
        words = {(each["argument"], each["kind"]): each["environment"]
                 for each in card["selectors"] if each["api"] == "ggml"}
        self.assertEqual(words["CUDA0", "stable"], {"CUDA_VISIBLE_DEVICES": SECOND})
        self.assertEqual(words["CUDA1", "index"], {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})


class OfTheCaller(unittest.TestCase):
    """Tests with variables that the caller has set."""

    def candidate(self, **environment):
        done = run("--replay", str(MACHINES / TWO), "select", "llama.cpp", "-j", **environment)
        return json.loads(done.stdout)["candidates"][0]

    def test_what_hides_a_gpu_is_a_reason(self):
        reason, = self.candidate(CUDA_VISIBLE_DEVICES="")["reasons"]
        self.assertEqual((reason["code"], reason["detail"]), ("hidden-by-environment", {
            "gpu": "pci:0000:00:06.0", "variable": "CUDA_VISIBLE_DEVICES", "value": "", "replaced": True}))
        self.assertIn("CUDA_VISIBLE_DEVICES", reason["text"])
        self.assertEqual(self.candidate(CUDA_VISIBLE_DEVICES=FIRST)["reasons"], [])
        self.assertEqual(self.candidate(CUDA_VISIBLE_DEVICES="0", CUDA_DEVICE_ORDER="PCI_BUS_ID")["reasons"], [])

    def test_a_person_is_told(self):
        done = run("--replay", str(MACHINES / TWO), "select", "llama.cpp", CUDA_VISIBLE_DEVICES="-1")
        self.assertIn("warning: CUDA_VISIBLE_DEVICES=-1 in the caller's environment hides pci:0000:00:06.0", done.stdout)

    def test_a_program_is_told_with_the_answer(self):
        done = run("--replay", str(MACHINES / TWO), "select", "llama.cpp", "-j", CUDA_VISIBLE_DEVICES="-1")
        self.assertEqual({each["code"] for each in json.loads(done.stdout)["warnings"]}, {"hidden-by-environment"})

    def test_a_person_is_told_of_gpus_that_come_along(self):
        machine = ("--replay", str(MACHINES / "hwloc-epyc-corona"), "select", "--backend=opencl")
        self.assertNotIn("warning", run(*machine).stdout)  # all four GPUs are chosen
        self.assertIn("warning: the application cannot distinguish pci:0000:23:00.0 from pci:0000:13:00.0,",
                      run(*machine, "--gpu=1").stdout)

    def test_a_gpu_next_to_mig_instances_is_listed_by_its_uuid_only(self):
        done = run("--replay", str(MACHINES / "nvidia-h100-mig-mixed"), "select", "--gpu=pci:0000:4a:00.0", "--explain")
        self.assertRegex(done.stdout, r"✓  cuda +pci:0000:4a:00\.0 +because of MIG, the driver lists this device only to a process that selects the device by UUID\n")

    def test_an_environment_says_what_it_does_not_hide(self):
        machine = ("--replay", str(MACHINES / "hwloc-epyc-corona"), "env", "--backend=opencl")
        self.assertNotIn("warning", run(*machine).stderr)
        self.assertIn("warning: the application cannot distinguish", run(*machine, "--gpu=1").stderr)
        replaced = run("--replay", str(MACHINES / TWO), "env", "llama.cpp", CUDA_VISIBLE_DEVICES="-1")
        self.assertEqual(replaced.stderr, "")


if __name__ == "__main__":
    unittest.main()
