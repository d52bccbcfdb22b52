# SPDX-License-Identifier: Apache-2.0
"""Tests that programs and shells parse gpuprobectl's output correctly, regardless of the characters in a value."""
import json
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

from cli_case import SOURCE, environment, run

H200 = SOURCE / "tests/data/machines/nvidia-h200-1"
# All values consist of printable characters, because data files must not contain other characters. No value contains braces, because braces have a
# special meaning in data files.
HOSTILE = ("$(touch CANARY)", "`touch CANARY`", "; touch CANARY", "x\\$(touch CANARY)", "'; touch CANARY; '", "\"; touch CANARY; \"",
           "'\"; touch CANARY; '\"'", "\\'; touch CANARY #", "&& touch CANARY", "| touch CANARY", "x > CANARY", "!touch", "~root", "*", "?",
           "-x", "--", " a  b ", "#x", "%s %n", "=ls", "^x", "(touch CANARY)", "$((1))", "$'x'", "\\", "'", "\"", "''", "a=b", "$HOME", "", "a:=ls",
           "\\'\" ; touch CANARY ; #", "\\'\";touch CANARY;'\"", "\\\\'; touch CANARY; '")
SHELLS = [words for words in (["dash"], ["bash"], ["bash", "--posix"], ["zsh", "-f"], ["fish", "--no-config"]) if shutil.which(words[0])]


def data_file(name, value, **members):
    """Returns the data file of an application that sets one variable."""
    selection = {"backends": ["cpu"], "cpu": "last", "integrated": "never", "strict": False,
                 "reads": ["EXAMPLE_GPU_NAME"], "environment": {"cpu": [{"EXAMPLE_GPU_NAME": value}]}}
    return {"schema": "gpuprobe.application/1", "name": name, "description": "", "selection": {**selection, **members}}


class QuotingCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-quoting-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name in ("touch", "printenv"):
            (self.bin / name).symlink_to(shutil.which(name))

    def ask(self, value, *words, name="example"):
        (self.folder / "example.json").write_text(json.dumps(data_file(name, value)), encoding="utf-8")
        return run(f"--replay={H200}", f"--applications={self.folder}", *words)

    def shell(self, words, script):
        done = subprocess.run([shutil.which(words[0]), *words[1:], "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              check=False, env={"PATH": str(self.bin), "HOME": str(self.folder)})
        self.assertFalse((self.folder / "CANARY").exists(), script)
        return done.stdout


class QuotedEnvironment(QuotingCase):
    def test_means_the_same_to_every_shell(self):
        self.assertTrue(SHELLS)
        for value in HOSTILE:
            done = self.ask(value, "env", "example")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
            for words in SHELLS:
                with self.subTest(value=value, shell=words):
                    line = done.stdout.strip("\n")
                    if words[0] == "fish":
                        line = "set -x " + line.replace("=", " ", 1)
                        line += " ''" if value == "" else ""
                    told = self.shell(words, f"{line if words[0] == 'fish' else 'export ' + line}\nprintenv EXAMPLE_GPU_NAME")
                    self.assertEqual(told, value + "\n")
            self.assertEqual(shlex.split(done.stdout), [f"EXAMPLE_GPU_NAME={value}"])

    def test_is_exact_in_a_document_and_for_a_program(self):
        for value in HOSTILE:
            document = json.loads(self.ask(value, "env", "example", "-j").stdout)
            self.assertEqual(document["environment"], {"EXAMPLE_GPU_NAME": value})
            done = self.ask(value, "run", "example", "--", "/usr/bin/printenv", "EXAMPLE_GPU_NAME")
            self.assertEqual(done.stdout, value + "\n")


class DataFiles(QuotingCase):
    """Tests that no data file can set a dangerous variable, regardless of who wrote the data file."""
    LOADING = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS", "VK_LAYER_PATH", "GGML_BACKEND_PATH",
               "OLLAMA_HOST", "HOME", "TMPDIR", "GIT_SSH_COMMAND", "CUDA_INJECTION64_PATH", "HSA_TOOLS_LIB", "XDG_DATA_DIRS")

    def write(self, **members):
        document = data_file("example", "1", **members)
        (self.folder / "example.json").write_text(json.dumps(document), encoding="utf-8")

    def test_no_member_sets_what_loads_code(self):
        for variable in self.LOADING:
            for members in ({"reads": [variable], "environment": {"cpu": [{variable: "/tmp/evil"}]}},
                            {"reads": ["cuda"], "forwards": [variable], "environment": {"cpu": [{variable: "/tmp/evil"}]}},
                            {"reads": [variable], "environment": {}, "integrated_by": {variable: "/tmp/evil"}}):
                self.write(**members)
                with self.subTest(variable=variable, members=sorted(members)):
                    for words in (["run", "example", "--", "/usr/bin/env"], ["env", "example"], ["select", "example"]):
                        done = run(f"--replay={H200}", f"--applications={self.folder}", *words)
                        self.assertNotEqual(done.returncode, 0)
                        self.assertNotIn("/tmp/evil", done.stdout)
                        self.assertIn(variable, done.stderr)
                        self.assertIn("example.json", done.stderr)

    def test_no_value_loads_a_file_of_its_own(self):
        for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "OCL_ICD_VENDORS", "__GLX_VENDOR_LIBRARY_NAME"):
            self.write(reads=[variable], environment={"cpu": [{variable: "/tmp/evil"}]})
            done = run(f"--replay={H200}", f"--applications={self.folder}", "env", "example")
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("/tmp/evil", done.stdout)

    def test_a_manifest_sets_nothing_either(self):
        manifest = {"schema": "gpuprobe.variants/1", "name": "example", "platforms": {"linux-x86_64": {"variants": {
            "cpu": {"env": {"LD_PRELOAD": "/tmp/evil.so"}}}}}}
        file = self.folder / "manifest.json"
        file.write_text(json.dumps(manifest), encoding="utf-8")
        done = run(f"--replay={H200}", "recommend", f"--manifest={file}")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("manifest.json", done.stderr)
        self.assertIn("platforms.linux-x86_64.variants.cpu.env.LD_PRELOAD: a data file must not name this variable", done.stderr)


