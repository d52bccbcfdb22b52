# SPDX-License-Identifier: Apache-2.0
"""Tests the page's functions in Node.js with strings that contain code or invisible characters."""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unicodedata
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
NODE = shutil.which("node")
STUBS = """
globalThis.cockpit = { gettext: text => text, ngettext: (one, many, number) => number === 1 ? one : many,
                       format: (text, ...parts) => text.replace(/\\$(\\d)/g, (all, at) => parts[at]) };
globalThis.Node = class {};
class Element extends Node {
    constructor(tag) { super(); Object.assign(this, { tag, children: [], attributes: {} }) }
    setAttribute(name, value) { this.attributes[name] = value }
    addEventListener() {}
    append(...children) { this.children.push(...children) }
}
globalThis.document = { createElement: tag => new Element(tag) };
const words = await import("./words.js");
const dom = await import("./dom.js");
const input = JSON.parse(process.argv[2]);
"""
INVISIBLE = (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10), 0xFFA0,
             *range(0xE0100, 0xE01F0))


@unittest.skipIf(NODE is None, "Node.js is not installed")
class HostileTexts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-page-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for file in (SOURCE / "cockpit").glob("*.js"):
            shutil.copy(file, self.folder)
        (self.folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")

    def run_script(self, script, value):
        (self.folder / "test.mjs").write_text(STUBS + f"console.log(JSON.stringify({script}))", encoding="utf-8")
        done = subprocess.run([NODE, "test.mjs", json.dumps(value)], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def elements(self, tag, script, value):
        """Returns all elements with a given tag in the result of the script."""
        def below(node):
            if isinstance(node, dict):
                if node["tag"] == tag:
                    yield node
                for child in node["children"]:
                    yield from below(child)
        return list(below(self.run_script(script, value)))

    def test_the_formats_of_a_codec_are_on_its_card(self):
        codec = {"id": "platform:fdc70000.video-codec", "name": None, "vendor": "rockchip", "kind": "video", "driver": {"name": "rkvdec"},
                 "video": [{"direction": "decode", "codec": codec} for codec in ("vp9", "hevc", "h264")]}
        def shown(accelerator):
            return [child for tag in ("h3", "dd") for found in self.elements(tag, "(await import('./gpus.js')).acceleratorsNode([input])[1]", accelerator)
                    for child in found["children"]]
        self.assertIn("Rockchip video codec", shown(codec))
        self.assertIn("decode h264 hevc vp9", shown(codec))
        self.assertNotIn("decode", " ".join(map(str, shown(codec | {"video": "hostile"}))))

    def test_no_command_is_read_out_of_a_sentence(self):
        for fix in ("on the host, add your account to the group, then log in again: sudo usermod -aG x;touch\u00a0CANARY \"$USER\"", "sudo reboot",
                    "probe the drivers: gpuprobectl probe", "look at it: journalctl -u x", "nvidia-smi -r"):
            self.assertEqual(self.elements("button", "words.fixNode(input)", fix), [], fix)
            self.assertEqual(self.elements("code", "words.fixNode(input)", fix), [], fix)

    def test_each_command_of_a_finding_or_a_reason_has_a_button(self):
        fix = "add your account to the group, then log in again: sudo usermod -aG render \"$USER\""
        command = "sudo usermod -aG render \"$USER\""
        self.assertEqual(len(self.elements("button", "words.fixNode(...input)", [fix, [command]])), 1)
        codes = self.elements("code", "words.fixNode(...input)", [fix, [command]])
        self.assertEqual([code["children"] for code in codes], [[command]])
        learned = """(words.learn([{ Code: "x", Text: "", Fix: input[0], Commands: [input[1]] }]),
            (known => words.fixNode(known.fix, known.commands))(words.inWords({ code: "x" })))"""
        self.assertEqual(len(self.elements("button", learned, [fix, command])), 1)

    def test_variables_are_quoted_for_a_shell(self):
        values = {"A": "$(touch CANARY)", "B": "it's", "C": "a b", "D": "0,1", "E": "", "F": "`id`", "G": "\\", "H": "'\"'", "I": "=ls", "J": "a\\'b\\"}
        lines = self.run_script("words.settings(input)", values)
        self.assertEqual([shlex.split(line) for line in lines], [[f"{name}={value}"] for name, value in values.items()])
        self.assertEqual(self.run_script("words.settings(input)", {"A": "x\u202ey", "B": "x\x00y", "C": "x\x1by"}), [])

    def test_no_character_hides_or_reorders_text(self):
        odd = [chr(point) for point in range(0x110000)
               if unicodedata.category(chr(point)) in ("Cc", "Cf", "Zl", "Zp") or point in INVISIBLE or point in (0xE000, 0xFFFE, 0x10FFFF)]
        text = "x".join(character for character in odd if character not in "\n\t")
        shown = self.elements("p", "dom.h('p', { title: input }, input)", text)[0]
        for told in (shown["children"][0], shown["attributes"]["title"]):
            self.assertEqual(set(told), {"x", "\ufffd"})
        self.assertEqual(self.run_script("dom.printable(input)", "e" + "\u0301" * 99), "e" + "\u0301" * 4 + "\ufffd")
        for kept in ("NVIDIA GeForce RTX™ 4090", "Größe", "显卡", "כרטיס", "🖥", "a\n\tb"):
            self.assertEqual(self.run_script("dom.printable(input)", kept), kept)


if __name__ == "__main__":
    unittest.main()
