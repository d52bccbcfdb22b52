# SPDX-License-Identifier: Apache-2.0
"""Tests that our provider of wheel variants gives the same answers as the vendors' providers, and that variantlib loads our provider.

The answers of the vendors' providers are recorded in tests/data/wheel_variants.json. GPUPROBE_ACCEPT=1 records these answers again if
$GPUPROBE_WHEELNEXT contains the vendors' providers."""
import collections
import configparser
import copy
import importlib.util
import json
import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
import unittest
import zipfile

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
PATHS = [str(SOURCE / "src/python"), str(SOURCE / "src/variant_provider")]
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(SOURCE / "tests/integration/socket"), *PATHS]
import real_providers  # noqa: E402
from socket_case import BIN, H200, MACHINES, SocketCase  # noqa: E402

from gpuprobe_variant_provider import PLUGINS, properties  # noqa: E402

RECORDED = SOURCE / "tests/data/wheel_variants.json"
VERSIONS = ["10.2", "11.0", "11.8", "12.0", "12.4", "12.6", "12.8", "12.9", "13.0", "13.2", "15.20", "16.0"]


def describe(machine):
    done = subprocess.run([BIN / "gpuprobectl", f"--replay={machine}", "-j", "describe"], capture_output=True, text=True,
                          timeout=60, check=True)
    return json.loads(done.stdout)


def captures():
    return sorted(path for path in MACHINES.iterdir() if path.is_dir() and path.name != "LICENSES")


def with_all_drivers(report):
    """Changes a report as if CUDA 12.8, ROCm 7.0 and Level Zero were installed and worked on all GPUs of the respective vendors."""
    report = copy.deepcopy(report)
    report["runtimes"] |= {"cuda": {"version": "12.8"}, "nvml": {}, "hip": {"release": "7.0.2-56"}, "level_zero": {}}
    for gpu in report["gpus"]:
        for vendor, backend, apis in (("nvidia", "cuda", ("cuda", "nvml")), ("amd", "rocm", ("hip",)),
                                      ("intel", "sycl", ("level_zero",))):
            if gpu["vendor"] == vendor:
                gpu["backends"][backend]["usable"] = True
                gpu["apis"] |= {api: {"outcome": "answered"} for api in apis}
    return report


def told_by(report):
    """Returns {namespace: facts that the drivers of the machine in a report would give to the vendor's provider}."""
    def of(api, key):
        gpus = [gpu for gpu in report["gpus"] if gpu["apis"].get(api, {}).get("outcome") == "answered"]
        return [gpu["architecture"][key] for gpu in gpus if gpu["architecture"][key]]
    runtimes = collections.defaultdict(dict, {name: runtime or {} for name, runtime in report["runtimes"].items()})
    rocm = (runtimes["hip"].get("release") or "").split("-")[0]
    return {"nvidia": {"cuda": runtimes["cuda"].get("version"), "capabilities": of("nvml", "cuda_compute_capability")},
            "amd": {"rocm": rocm, "targets": [target.split(":")[0] for target in of("hip", "gfx_target")]},
            "intel": {"versions": of("level_zero", "intel_ip")}}


def as_recorded(recorded, told):
    """Returns the answers that the vendors' providers would give for the given facts, combined from the recorded answers for each single value."""
    nvidia, amd, intel = told["nvidia"], told["amd"], told["intel"]
    found = {"nvidia": {}, "amd": {}, "intel": {}}
    if nvidia["cuda"] and nvidia["capabilities"]:
        best = max(nvidia["capabilities"], key=lambda text: tuple(map(int, text.split("."))))
        found["nvidia"] = dict(recorded["cuda"][nvidia["cuda"]])
        if found["nvidia"] and recorded["capability"][best]:
            found["nvidia"]["sm_arch"] = recorded["capability"][best]
    if amd["targets"]:
        found["amd"]["gfx_arch"] = sorted({value for target in amd["targets"] for value in recorded["target"][target]})
    if amd["rocm"]:
        found["amd"]["rocm_version"] = recorded["rocm"][amd["rocm"]]
    ips = list(dict.fromkeys(value for version in intel["versions"] for value in recorded["ip"][version]))
    found["intel"] = {"device_ip": ips} if ips else {}
    return found


