# SPDX-License-Identifier: Apache-2.0
"""Tests that redacted captures and the doctor's bug reports contain nothing that identifies a card, a machine or a person, regardless of the output
of drivers and the names of their files."""
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

from cli_case import BIN, CTL, environment

FAKES = pathlib.Path(os.environ.get("GPUPROBE_FAKES", "/nonexistent"))
CALLER = "quentin-roe"
HOST = socket.gethostname()
PEOPLE = [one for one in pwd.getpwall() if 1000 <= one.pw_uid < 65534]
MARK = "the driver says"

# Pairs of the text before an identifier, and the identifier.
IDENTIFIERS = [
    ("uuid", "80085d7a-5b7a-730a-fa19-3e8d3c64b84f"),
    ("UUID GPU-", "91196E8B-6C8B-841B-FB2A-4F9E4D75C95A"),
    ("uuid without dashes", "a22a7f9c7d9c952c0c3b5faf5e86da6b"),
    ("unique_id", "f08d1ef4ad0d2a3b"),
    ("unique_id as a number: unique_id", "17333131577230011963"),
    ("at", "0xf19e2f05be1e3b4c"),
    ("token-like hex", "9c0d1e2f3a4b5c6d7e8f9a0b"),
    ("board serial number:", "1320921023434"),
    ("bare number", "0324218012345"),
    ("Serial Number : ", "PF3XK9QZ"),
    ("serial=", "S4EWNX0R123456"),
    ("disk", "WD-WX21AB3C4567"),
    ("wwn-", "0x5000c500a1b2c3d4"),
    ("eui.", "0025388b71b0f2e7"),
    ("naa.", "600508b1001c4d2f"),
    ("MAC", "3c:7c:3f:1e:aa:51"),
    ("MAC with dashes", "3C-7C-3F-1E-AA-52"),
    ("MAC of Cisco", "3c7c.3f1e.aa53"),
    ("MAC alone", "3c7c3f1eaa54"),
    ("Device Serial Number", "48-b0-2d-ff-ff-7b-9e-11"),
    ("machine-id", "b08dfa6083e7567a1921a715000001fb"),
    ("boot-id", "bd0f6b39-6a65-4b54-8a3e-7f9f0a7b1c2d"),
    ("IPv4", "192.168.17.23"),
    ("IPv6", "2001:db8:85a3::8a2e:370:7334"),
    ("link", "fe80::3e7c:3fff:fe1e:aa51"),
    ("IPv6 whole", "2001:0db8:0000:0000:0000:ff00:0042:8329"),
    ("mail", "marta.quell@example.org"),
    ("login", "marta@workstation9"),
    ("see", "https://marta:hunter22@git.quell-corp.example/x"),
    ("host", "printer7.lan"),
    ("hostname:", "marta-desktop"),
    ("user=", "martaq"),
    ("opened", "/home/marta/.nv/cache"),
    ("opened", "/var/home/marta2/driver"),
    ("opened", "/Users/marta3/driver"),
    ("opened", "/root/.cache/nv"),
    ("socket", "/run/user/1234/bus"),
    ("slice", "user-1234.slice"),
    ("token=", "ghp_x1y2z3"),
    ("password:", "correct horse battery"),
    ("Authorization: Bearer", "abc.def.ghi1"),
    ("key", "AKIAIOSFODNN7EXAMPLEkey9Zq"),
    ("padded", "c2VjcmV0LXRva2Vu=="),
    ('"api_key": "', "zz-99-secret"),
    ("SSID:", "Quell Family Net"),
    ("Board Part Number:", "900-21010-0000-000"),
    ("VBIOS serial:", "VB12345X"),
    ("Asset Tag:", "QC-00917"),
    ("Service Tag:", "7XKQ2L2"),
    ("IMEI", "356938035643809"),
    ("called by", CALLER),
    ("as", f"{HOST}.quell-corp.example"),
    *([("on", HOST)] if len(HOST) > 4 else []),  # a shorter name may be part of a word
    *[("for", one.pw_name) for one in PEOPLE],
    *[("in", one.pw_dir) for one in PEOPLE if one.pw_dir.count("/") > 1],
]

# {identifier: the part that no file may contain}, for identifiers that are redacted only in part.
PARTS = {f"{HOST}.quell-corp.example": "quell-corp", "/home/marta/.nv/cache": "marta", "/var/home/marta2/driver": "marta2", "/Users/marta3/driver": "marta3",
         "/root/.cache/nv": "/root", "/run/user/1234/bus": "1234/bus", "user-1234.slice": "user-1234",
         "https://marta:hunter22@git.quell-corp.example/x": "hunter22"}

