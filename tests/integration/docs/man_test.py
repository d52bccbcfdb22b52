# SPDX-License-Identifier: Apache-2.0
"""Tests that the man pages agree with the programs and the interfaces, and that every formatter accepts them."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
PAGES = BIN.parent / "man"
ALL = ("gpuprobectl.1", "gpuprobed.8", "gpuprobe-worker.8", "org.gpuprobe.GpuProbe1.5", "gpuprobe-report.5",
       "gpuprobe-variants.5", "gpuprobe-applications.5", "gpuprobe-reasons.7")


def printed(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=60,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "200", "MAN_KEEP_FORMATTING": ""}).stdout


def read(page):
    """Returns the page as mandoc prints it, without bold and underline."""
    return re.sub(r".\x08", "", printed("mandoc", "-T", "utf8", "-O", "width=200", PAGES / page))


@unittest.skipUnless(shutil.which("lowdown") and shutil.which("mandoc"), "lowdown or mandoc is not installed")
class ManPages(unittest.TestCase):
    def test_each_is_there_with_a_name_for_whatis(self):
        for page in ALL:
            title = page.rsplit(".", 1)[0]
            self.assertRegex(read(page), rf"NAME\n +{re.escape(title)} - \S", page)

    def test_have_the_header_and_the_footer_of_systemd(self):
        for page in ALL:
            title, section = page.rsplit(".", 1)
            name = re.escape(f"{title.upper()}({section})")
            lines = printed("mandoc", "-T", "utf8", "-O", "width=200", PAGES / page).rstrip("\n").split("\n")
            self.assertRegex(re.sub(r".\x08", "", lines[0]), rf"^{name} +{re.escape(title)} +{name}$")
            self.assertRegex(re.sub(r".\x08", "", lines[-1]), rf"^gpuprobe \d+\.\d+\.\d+ +\S.* +{name}$")

    def test_mandoc_and_groff_have_no_complaint(self):
        for page in ALL:
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", PAGES / page], capture_output=True, text=True, check=False)
            self.assertEqual(lint.stdout, "", page)
            groff = subprocess.run(["groff", "-K", "utf8", "-t", "-man", "-ww", "-T", "utf8", PAGES / page], capture_output=True,
                                   text=True, check=False)
            # A word that is wider than its table column is not a fault.
            complaints = [line for line in groff.stderr.splitlines() if "can't break line" not in line]
            self.assertEqual(complaints, [], page)

    def test_every_verb_and_option_of_gpuprobectl(self):
        page = read("gpuprobectl.1")
        overview = printed(BIN / "gpuprobectl", "help")
        verbs = dict.fromkeys(re.findall(r"^  ([a-z][a-z-]+)", overview, re.M))
        self.assertGreater(len(verbs), 20)
        sections = re.split(r"^   (\S+)$", page, flags=re.M)
        sections = dict(zip(sections[1::2], sections[2::2]))
        for verb in verbs:
            self.assertIn(f"gpuprobectl {verb}" if verb != "status" else "gpuprobectl [status]", sections[verb])
            help_page = printed(BIN / "gpuprobectl", "help", verb)
            for option in re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", help_page, re.M):
                self.assertRegex(sections[verb], rf"(?m)^ +{option}\b", verb)
        for option in re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", overview, re.M):
            self.assertRegex(page, rf"(?m)^ +(-\w, )?{option}\b")

    def test_every_option_of_the_other_programs(self):
        for program in ("gpuprobed", "gpuprobe-worker"):
            wanted = set(re.findall(r"(?<![\w-])--[a-z-]+", printed(BIN / program, "--help")))
            told = set(re.findall(r"(?<![\w-])--[a-z-]+", read(f"{program}.8")))
            self.assertGreater(len(wanted), 5)
            self.assertEqual(wanted - told, set(), f"{program}: options that are not on the page")
            self.assertEqual(told - wanted, set(), f"{program} does not have these options")

    def test_names_and_links_are_whole(self):
        """Tests that underscores do not start emphasis in man pages, and that links that would not work in a man page are removed."""
        told = {page: read(page) for page in ALL}
        for name in ("GPUPROBE_SOCKET", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            self.assertIn(name, told["gpuprobectl.1"])
        schema = json.loads((BIN.parent / "generated/interface/report.schema.json").read_text(encoding="utf-8"))
        members = [name for rule in schema["$defs"].values() for name in rule.get("properties", {})]
        self.assertIn("cuda_compute_capability", members)
        for name in members:
            self.assertRegex(told["gpuprobe-report.5"], rf"(?m)(^| ){name} \(", name)
        for page, text in told.items():
            self.assertNotRegex(text, r"\[[a-z-]+\.md\]|\]\(", page)

    def test_no_markdown_and_no_page_of_the_source_tree_is_left(self):
        """Tests that asterisks and backticks occur only in code, which is bold, and that man pages do not mention a page in docs/."""
        for page in ALL:
            formatted = printed("mandoc", "-T", "utf8", "-O", "width=200", PAGES / page)
            plain = [re.sub(r".\x08.", "", line) for line in formatted.splitlines()]
            self.assertEqual([line for line in plain if re.search("[*`]", line)], [], page)
            self.assertNotRegex(read(page), r"\bdocs/[a-z]", page)
            self.assertNotRegex(printed("man", "-l", PAGES / page), r"\bdocs/[a-z]|`[^`']*`", page)

    def test_see_also_names_pages_that_exist(self):
        others = {"busctl(1)"}
        for page in ALL:
            (names,) = re.findall(r"^SEE ALSO\n((?: .*\n)+)", read(page), re.M)
            for name in re.findall(r"[\w.-]+\(\d\)", names):
                self.assertTrue(name in others or f"{name[:-3]}.{name[-2]}" in ALL, f"{page}: {name}")

    def test_every_member_of_the_interfaces(self):
        page = read("org.gpuprobe.GpuProbe1.5")
        count = 0
        for file in sorted((SOURCE / "dbus").glob("org.gpuprobe.*.xml")):
            for member in ElementTree.parse(file).getroot().iter():
                if member.tag in ("method", "property", "signal"):
                    count += 1
                    self.assertRegex(page, rf"(?m)^   {member.get('name')}[(:]", file.name)
        self.assertGreater(count, 30)


if __name__ == "__main__":
    unittest.main()