def record(reports):
    """Returns the answers of the vendors' providers for each value that occurs on one of the machines."""
    told = [told_by(with_all_drivers(report)) for report in reports]

    def all_of(namespace, key):
        return sorted({word for each in told for word in each[namespace][key]})

    def ask(namespace, feature, **words):
        answer = real_providers.answer(namespace, words)
        return answer if feature is None else answer.get(feature, [])
    bounds = {version: ask("nvidia", None, cuda=version, capabilities=["3.5"]) for version in VERSIONS}
    return {
        "source": {"nvidia": "wheelnext/nvidia-variant-provider@ffea5d3b", "amd": "wheelnext/amd-variant-provider@4d985a99",
                   "intel": "wheelnext/intel-variant-provider@9516bd28"},
        "all": {namespace: ask(namespace, None, all=True, cuda="12.0", capabilities=[], targets=[], rocm="", versions=[])
                for namespace in ("nvidia", "amd", "intel")},
        "cuda": bounds,
        "capability": {word: ask("nvidia", "sm_arch", cuda="12.8", capabilities=["3.0", word])
                       for word in all_of("nvidia", "capabilities")},
        "target": {word: ask("amd", "gfx_arch", targets=[word], rocm="") for word in all_of("amd", "targets")},
        "rocm": {word: ask("amd", "rocm_version", targets=[], rocm=word) for word in ("6.3.1", "7.0.2")},
        "ip": {word: ask("intel", "device_ip", versions=[word]) for word in all_of("intel", "versions")},
    }


class WheelVariants(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.reports = {path.name: describe(path) for path in captures()}
        cls.recorded = json.loads(RECORDED.read_text(encoding="utf-8"))

    def test_as_the_vendors_providers_where_all_drivers_answer(self):
        answered = collections.Counter()
        for name, recorded in self.reports.items():
            report = with_all_drivers(recorded)
            vendors = {gpu["vendor"] for gpu in report["gpus"]}
            found = properties(report)
            wanted = as_recorded(self.recorded, told_by(report))
            if "amd" not in vendors:
                wanted["amd"] = {}  # AMD's provider reports ROCm even without a GPU
            if "nvidia" in vendors and not wanted["nvidia"]:
                wanted["nvidia"] = self.recorded["cuda"]["12.8"]  # NVIDIA's provider fails if no compute capability is known
            self.assertEqual(found, wanted, name)
            answered.update(namespace for namespace in found if wanted[namespace])
        self.assertGreater(min(answered[name] for name in ("nvidia", "amd", "intel")), 8, answered)

    def test_as_the_vendors_providers_on_the_machines_as_recorded(self):
        for name, report in self.reports.items():
            self.assertEqual(properties(report), as_recorded(self.recorded, told_by(report)), name)
        self.assertIn("90_real", properties(self.reports["nvidia-h200-1"])["nvidia"]["sm_arch"])

    def test_counts_only_gpus_that_a_program_can_use(self):
        report = with_all_drivers(self.reports["nvidia-h200-2"])
        older = report["gpus"][1]
        older["architecture"]["cuda_compute_capability"] = "6.1"
        self.assertIn("90_real", properties(report)["nvidia"]["sm_arch"])
        report["gpus"][0]["backends"]["cuda"]["usable"] = False
        self.assertEqual(properties(report)["nvidia"]["sm_arch"], ["61_real", "60_real", "60_virtual"])
        older["backends"]["cuda"]["usable"] = None  # as on a machine where CUDA was not probed
        self.assertEqual(properties(report)["nvidia"], {})

    def test_takes_nothing_for_a_version_that_is_none(self):
        report = with_all_drivers(self.reports["nvidia-h200-1"])
        for text in (None, "", "12", "twelve.eight", "12.x", "-", ".", "10.2", "16.0", "²³.1"):
            report["runtimes"]["cuda"]["version"] = text
            self.assertEqual(properties(report)["nvidia"], {}, text)
        report["runtimes"]["cuda"] = None
        self.assertEqual(properties(report)["nvidia"], {})

    def test_names_and_values_are_as_variantlib_wants_them(self):
        word, value = re.compile(r"[a-z0-9_]+"), re.compile(r"[a-z0-9_.]+")
        for plugin in PLUGINS:
            self.assertTrue(word.fullmatch(plugin.namespace))
            for report in map(with_all_drivers, self.reports.values()):
                configs = plugin.of(report)
                self.assertEqual(len({config.name for config in configs}), len(configs))
                for config in configs:
                    self.assertTrue(word.fullmatch(config.name) and config.values and isinstance(config.multi_value, bool))
                    self.assertTrue(all(map(value.fullmatch, config.values)), config)
                    self.assertEqual(len(set(config.values)), len(config.values))

    def test_knows_all_that_the_vendors_providers_know(self):
        for plugin in PLUGINS[::2]:
            self.assertEqual({config.name: config.values for config in plugin.get_all_configs()},
                             self.recorded["all"][plugin.namespace])
        amd = self.recorded["all"]["amd"]
        self.assertEqual([list(PLUGINS[1].VERSIONS), list(PLUGINS[1].TARGETS)], [amd["rocm_version"], amd["gfx_arch"]])


def built(project, folder):
    """Builds the wheel of a project in src. Returns its path."""
    copy = pathlib.Path(folder, project)
    shutil.copytree(SOURCE / "src" / project, copy)
    done = subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder,
                           copy], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    (wheel,) = pathlib.Path(folder).glob(f"{'gpuprobe-' if project == 'python' else 'gpuprobe_'}*.whl")
    return wheel