WORKER = """#!/bin/sh
if [ -f "{folder}/said/$1" ]; then cat "{folder}/said/$1" >&2; exit 1; fi
export LD_LIBRARY_PATH={fakes}/nvidia/healthy
exec {bin}/gpuprobe-worker "$@"
"""
APIS = ("cuda", "hip", "level_zero", "level_zero_sysman")
BARE = re.compile(r"[-:. ]")


def spellings(identifier):
    text = PARTS.get(identifier, identifier)
    return {text, text.lower(), text.upper(), *((BARE.sub("", text).lower(),) if len(text) > 8 else ())}


def everything(folder):
    """Returns the names and contents of all files: unchanged, in lower case, and without punctuation and spaces."""
    texts = []
    for path in sorted(pathlib.Path(folder).rglob("*")):
        texts.append(str(path.relative_to(folder)))
        if path.is_symlink():
            texts.append(os.readlink(path))
        elif path.is_file():
            texts.append(path.read_text(encoding="utf-8", errors="replace"))
    whole = "\n".join(texts)
    return "\n".join((whole, whole.lower(), BARE.sub("", whole).lower()))


@unittest.skipUnless((FAKES / "nvidia/healthy").exists(), "the fake drivers are not built")
class TalkativeDriver(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "said").mkdir()
        size = -(-len(IDENTIFIERS) // len(APIS))
        for number, api in enumerate(APIS):
            lines = [f"{MARK}: {words} {text}" if not words.endswith(("=", "-", ".", '"')) else f"{MARK}: {words}{text}"
                     for words, text in IDENTIFIERS[number * size:(number + 1) * size]]
            (self.folder / "said" / api).write_text("\n".join(lines) + "\n", encoding="utf-8")
        worker = self.folder / "worker"
        worker.write_text(WORKER.format(folder=self.folder, fakes=FAKES, bin=BIN), encoding="utf-8")
        worker.chmod(0o755)
        self.assertGreaterEqual(len(IDENTIFIERS), 40)

    def run_with_it(self, *words):
        done = subprocess.run([CTL, "--direct", "--no-cache", f"--worker={self.folder}/worker", *words],
                              env=environment(SUDO_USER=CALLER), capture_output=True, text=True, timeout=100, check=False)
        self.assertIn(done.returncode, (0, 6), done.stderr)
        return done.stdout

    def capture(self, *options):
        folder = self.folder / "capture"
        self.run_with_it("capture", str(folder), *options)
        return folder

    def expect_nothing_of_it(self, text):
        for words, identifier in IDENTIFIERS:
            for spelling in spellings(identifier):
                self.assertNotIn(spelling, text, f"{words} {identifier}")

    def test_its_words_are_all_in_a_whole_capture(self):
        text = everything(self.capture())
        for _, identifier in IDENTIFIERS:
            self.assertIn(identifier, text)

    def test_nothing_that_it_printed_is_in_a_redacted_capture(self):
        folder = self.capture("--redact")
        text = everything(folder)
        self.assertNotIn(MARK, text)
        self.expect_nothing_of_it(text)
        self.assertEqual(json.loads((folder / "probes/cuda.json").read_text())["outcome"], "failed")

    def test_its_words_are_kept_without_identifiers_if_asked(self):
        text = everything(self.capture("--redact", "--with-driver-output"))
        self.assertEqual(text.count(MARK), 2 * len(IDENTIFIERS))  # once unchanged, and once in lower case
        self.expect_nothing_of_it(text)

    def test_the_doctors_report_holds_nothing_of_it(self):
        file = self.folder / "report.json"
        self.run_with_it("doctor", "--bug-report", str(file))
        text = file.read_text(encoding="utf-8")
        self.assertNotIn(MARK, text)
        self.expect_nothing_of_it(text + text.lower() + BARE.sub("", text).lower())

    def test_a_redacted_capture_answers_as_the_machine(self):
        answers = []
        for options in ((), ("--redact",)):
            folder = self.capture(*options)
            done = subprocess.run([CTL, f"--replay={folder}", "describe", "-j"], env=environment(), capture_output=True,
                                  text=True, timeout=60, check=True)
            report = json.loads(done.stdout)
            answers.append([[(probe["api"], probe["driver"], probe["outcome"]) for probe in report["probes"]],
                            [(one["api"], one["device"]["name"]) for one in report["software"]],
                            [(gpu["id"], gpu["name"], gpu["memory"]["physical"], sorted(gpu["apis"]),
                              {name: view["usable"] for name, view in gpu["backends"].items()}) for gpu in report["gpus"]]])
            shutil.rmtree(folder)
        self.assertEqual(*answers)

    def test_output_is_kept_only_of_a_redacted_capture(self):
        done = subprocess.run([CTL, "--direct", "capture", str(self.folder / "x"), "--with-driver-output"],
                              env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--with-driver-output requires --redact", done.stderr)


if __name__ == "__main__":
    unittest.main()
