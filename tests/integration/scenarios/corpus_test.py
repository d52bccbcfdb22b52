# SPDX-License-Identifier: Apache-2.0
"""Tests the expectations of other projects' tests about the identity of GPUs and the selection of backends. The cases are in
tests/data/selection/cases.json."""
import json
import re

from made_machine import GB, GIB, Machine
from scenario_case import SOURCE, ScenarioCase

FOLDER = SOURCE / "tests/data/selection"
MACHINES = SOURCE / "tests/data/machines"
CASES = {each["id"]: each for each in json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))["cases"]}
VENDORS = {"0x8086": "intel", "0x10de": "nvidia", "0x1002": "amd"}


def method(case):
    return "test_" + re.sub(r"\W", "_", case)


class Corpus(ScenarioCase):
    def gpus(self, machine):
        return {gpu["id"]: gpu for gpu in self.ask(machine, "describe")["gpus"]}

    def expect(self, case):
        return CASES[case]["expect"]

    def given(self, case):
        return CASES[case]["given"]

    # Joining, kinds and addresses --------------------------------------------

    def test_ollama_merge_4(self):
        machine = Machine()
        folder = machine.function("0000:04:00.0", "1002", "15bf", "0300", "amdgpu")
        machine.files[f"{folder}/mem_info_vram_total"] = str(GIB // 2)
        machine.said("hip", {"name": "ROCm0", "vendor_id": "1002", "pci": "0000:03:00.0", "gfx_target": "gfx1100"}, loader="libhsa-runtime64.so.1")
        gpus = self.gpus(machine)
        self.assertNotIn("hip", gpus["pci:0000:04:00.0"]["apis"].get("hip", {}).get("device") or {})
        self.assertNotEqual(gpus["pci:0000:03:00.0"]["kind"], "integrated")

    def test_ollama_merge_5(self):
        machine = Machine().amd(address="0000:04:00.0", integrated=True, gfx="gfx1103", vulkan=False)
        machine.probes["hip"]["devices"][0]["index"] = 1
        gpus = self.gpus(machine)
        self.assertEqual([(gpu["pci"]["address"], gpu["kind"]) for gpu in gpus.values()], [("0000:04:00.0", "integrated")])

    def test_ollama_order_1(self):
        for swapped in (False, True):
            machine = Machine().intel().nvidia()
            if swapped:
                for index, name in enumerate(("vulkan.nvidia_icd", "vulkan.intel_icd.x86_64")):
                    machine.probes[name]["devices"][0]["index"] = index
            kinds = {gpu["vendor"]: gpu["kind"] for gpu in self.gpus(machine).values()}
            self.assertEqual(kinds, {"intel": "integrated", "nvidia": "discrete"})

    def test_ollama_vk_ambiguous(self):
        machine = Machine()
        for address in ("0000:03:00.0", "0000:04:00.0"):
            machine.function(address, "1002", "744c", "0300", "amdgpu")
        for kind in ("integrated", "discrete"):
            machine.vulkan("radeon_icd.x86_64", "AMD Radeon Graphics", "1002", "744c", None, kind, 8 * GB, "mesa-radv")
        for gpu in self.gpus(machine).values():
            self.assertIsNone(gpu["backends"]["vulkan"]["usable"])
            self.assertIn("ambiguous", [why["code"] for why in gpu["backends"]["vulkan"]["reasons"]])

    def kind_of_amd(self, given):
        machine = Machine()
        folder = machine.function("0000:03:00.0", "1002", "1638", "0300", "amdgpu")
        machine.files[f"{folder}/mem_info_vram_total"] = str(given["vram"])
        machine.files[f"{folder}/mem_info_gtt_total"] = str(given["gtt"])
        if given["mem_info_vram_vendor"]:
            machine.files[f"{folder}/mem_info_vram_vendor"] = "samsung\n"
        if given["board_info"]:
            machine.files[f"{folder}/board_info"] = "type: cem\n"
        return self.gpus(machine)["pci:0000:03:00.0"]["kind"]

    def test_ollama_rocm_apu(self):
        self.assertEqual(self.kind_of_amd(self.given("ollama-rocm-apu")), "integrated")

    def test_ollama_rocm_low_vram_dgpu(self):
        self.assertEqual(self.kind_of_amd(self.given("ollama-rocm-low-vram-dgpu")), "discrete")

    def test_ollama_rocm_order(self):
        machine = Machine().amd(address="0000:03:00.0", gfx="gfx1100", memory=48 * GIB, vulkan=False)
        machine.amd(address="0000:c4:00.0", device="15bf", gfx="gfx1103", memory=16 * GIB, integrated=True, vulkan=False, unique_id="0")
        gpus = self.gpus(machine)
        self.assertEqual([gpus[f"pci:{address}"]["kind"] == "integrated" for address in ("0000:03:00.0", "0000:c4:00.0")],
                         self.expect("ollama-rocm-order")["integrated"])

    def assert_spelling(self, spelling, address):
        folder = self.capture(Machine().amd(address=address))
        done = self.run_ctl("--replay", folder, "-j", "describe", spelling)
        self.assertEqual(json.loads(done.stdout)["pci"]["address"], address)

    def test_localai_bdf_0000_03_00_0(self):
        self.assert_spelling("0000:03:00.0", "0000:03:00.0")

    def test_localai_bdf_03_00_0(self):
        self.assert_spelling("03:00.0", "0000:03:00.0")

    def test_localai_bdf_AB_CD_0(self):
        self.assert_spelling("AB:1D.0", "0000:ab:1d.0")

    def driver_of(self, case):
        machine = Machine().nvidia(cuda=False, vulkan=False, nvml=False)
        del machine.files["sys/module/nvidia/version"]
        machine.files.update({path.lstrip("/"): text for path, text in self.given(case).items()})
        return self.gpus(machine)["pci:0000:01:00.0"]["driver"]["version"]

    def test_uv_proc_1(self):
        self.assertEqual(self.driver_of("uv-proc-1"), self.expect("uv-proc-1")["driver"])

    def test_uv_proc_2(self):
        self.assertEqual(self.driver_of("uv-proc-2"), self.expect("uv-proc-2")["driver"])

    # Selection ---------------------------------------------------------------

    def localai_machine(self, vendor, gib=8, driver="580.65.06"):
        machine = Machine(libc_version="2.39")
        if vendor == "nvidia":
            machine.nvidia(memory=gib * GIB, driver=driver)
        if vendor == "amd":
            machine.amd(memory=gib * GIB)
        if vendor == "intel":
            machine.intel(memory=gib * GIB)
        return machine

    def assert_localai_vendor(self, case):
        machine = Machine()
        for vendor in self.given(case)["vendors"]:
            if vendor in VENDORS:
                getattr(machine, VENDORS[vendor])()
            else:
                machine.function("0000:c1:00.0", vendor[2:], "2000", "0300", "ast")
        answer = self.select(machine, "localai")
        gpus = self.gpus(machine)
        self.assertEqual(gpus[answer.gpus[0]]["vendor"] if answer.gpus else "", self.expect(case)["vendor"])

    def test_localai_prio_nv_over_intel(self):
        self.assert_localai_vendor("localai-prio-nv-over-intel")

    def test_localai_prio_amd_over_intel(self):
        self.assert_localai_vendor("localai-prio-amd-over-intel")

    def test_localai_prio_bmc_only(self):
        self.assert_localai_vendor("localai-prio-bmc-only")

    def assert_capability(self, number):
        case = f"localai-cap-{number}"
        given = self.given(case)
        driver = "580.65.06" if given["cuda13_runtime"] else "550.54.14"
        answer = self.select(self.localai_machine(given["vendor"], given["vram_gib"], driver), "localai")
        self.assertEqual(answer.answers["capability"], self.expect(case)["capability"])
        accepted = [each["backend"] for each in answer.candidates if each["verdict"] == "accepted"]
        self.assertEqual(accepted, [word for word in self.expect(case)["backends_in_order"] if word != "hip"])

    def test_localai_cap_64(self):
        self.assert_capability(64)

    def test_localai_cap_72(self):
        self.assert_capability(72)

    def test_localai_cap_80(self):
        self.assert_capability(80)

    def test_localai_cap_88(self):
        self.assert_capability(88)

    def test_localai_cap_96(self):
        self.assert_capability(96)

    def test_localai_cap_104(self):
        self.assert_capability(104)

    def test_localai_cap_112(self):
        """The answer "nvidia" would make LocalAI install its CUDA 12 image, which does not run with driver 470. Vulkan works."""
        expected = self.expect("localai-cap-112")
        self.assertEqual((expected["capability"], expected["backends_in_order"][0]), ("nvidia", "cuda"))
        answer = self.select(self.localai_machine("nvidia", driver="470.256.02"), "localai")
        self.assertEqual(answer.answers["capability"], "vulkan")
        accepted = [each["backend"] for each in answer.candidates if each["verdict"] == "accepted"]
        self.assertEqual(accepted, [word for word in expected["backends_in_order"] if word != "cuda"])

    def test_localai_cap_120(self):
        self.assert_capability(120)

    def test_ollama_igpu_auto(self):
        """Tests which backend Ollama uses for one integrated or discrete GPU."""
        orin = Machine().nvidia(capability="8.7", vulkan=False)
        orin.probes["cuda"]["devices"][0]["type"] = "integrated"
        no_rocm = Machine().amd(gfx="gfx1030", hip=False)
        no_rocm.nodes["/dev/kfd"]["mode"] = 0o600  # without access to this node, ROCm cannot be used, although Ollama bundles ROCm's libraries
        no_rocm.nodes["/dev/kfd"]["accessible"] = False
        for machine, chosen in (
            (orin, "cuda"),
            (Machine().amd(integrated=True, hip=False), "cpu"),
            (Machine().amd(integrated=True, gfx="gfx1103", vulkan=False), "cpu"),
            (Machine().amd(integrated=True, gfx="gfx1151", vulkan=False), "rocm"),
            (no_rocm, "vulkan"),
        ):
            self.assertEqual(self.select(machine, "ollama").backend, chosen)

    def assert_tsuku(self, case):
        done = self.run_ctl("--replay", str(MACHINES / case), "--json=short", "select", "tsuku")
        document = json.loads(done.stdout)
        self.assertEqual(document.get("error", document)["answers"]["gpu"], self.expect(case)["gpu"])

    def test_tsuku_nvidia(self):
        self.assert_tsuku("tsuku-nvidia")

    def test_tsuku_amd(self):
        self.assert_tsuku("tsuku-amd")

    def test_tsuku_intel(self):
        self.assert_tsuku("tsuku-intel")

    def test_tsuku_nvidia_intel(self):
        self.assert_tsuku("tsuku-nvidia-intel")

    def test_tsuku_amd_intel(self):
        self.assert_tsuku("tsuku-amd-intel")

    def test_tsuku_none(self):
        self.assert_tsuku("tsuku-none")

    def test_tsuku_nonexistent(self):
        self.assertEqual(self.select(Machine(), "tsuku").answers["gpu"], self.expect("tsuku-nonexistent")["gpu"])


class CorpusIsWhole(ScenarioCase):
    """Tests that no case is missing here. `integration.replay` compares the machines in tests/data/machines with expected.json."""

    def test_each_case_is_tested_or_replayed(self):
        for case in CASES:
            with self.subTest(case):
                is_replayed = (MACHINES / f"merge-{case}" / "expected.json").exists()
                self.assertTrue(is_replayed or hasattr(Corpus, method(case)))

    def test_the_list_has_each_case_once(self):
        listed = re.findall(r"^\| `([^`]+)` \|", (FOLDER / "CASES.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(sorted(listed), sorted(CASES))