@unittest.skipUnless(all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel"))), "pip, setuptools or wheel is not installed")
class Wheels(unittest.TestCase):
    def test_hold_their_modules_and_say_what_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            with zipfile.ZipFile(built("python", folder)) as wheel:
                self.assertLessEqual({"gpuprobe/_client.py", "gpuprobe/py.typed"}, set(wheel.namelist()))
            with zipfile.ZipFile(built("variant_provider", folder)) as wheel:
                names = {name.split("/")[-1]: name for name in wheel.namelist()}
                self.assertLessEqual({"__init__.py", "__main__.py", "py.typed"}, set(names))
                self.assertIn("Requires-Dist: gpuprobe", wheel.read(names["METADATA"]).decode())
                self.assertIn("[variant_plugins]\ngpuprobe_amd = gpuprobe_variant_provider:Amd\n",
                              wheel.read(names["entry_points.txt"]).decode())


class StaticList(SocketCase):
    def run_module(self, *words, **environment):
        return subprocess.run([sys.executable, "-m", "gpuprobe_variant_provider", *words], capture_output=True, text=True,
                              timeout=60, check=False,
                              env={**os.environ, "PYTHONPATH": ":".join(PATHS), "GPUPROBE_SOCKET": self.path, **environment})

    def test_is_what_uv_reads(self):
        self.start()
        file = pathlib.Path(self.folder, "variants.toml")
        file.write_text("old", encoding="utf-8")
        self.assertEqual(self.run_module("--daemon-only", f"--output={file}").returncode, 0)
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o644)
        read = tomllib.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(set(read["metadata"]), {"created-by", "version"})
        by_name = {provider["namespace"]: provider for provider in read["provider"]}
        self.assertEqual(list(by_name), ["nvidia", "amd", "intel"])
        found = properties(describe(H200))
        self.assertIn("13.0", found["nvidia"]["cuda_version_lower_bound"])
        for name, provider in by_name.items():
            self.assertEqual(provider["properties"], found[name])
            self.assertEqual(list(provider["properties"]), list(found[name]))
            self.assertRegex(provider["resolved"][0], r"^[a-z-]+==[0-9.]+$")
            self.assertRegex(provider["plugin-api"], r"^[a-z_.]+:\w+$")
        self.assertEqual(os.listdir(self.folder).count("variants.toml"), 1)

    def test_stays_as_it_was_where_nobody_answers(self):
        file = pathlib.Path(self.folder, "variants.toml")
        file.write_text("old", encoding="utf-8")
        done = self.run_module("--daemon-only", f"--output={file}")
        self.assertEqual((done.returncode, file.read_text(encoding="utf-8")), (1, "old"))
        self.assertIn("python3 -m gpuprobe_variant_provider", done.stderr)
        self.start()
        done = self.run_module(f"--output={self.folder}/none/variants.toml")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("Traceback", done.stderr)

    def test_a_plugin_answers_nothing_where_nobody_does(self):
        text = "import gpuprobe_variant_provider as p; print([plugin.get_supported_configs() for plugin in p.PLUGINS])"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True,
                              env={"PATH": self.folder, "PYTHONPATH": ":".join(PATHS), "GPUPROBE_SOCKET": self.path})
        self.assertEqual(done.stdout, "[[], [], []]\n")
        self.assertEqual(done.stderr.count("gpuprobe does not answer"), 1, done.stderr)


