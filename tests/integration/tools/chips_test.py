# SPDX-License-Identifier: Apache-2.0
"""Tests tools/knowledge/chips: tests its readers with made-up tables, tests its linter, and compares chips.json with the facts that each source
states."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
TOOL = SOURCE / "tools/knowledge/chips"
CHIPS = SOURCE / "data/knowledge/chips.json"
CLAIMED = SOURCE / "tests/data/chips/claimed.json"
RULES = SOURCE / "data/rules"
sys.path.insert(0, str(TOOL.parent))
from chip_tables import amd, amd_names, c_tables, intel, kernel, lint, merge, nvidia, pci_ids  # noqa: E402
from chip_tables.ids import id_list, ids_in  # noqa: E402
from chip_tables.sources import FolderSource, MissingSource, source_from  # noqa: E402


class FakeSource:
    """A source with made-up files."""

    def __init__(self, files):
        self.read = files.__getitem__


def rows_of(text, *headers):
    return c_tables.pci_rows(text, c_tables.macros_in(*headers, text))


def pairs(rows):
    return [(row.vendor, row.device) for row in rows]


class IdLists(unittest.TestCase):
    def test_are_short_and_come_back(self):
        for numbers, text in (([0x73bf, 0x73a0, 0x73a1, 0x73a2], "73a0-73a2 73bf"), ([1, 2], "0001 0002"), ([], ""),
                              ([0xffff], "ffff"), ([0, 2, 4], "0000 0002 0004")):
            self.assertEqual(id_list(numbers), text)
            self.assertEqual(ids_in(text), sorted(numbers))

    def test_everything_else_is_no_id(self):
        self.assertEqual(ids_in("*"), [])


class KernelTables(unittest.TestCase):
    def test_reads_each_way_to_write_a_row(self):
        text = """
        #define CARD_ONE 0x10 /* a comment, with { braces } */
        #define PCI_VENDOR_ID_ACME 0x1abc
        #define PCI_DEVICE_ID_ACME_TWO 0x20
        #define CARD(id, info) { .class = 0x03 << 16, .vendor = 0x1abc, .device = id, .driver_data = (long) info }
        static const struct pci_device_id cards[] = {
            {0x1abc, CARD_ONE, PCI_ANY_ID, PCI_ANY_ID, 0, 0, CHIP_A|IS_APU}, // one
            { PCI_VDEVICE(ACME, 0x11), 7 },
            { PCI_DEVICE_DATA(ACME, TWO, &info) },
            { PCI_DEVICE(PCI_VENDOR_ID_ACME, 0x21), .driver_data = 5, },
            { PCI_DEVICE_SUB(PCI_VENDOR_ID_ACME, 0x22, 1, 2) },
            CARD(0x23, NULL),
            { PCI_DEVICE(0x1abc, PCI_ANY_ID), .class = 0x0380 << 8 },
            { }
        };
        static const struct pci_device_id more[] = { { PCI_DEVICE(0x1abc, 0x30) }, {0, 0, 0} };
        """
        rows = rows_of(text)
        self.assertEqual(pairs(rows), [(0x1abc, device) for device in (0x10, 0x11, 0x20, 0x21, 0x22, 0x23, None, 0x30)])
        self.assertEqual([row.driver_data for row in rows][:4], ["CHIP_A|IS_APU", "", "&info", "5"])
        self.assertEqual([row.pci_class for row in rows][5:7], [0x030000, 0x038000])

    def test_expands_macros_that_take_macros(self):
        header = """
        #define DEVICE_ROW(_id, _info) { PCI_DEVICE(0x8086, (_id)), .driver_data = (long)(_info), }
        #define A_GT1_IDS(MACRO__, ...) \\
                MACRO__(0x0102, ## __VA_ARGS__), \\
                MACRO__(0x0106, ## __VA_ARGS__)
        #define A_IDS(MACRO__, ...) A_GT1_IDS(MACRO__, ## __VA_ARGS__), MACRO__(0x0112, ## __VA_ARGS__)
        """
        rows = rows_of("static const struct pci_device_id list[] = { A_IDS(DEVICE_ROW, &a_info), { } };", header)
        self.assertEqual(pairs(rows), [(0x8086, 0x0102), (0x8086, 0x0106), (0x8086, 0x0112)])
        self.assertTrue(kernel.is_integrated_intel(rows[0], {"b_info"}))
        self.assertFalse(kernel.is_integrated_intel(rows[0], {"a_info"}))

    def test_is_not_caught_by_a_macro_that_names_itself(self):
        text = "#define X X\n#define Y Z\n#define Z Y\nstruct pci_device_id a[] = { {0x1, X}, {0x2, Y} };"
        self.assertEqual(pairs(rows_of(text)), [(1, None), (2, None)])

    def test_sound_when_cut(self):
        text = "#define A(x) { PCI_DEVICE(1, x), }\nstruct pci_device_id a[] = { A(0x10), A(0x11), { } };"
        for length in range(len(text)):
            self.assertLessEqual(len(rows_of(text[:length])), 2)

    def test_discrete_by_macro_or_by_member(self):
        text = """
        #define CARD_FEATURES \\
                .is_dgfx = 1, .has_memory = 1
        static const struct xe_device_desc inside_desc = { .has_display = true };
        static const struct xe_device_desc card_desc = { CARD_FEATURES, PLATFORM(CARD) };
        static const struct intel_device_info other_info = { .is_dgfx = 1, };
        """
        self.assertEqual(kernel.discrete_descriptions(text), {"card_desc", "other_info"})

    def test_gfx_targets_as_rocm_spells_them(self):
        for version, word in ((70001, "gfx701"), (90012, "gfx90c"), (90010, "gfx90a"), (100300, "gfx1030"),
                              (110501, "gfx1151"), (120500, "gfx1250")):
            self.assertEqual(kernel.gfx_word(version), word)

    def test_gfx_by_chip_and_by_ip_version(self):
        text = """kgd2kfd_probe
        case CHIP_OLD: gfx_target_version = 70000; break;
        case IP_VERSION(9, 4, 3):
        case IP_VERSION(9, 4, 4): gfx_target_version = 90402; break;
        case IP_VERSION(9, 9, 9): break;"""
        self.assertEqual(kernel.gfx_by_ip(text), {"CHIP_OLD": "gfx700", "IP_VERSION(9, 4, 3)": "gfx942",
                                                  "IP_VERSION(9, 4, 4)": "gfx942"})


class VendorsTables(unittest.TestCase):
    def test_pci_ids_stops_at_the_classes(self):
        text = ("# Version: 2026.01.02\n10de  NVIDIA\n\t2204  GA102 [GeForce RTX 3090]\n\t\t1043 1234  board\n"
                "C 03  Display\n\t00  VGA\n")
        self.assertEqual(pci_ids.read(text), {0x10de: ("NVIDIA", {0x2204: "GA102 [GeForce RTX 3090]"})})
        self.assertEqual(pci_ids.version(text), "2026.01.02")

    def test_nvidia_chips_by_name(self):
        for name, chip in (("GA102GL [RTX A6000]", "ga102"), ("GB203M / GN22 [GeForce RTX 5090 Max-Q]", "gb203"),
                           ("GA102 High Definition Audio Controller", None), ("TU104 USB 3.1 Host Controller", None),
                           ("GH100 [H100 NVSwitch]", None), ("MCP79 SMBus", None), ("MCP51 PMU", None),
                           ("C61 [GeForce 7025 / nForce 630a]", "c61"), ("GP107BM [GeForce GTX 1050]", "gp107"),
                           ("GK110BGL [Tesla K40m]", "gk110b"), ("CK804 Memory Controller", None)):
            self.assertEqual(nvidia.chip_of(name), chip, name)

    def test_capability_by_the_first_rule_that_fits(self):
        rules = nvidia.capability_by_chipset(
            "sm_for_chipset(uint16_t c)\n{ if (chipset >= 0x190)\n return 89;\n"
            "else if (chipset == 0x17b)\n return 87;\nelse if (chipset >= 0x172)\n return 86;\n}\n")
        self.assertEqual([nvidia.capability(number, rules) for number in (0x192, 0x17b, 0x177, 0x50)],
                         ["8.9", "8.7", "8.6", None])

    def test_nvidia_products_with_and_without_subsystems(self):
        readme = "| Product Name | PCI ID |\n| --- | --- |\n| RTX A | 1E30 |\n| B | 1E30 1028 129E |\n| C | 26B1 |\n"
        self.assertEqual(nvidia.products(readme), {0x1e30: "RTX A", 0x26b1: "C"})

    def test_nvidia_chips_without_video_engines(self):
        classes = ("static NvU32\ngpuGetEngClassDescriptorList_GH100(OBJGPU *p)\n{\n  list[] = { { NVB8B0_VIDEO_DECODER, ENG_NVDEC(0) }, };\n}\n"
                   "gpuGetEngClassDescriptorList_AD102(OBJGPU *p)\n{\n  { NVC9B0_VIDEO_DECODER, 0 }, { NVC9B7_VIDEO_ENCODER, 0 }\n}\n"
                   "gpuGetEngClassDescriptorList_T234D(OBJGPU *p)\n{\n  { NVC77D_CORE, 0 }\n}\n")
        base = "".join(f"static const struct nvkm_device_chip\nnv{number}_chipset = {{\n\t.name = \"{name}\",\n{members}}};\n"
                       for number, name, members in (
                           ("106", "GK208B", "\t.pci = a,\n"), ("117", "GM107", "\t.pci = a,\n\t.nvdec    = { 1, b },\n\t.nvenc[0] = b,\n"),
                           ("118", "GM108", "\t.pci = a,\n"), ("12b", "GM20B", "\t.mc = a,\n"), ("138", "GP108", "\t.pci = a,\n\t.nvdec[0] = b,\n"),
                           ("180", "GH100", "\t.pci = a,\n")))
        members = kernel.nouveau_members(FakeSource({kernel.NOUVEAU: base}))
        self.assertEqual(members["GM107"], {"pci", "nvdec", "nvenc"})
        self.assertEqual(nvidia.video_rows(classes, members), [
            {"vendor": "nvidia", "chips": "gh100", "lacks": "encode", "source": "nvidia-classes"},
            {"vendor": "nvidia", "chips": "gm108", "lacks": "decode encode", "source": "nouveau"},
            {"vendor": "nvidia", "chips": "gp108", "lacks": "encode", "source": "nouveau"}])

    def test_amd_names_take_the_longest_prefix(self):
        self.assertEqual(amd.by_name("Strix Halo [Radeon 8060S]"), ("strix-halo", "gfx1151"))
        self.assertEqual(amd.by_name("Strix [Radeon 890M]"), ("strix-point", "gfx1150"))
        self.assertIsNone(amd.by_name("Navi 31 HDMI/DP Audio"))

    def test_amd_device_list(self):
        text = '{GDT_X, 0x744C, 0xC8, GDT_HW_GENERATION_GFX11, false, "gfx1100", "AMD Radeon RX 7900 XTX"},'
        self.assertEqual(amd.device_list(text), {0x744c: ("gfx1100", False, "AMD Radeon RX 7900 XTX")})

    def test_amd_names_by_revision(self):
        text = "# comment\n1.0.0\n744C,\tC8,\tAMD A\n744C,\tCC,\tAMD B\n1114,\t1,\tAMD C \n744C,\tC8,\tAMD D\n744C,\tD0,\tAMD Radeon Graphics\n"
        self.assertEqual([(row["device"], row["revision"], row["name"]) for row in amd_names.rows_of(text)],
                         [("1114", "01", "AMD C"), ("744c", "c8", "AMD A"), ("744c", "cc", "AMD B")])

    def test_amd_names_are_made_and_checked(self):
        names = json.loads((SOURCE / "data/knowledge/amd_names.json").read_text(encoding="utf-8"))["names"]
        lines = "".join(f"{row['device'].upper()},\t{row['revision'].upper()},\t{row['name']}\n" for row in names)
        self.assertEqual(amd_names.rows_of(lines), names)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "data").mkdir()
            (pathlib.Path(folder) / "data/amdgpu.ids").write_text(lines + "FFFF,\tC0,\tAMD New\n", encoding="utf-8")
            done = subprocess.run([TOOL, "names", "--check", f"--libdrm={folder}@v1"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "chips: data/knowledge/amd_names.json differs from the sources\n", ""))

    def test_intel_groups(self):
        for group, chip in (("INTEL_SKL_ULT_GT2_IDS", "skl"), ("INTEL_DG2_G10_M_IDS", "dg2-g10"),
                            ("INTEL_ADLP_IDS", "adl-p"), ("INTEL_ATS_M150_IDS", "ats-m150"),
                            ("INTEL_BDW_RSVD_IDS", "bdw"), ("INTEL_I945GM_IDS", "i945gm"),
                            ("INTEL_CFL_S_GT1_IDS", "cfl"), ("INTEL_ICL_PORT_F_IDS", "icl")):
            self.assertEqual(intel.chip_of_group(group), chip)

    def test_intel_architecture_is_the_last_steppings(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {intel.PLATFORMS: "A_G1_A0 = 0x1, // 12.55.0\nA_G1_B0 = 0x2, // 12.55.8\n",
                     intel.CONFIGS: "DEVICE_CONFIG(A_G1_A0, X, aIds, F, R)\nDEVICE_CONFIG(A_G1_B0, X, aIds, F, R)\n",
                     "shared/source/a/device_ids_configs_a.h": "const std::vector<unsigned short> aIds{0x1A, 0x1B};"}
            for name, text in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            self.assertEqual(intel.architectures(FolderSource(folder, "v1")),
                             {0x1a: ("a-g1", "12.55.8"), 0x1b: ("a-g1", "12.55.8")})


class ChipRows(unittest.TestCase):
    def test_ids_that_say_the_same_share_a_row(self):
        one = {"chip": "a", "role": "gpu", "source": ["x"]}
        rows = merge.grouped(0x1abc, {1: one, 2: dict(one), 4: dict(one), 3: {**one, "chip": "b"}})
        self.assertEqual([(row["vendor_id"], row["ids"], row["chip"]) for row in rows],
                         [("1abc", "0001 0002 0004", "a"), ("1abc", "0003", "b")])

    def test_a_name_is_kept_only_where_pci_ids_has_none(self):
        self.assertEqual(merge.with_name({"called": "NVIDIA RTX X"}, 1, {}), {"name": "RTX X"})
        self.assertEqual(merge.with_name({"called": "NVIDIA RTX X"}, 1, {1: "GA102"}), {})
        self.assertEqual(merge.with_name({"called": "AMD Radeon Graphics"}, 1, {}), {})


class ChipsLint(unittest.TestCase):
    def setUp(self):
        self.text = CHIPS.read_text(encoding="utf-8")

    def test_finds_nothing(self):
        self.assertEqual(lint.problems(self.text, RULES), [])
        done = subprocess.run([TOOL, "lint"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_one_row_is_one_line(self):
        document = json.loads(self.text)
        lines = {line.rstrip(",").strip() for line in self.text.splitlines()}
        for name in lint.MEMBERS:
            for row in document[name]:
                self.assertIn(json.dumps(row, ensure_ascii=False), lines)

    def assert_found(self, problem, change):
        document = json.loads(self.text)
        change(document)
        found = lint.problems(json.dumps(document), RULES)
        self.assertTrue(any(problem in each for each in found), (problem, found[:3]))

    def test_finds_what_is_wrong(self):
        def row(document, vendor_id="10de"):
            return next(each for each in document["chips"] if each["vendor_id"] == vendor_id and each.get("architecture"))
        for problem, change in (
                ("role is none of", lambda d: row(d).update(role="monitor")), ("no ids", lambda d: row(d).pop("ids")),
                ("what is color", lambda d: row(d).update(color="red")),
                ("in two rows", lambda d: d["chips"].append(dict(row(d)))),
                ("unknown source", lambda d: row(d).update(source="hearsay")),
                ("not a list of ids", lambda d: row(d).update(ids="12")),
                ("not in order", lambda d: row(d).update(ids="0002 0001")),
                ("not sorted", lambda d: d["chips"].reverse()),
                ("a vendor id without a vendor", lambda d: row(d).update(vendor_id="0001")),
                ("not how data/rules spells", lambda d: row(d).update(architecture="sm_86")),
                ("does not know 8.8", lambda d: row(d).update(architecture="8.8")),
                ("unknown vendor", lambda d: d["drivers"][0].update(vendor="acme")),
                ("lacks is none of", lambda d: d["video"][0].update(lacks="sound")),
                ("gx100: not in chips", lambda d: d["video"][0].update(chips="gx100")),
                ("in two rows", lambda d: d["video"].append(d["video"][0])),
                ("schema: ", lambda d: d.update(schema="gpuprobe.chips/2")),
                ("bytes, more than", lambda d: d.update(padding="x" * 300000))):
            with self.subTest(problem):
                self.assert_found(problem, change)


class ChipsClaims(unittest.TestCase):
    """Compares chips.json with the facts that the kernel, Mesa and the vendors' lists state about each id."""

    def setUp(self):
        document = json.loads(CHIPS.read_text(encoding="utf-8"))
        self.claimed = json.loads(CLAIMED.read_text(encoding="utf-8"))
        self.rows = {(row["vendor_id"], device): row for row in document["chips"] for device in ids_in(row["ids"])}
        self.vendors = {vendor: row["vendor"] for row in document["vendors"] for vendor in row["vendor_ids"].split()}

    def excepted(self, claim, device, member):
        return any(claim["by"] == each["by"] and claim["vendor_id"] == each["vendor_id"] and member == each["member"] and
                   (each["ids"] == "*" or device in ids_in(each["ids"])) and
                   claim.get("chip", "") in each.get("chips", claim.get("chip", "")).split() + [""]
                   for each in self.claimed["exceptions"])

    def differences(self, claim, device):
        row = self.rows.get((claim["vendor_id"], device), {})
        said = {"role": row.get("role"), "vendor": self.vendors.get(claim["vendor_id"]),
                "architecture": row.get("architecture"), "integrated": row.get("form") == "integrated"}
        return [member for member in said if member in claim and said[member] != claim[member] and
                not self.excepted(claim, device, member)]

    def test_every_claim_is_met(self):
        counts, wrong = collections.Counter(), []
        for claim in self.claimed["claims"]:
            for device in ids_in(claim["ids"]):
                counts[claim["by"]] += 1
                wrong += [f"{claim['by']}: {claim['vendor_id']}:{device:04x}: {member}"
                          for member in self.differences(claim, device)]
        print(" ".join(f"{name}={count}" for name, count in sorted(counts.items())))
        self.assertEqual(wrong, [])
        self.assertGreater(sum(counts.values()), 4000)

    def test_every_maker_of_a_display_adapter_is_known(self):
        self.assertEqual([vendor for vendor in self.claimed["vendor_ids"] if vendor not in self.vendors], [])


class ChipsCommand(unittest.TestCase):
    def run_tool(self, *words):
        return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)

    def test_wants_its_sources(self):
        done = self.run_tool("--linux", "/nowhere@v1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("needed: --mesa --pci-ids", done.stderr)

    def test_says_which_source_is_missing(self):
        names = ("linux", "mesa", "pci-ids", "amd-devices", "nvidia-open", "intel-runtime")
        done = self.run_tool(*(word for name in names for word in (f"--{name}", "/nowhere@v1")))
        self.assertEqual((done.returncode, done.stderr), (2, "chips: /nowhere: neither a folder nor a git directory\n"))

    def test_a_folder_needs_a_tag(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(MissingSource):
                source_from(folder)
            self.assertEqual(source_from(f"{folder}@v1").commit, "v1")
            with self.assertRaises(MissingSource):
                source_from(f"{folder}@v1").read("absent.c")

    def test_reads_a_git_directory_at_its_commit(self):
        with tempfile.TemporaryDirectory() as folder:
            identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
            (pathlib.Path(folder) / "a.h").write_text("one", encoding="utf-8")
            for words in (["init", "-q"], ["add", "a.h"], [*identity, "commit", "-q", "-m", "a"]):
                subprocess.run(["git", "-C", folder, *words], check=True)
            source = source_from(folder)
            self.assertEqual((source.read("a.h"), source.files("a", ".h"), len(source.commit)), ("one", ["a.h"], 40))


if __name__ == "__main__":
    unittest.main()