class QuotedExports(QuotingCase):
    """Tests of exports in the formats of other programs, which have different rules for quoting."""

    def machine(self, name):
        machine = self.folder / "machine"
        shutil.rmtree(machine, ignore_errors=True)
        shutil.copytree(H200, machine, symlinks=True)
        for file in (machine / "probes").glob("*.json"):
            text = file.read_text(encoding="utf-8")
            for known in ("NVIDIA H200", "580.159.04"):
                text = text.replace(known, json.dumps(name)[1:-1])
            file.write_text(text, encoding="utf-8")
        return machine

    def test_prometheus_labels(self):
        for value in (*HOSTILE, "a\"} 1\ngpuprobe_evil{x=\"", "a\\", "a\nb", "a\\\"b"):
            text = run(f"--replay={self.machine(value)}", "export", "prometheus").stdout
            self.assertIn("gpuprobe_gpu_info{", text)
            for line in text.splitlines():
                self.assertRegex(line, r'^(# (HELP|TYPE) [a-z_]+ .*|[a-z_]+(\{([a-zA-Z_]+="([^"\\\n]|\\["\\n])*",?)*\})? [-+.e0-9]+)$')

    def test_lines_of_features_and_gres(self):
        for value in (*HOSTILE, "a\nName=evil", "a\n# +evil", "a b=c"):
            machine = self.machine(value)
            for line in run(f"--replay={machine}", "export", "nfd").stdout.splitlines():
                self.assertRegex(line, r"^(# gpuprobe .*|# \+(expiry-time=.*|no-label)|[a-z0-9./_-]+=.*)$", value)
            for line in run(f"--replay={machine}", "export", "slurm").stdout.splitlines():
                self.assertRegex(line, r"^(#.*|(NodeName|Name|AutoDetect)[A-Za-z0-9=:/,._ \[\]-]*|)$", value)

    def test_commands_of_installers(self):
        for words in (["export", "conda"], ["export", "uv"], ["export", "wheel"], ["export", "ggml"], ["export", "container"]):
            for value in HOSTILE[:12]:
                done = run(f"--replay={self.machine(value)}", *words)
                if done.returncode == 0:
                    self.shell(["dash"], done.stdout)


if __name__ == "__main__":
    unittest.main()