class BootUnit(SocketCase):
    """Tests gpuprobe-export@wheel-variants.service as systemd would run it, but with wheels instead of Debian's package."""

    def settings(self):
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str
        # configparser uses the last of several lines with the same name. systemd also uses the last of these lines, because an empty line resets the
        # setting.
        unit.read([BIN.parent / "systemd/gpuprobe-export@.service", SOURCE / "systemd/export/wheel-variants.conf"], encoding="utf-8")
        return unit["Service"]

    def environment_with_wheels(self):
        """Makes a virtual environment with the wheels, because python -I ignores PYTHONPATH. Returns the path of the Python in this environment."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{self.folder}/venv"], check=True, timeout=100)
        (site,) = pathlib.Path(self.folder, "venv").glob("lib/python3*/site-packages")
        for project in ("python", "variant_provider"):
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", f"--target={site}",
                            built(project, self.folder)], capture_output=True, timeout=100, check=True)
        return f"{self.folder}/venv/bin/python3"

    @unittest.skipUnless(all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel"))), "pip, setuptools or wheel is not installed")
    def test_writes_the_list(self):
        settings = self.settings()
        python, *words = shlex.split(settings["ExecStart"])
        self.assertEqual((python, settings["Type"]), ("/usr/bin/python3", "oneshot"))
        folder = f"/run/{settings['RuntimeDirectory']}"
        (output,) = [word for word in words if folder in word]
        self.assertEqual(output, f"--output={folder}/variants.toml")
        self.assertIn(f"UV_VARIANT_LOCK={folder}/variants.toml", (SOURCE / "docs/applications.md").read_text(encoding="utf-8"))
        runtime = pathlib.Path(self.folder, settings["RuntimeDirectory"])
        runtime.mkdir()
        command = [self.environment_with_wheels(), *(word.replace(folder, str(runtime)) for word in words)]
        self.start()
        done = subprocess.run(command, env={"PATH": "/usr/bin", "GPUPROBE_SOCKET": self.path}, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        read = tomllib.loads((runtime / "variants.toml").read_text(encoding="utf-8"))
        self.assertEqual(read["provider"][0]["properties"], properties(describe(H200))["nvidia"])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_is_a_unit_that_systemd_takes(self):
        unit = pathlib.Path(self.folder, "gpuprobe-export@wheel-variants.service")
        shutil.copy(BIN.parent / "systemd/gpuprobe-export@.service", unit)
        drop_in = unit.with_name(f"{unit.name}.d")
        drop_in.mkdir()
        shutil.copy(SOURCE / "systemd/export/wheel-variants.conf", drop_in)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60, check=False)
        complaints = [line for line in done.stderr.splitlines() if "wheel-variants" in line]
        # The unit depends on gpuprobed.service, which is not installed on the test machine.
        self.assertEqual([line for line in complaints if "gpuprobed.service" not in line], [])


@unittest.skipUnless(real_providers.FOLDER, "GPUPROBE_WHEELNEXT is not set to a folder with variantlib and the vendors' providers")
class WithVariantlib(SocketCase):
    """Tests with the real loader, which runs the plugins in a separate process, and with the vendors' providers."""

    def test_the_record_is_what_the_vendors_providers_answer(self):
        made = record([describe(path) for path in captures()])
        if os.environ.get("GPUPROBE_ACCEPT"):
            RECORDED.write_text(json.dumps(made, separators=(",", ":")).replace('"},"', '"},\n"').replace("]},", "]},\n")
                                .replace('],"', '],\n"') + "\n", encoding="utf-8")
        self.assertEqual(json.loads(RECORDED.read_text(encoding="utf-8")), made)
        mixed = {"cuda": "12.8", "capabilities": ["6.1", "9.0", "8.6"]}
        self.assertEqual(real_providers.answer("nvidia", mixed),
                         as_recorded(made, {"nvidia": mixed, "amd": {"targets": [], "rocm": ""}, "intel": {"versions": []}})["nvidia"])

    def load(self, text, paths=PATHS):
        path = ":".join([*map(str, paths), f"{real_providers.FOLDER}/variantlib"])
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=100, check=False,
                              env={**os.environ, "PYTHONPATH": path, "GPUPROBE_SOCKET": self.path})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    TELL = "print(json.dumps({space: {each.name: each.values for each in found.configs} for space, found in told.items()}))"

    def test_loads_the_plugins(self):
        self.start()
        load = """
import json
from variantlib.plugins.loader import ListPluginLoader
with ListPluginLoader(["gpuprobe_variant_provider:" + name for name in ("Nvidia", "Amd", "Intel")]) as loader:
    assert sorted(loader.namespaces) == ["amd", "intel", "nvidia"], loader.namespaces
    told = loader.get_%s_configs()
""" + self.TELL
        found = properties(describe(H200))
        self.assertEqual(self.load(load % "supported"), {"nvidia": found["nvidia"]})  # the loader leaves out namespaces without values
        self.assertEqual(set(self.load(load % "all")), {"nvidia", "amd", "intel"})

    def test_finds_the_plugins_of_an_installed_wheel(self):
        self.start()
        site = pathlib.Path(self.folder, "site")
        for project in ("python", "variant_provider"):
            wheel = built(project, self.folder)
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", f"--target={site}", wheel],
                           capture_output=True, timeout=100, check=True)
        load = """
import json
from variantlib.plugins.loader import EntryPointPluginLoader
with EntryPointPluginLoader() as loader:
    told = loader.get_supported_configs()
""" + self.TELL
        self.assertEqual(self.load(load, [site]), {"nvidia": properties(describe(H200))["nvidia"]})

    def test_takes_the_static_list(self):
        self.start()
        given = subprocess.run([sys.executable, "-m", "gpuprobe_variant_provider", "--format=json"], capture_output=True,
                               text=True, timeout=60, check=True,
                               env={**os.environ, "PYTHONPATH": ":".join(PATHS), "GPUPROBE_SOCKET": self.path}).stdout
        load = f"""
import json
from variantlib.plugins.loader import ListPluginLoader
with ListPluginLoader([]) as loader:
    loader._package_defined_properties = json.loads({given!r})
    told = loader.get_supported_configs()
""" + self.TELL
        self.assertEqual(self.load(load), {"nvidia": properties(describe(H200))["nvidia"]})


if __name__ == "__main__":
    unittest.main()
