#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the page and gpuprobectl show the same messages about the same recorded machine."""
import collections
import json
import re
import subprocess
import unittest

from page_case import BIN, MACHINES, SOURCE, PageCase


def ctl(machine, *words):
    """Returns the output of gpuprobectl for a recorded machine, including standard error."""
    done = subprocess.run([BIN / "gpuprobectl", f"--replay={MACHINES / machine}", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.stdout


def joined(headline):
    """Converts a headline of gpuprobectl, which names each GPU with its id, to the form on the page: "cu132 on 4 x NVIDIA H200"."""
    found = re.fullmatch(r"(.*?) on (.*?)(|, perhaps.*| by default.*)", headline)
    if not found:
        return headline
    variant, gpus, rest = found.groups()
    counts = collections.Counter(re.findall(r"(.+?) \([^)]*\)(?:, |$)", gpus))
    return f"{variant} on {', '.join(name if count == 1 else f'{count} x {name}' for name, count in counts.items())}{rest}"


class Same(PageCase):
    """Tests that the page shows gpuprobectl's sentences. Sentences begin with a lower-case letter only inside other sentences."""

    # Machines on which a backend is chosen or not; without GPUs, and with equal, different, known, unknown and partitioned GPUs; with accelerators;
    # and with WSL.
    MACHINES = ("nvidia-h200-4", "soc-strix-halo", "pc-three-vendors", "nvidia-h100-mig-mixed", "software-only",
                "soc-rk3588-mainline", "wsl2-nvidia")
    # Variants that fit, variants that may fit, and a variant for which it is unknown whether the system is suitable.
    VARIANTS = (("nvidia-h200-4", "torch"), ("nvidia-h200-1", "llama.cpp"), ("pc-three-vendors", "torch"),
                ("pc-three-vendors", "llama.cpp"), ("soc-gb10", "ollama"), ("identity-yzma-4070", "torch"))

    def open_machine(self, machine):
        if self.daemon:
            self.end_daemon()
        self.serve(MACHINES / machine)
        self.show()
        self.ask("run", script="document.querySelectorAll('details').forEach(one => { one.open = true })")

    def details(self, heading):
        """Returns the text below a given heading on all cards."""
        return "\n".join(text for text in self.ask("run", script="""[...document.querySelectorAll("#gpus details")]
            .map(one => one.innerText)""") if text.startswith(heading))

    def test_status(self):
        for machine in self.MACHINES:
            with self.subTest(machine):
                self.open_machine(machine)
                report = json.loads(ctl(machine, "describe", "-j"))
                number = len(report["gpus"])
                count = {0: "No GPUs", 1: "1 GPU"}.get(number, f"{number} GPUs")
                backend = json.loads(ctl(machine, "select", "default", "-j"))["backend"]
                headline = self.text("#headline")
                self.assertTrue(headline.startswith(count), headline)
                self.assertIn(f"default: {backend}".lower() if backend else "no default: no backend can be used", headline.lower())
                self.assert_host(report["host"])
                for finding in json.loads(ctl(machine, "doctor", "-j"))["findings"]:
                    if finding["fix"]:
                        self.assertIn(finding["sentence"], self.text("#helps"))
                for accelerator in report["accelerators"]:
                    self.assert_accelerator(accelerator)
                for software in report["software"]:
                    self.assertIn(software["name"], self.text("#machine"))

    def assert_host(self, host):
        for key in ("kernel", "arch", "container"):
            if host[key]:
                self.assertIn(host[key], self.text("#machine"))

    def assert_accelerator(self, accelerator):
        """Checks that the page shows the accelerator's id and a name that is not only a number."""
        card = next(text for text in self.ask("run", script="[...document.querySelectorAll('#accelerators article')].map(one => one.innerText)")
                    if accelerator["id"] in text)
        name = card.split("\n")[0]
        self.assertNotRegex(name, r"[0-9a-f]{4}:[0-9a-f]{4}|^(platform|pci):")
        self.assertIn(accelerator["vendor"] if not accelerator["name"] or ":" in accelerator["name"] else accelerator["name"].lower(), name.lower())

    def test_why_a_backend_cannot_be_used(self):
        """Tests that each sentence with which `select` rejects a backend is on the GPU's card, unless the backend is for other GPUs."""
        for machine in ("nvidia-h200-4", "nvidia-h100-mig-mixed"):
            with self.subTest(machine):
                self.open_machine(machine)
                told = self.details("Not usable") + self.details("Not known")
                reasons = [(reason["code"], reason["text"]) for candidate in json.loads(ctl(machine, "select", "default", "--explain", "-j"))["candidates"]
                           if candidate["gpu"] for reason in candidate["reasons"] if "no-permission" not in reason["code"]]
                views = {reason["code"] for gpu in json.loads(ctl(machine, "describe", "-j"))["gpus"] for view in gpu["backends"].values()
                         for reason in view["reasons"] if not view["usable"]} - {"vendor-mismatch"}
                checked = {text for code, text in reasons if code in views}
                self.assertTrue(checked)
                for text in checked:
                    self.assertIn(text, told)

    def test_backends_of_a_gpu(self):
        self.open_machine("nvidia-h200-4")
        shown = ctl("nvidia-h200-4", "show", "--all", "pci:0000:00:06.0")
        titles = self.ask("run", script="""[...document.querySelectorAll("#gpus article:first-of-type .chip")]
            .map(one => one.textContent.slice(2))""")
        self.assertEqual(len(titles), 4)
        for title in titles:
            backend, words = title.split(": ")
            self.assertRegex(shown, rf"(?im)^ +{backend} +{words}(:|$)")

    def test_what_each_api_says(self):
        """Tests that the page shows the reasons of an API as sentences, even if no backend has the same reason."""
        for machine in ("nvidia-h200-2", "nvidia-h100-mig-mixed", "soc-jetson-orin-jp6", "hwloc-epyc-corona"):
            with self.subTest(machine):
                self.open_machine(machine)
                gpus = json.loads(ctl(machine, "describe", "-j"))["gpus"]
                shown = re.sub(r"\s+", " ", "\n".join(ctl(machine, "show", "--all", gpu["id"]) for gpu in gpus))
                only = {reason["code"] for gpu in gpus for view in gpu["apis"].values() for reason in view["reasons"]
                        if all(reason not in backend["reasons"] for backend in gpu["backends"].values())}
                rows = self.ask("run", script="""[...document.querySelectorAll("#gpus details[id^=apis] tbody tr")]
                    .map(row => ["Outcome", "Because"].map(one => row.querySelector(`[data-label="${one}"]`).textContent))""")
                told = [words for outcome, words in rows if words]
                self.assertTrue(only and told)
                for outcome, words in rows:
                    for code in only:
                        self.assertNotIn(words, (code, code.replace("-", " ")))
                    if not outcome.endswith("absent"):
                        self.assertIn(words, shown)

    def test_choice(self):
        for machine in self.MACHINES[:5]:
            with self.subTest(machine):
                self.open_machine(machine)
                choice = json.loads(ctl(machine, "select", "llama.cpp", "--explain", "-j"))
                self.ask("choose", selector="#choice-application", value="llama.cpp")
                self.unfold("choice-candidates")
                self.see("#choice-answer .mark.good", "on" if choice["gpus"] else "")
                for candidate in choice["candidates"]:
                    for reason in candidate["reasons"]:
                        self.see("#choice-answer", reason["text"])  # until then, the page may show the answer for the application "default"
                answer = self.text("#choice-answer")
                self.assertIn(choice["backend"].lower(), answer.split("\n")[0].lower())
                for fix in {reason["fix"] for candidate in choice["candidates"] for reason in candidate["reasons"] if reason["fix"]}:
                    self.assertIn(fix.split(": ")[0].lower(), answer.lower())

    def test_recommendation(self):
        for machine, application in self.VARIANTS:
            with self.subTest(machine=machine, application=application):
                self.open_machine(machine)
                said = ctl(machine, "recommend", application)
                self.ask("choose", selector="#install-application", value=application)
                headline = joined(said.splitlines()[0].removeprefix("gpuprobectl: "))
                self.see("#install-answer", headline[0].upper() + headline[1:] if said.startswith("gpuprobectl: ") else headline)
                for rest in re.findall(r"(?m)^  then (.*)$", said):
                    self.assertIn(f"Then {rest}", self.text("#install-answer"))

    def test_plan(self):
        self.open_machine("nvidia-h200-2")
        path = SOURCE / "tests/data/models/llama-3.1-8b.header.gguf"
        self.ask("files", selector="#fit-file", paths=[str(path)])
        self.see("#fit-answer", "Llama 3.1 8B")
        shown = self.text("#fit-answer").replace("✓ ", "").replace("\n", " ").lower()
        headline, *lines = filter(None, ctl("nvidia-h200-2", "plan", "--beginning", f"--gguf={path}").splitlines())
        self.assertTrue(shown.startswith(headline.lower()), shown)
        parts = [re.sub(r" {2,}", " ", line.strip()) for line in lines if not re.match(r"  (pci:|GPU )", line)]
        self.assertIn("weights of the layers 3.6 GiB", parts)
        for words in parts:
            self.assertIn(words.lower(), shown)

    def test_quarantine(self):
        self.open_machine("nvidia-h200-1")
        held = [{"api": "cuda", "driver": "", "why": why, "times": 1, "until_usec": 1795666320000000}
                for why in ("crashed", "timed-out", "machine-went-down", "daemon-went-down")]
        report = {"host": {}, "software": [], "quarantine": held}
        told = self.ask("run", script=f"""import("./gpus.js").then(gpus =>
            gpus.machineNode({json.dumps(report)}, "", []).flat(Infinity).filter(Boolean).map(one => one.textContent).join("\\n"))""")
        source = (SOURCE / "src/explain/report_text.cpp").read_text(encoding="utf-8")
        sentences = re.findall(r"cuda: the driver is in quarantine until 2026-11-26 04:12 UTC: (\D+?)have gpuprobe probe the driver again", told, re.I)
        self.assertEqual(len(sentences), 4, told)
        for sentence in sentences:
            self.assertIn(f'"{sentence}"', source)
        self.assertIn("gpuprobectl quarantine clear cuda", told)


class Rare(unittest.TestCase):
    """Tests sentences that no recorded machine causes: both the source code of the page and the source code of gpuprobectl must contain them."""

    SENTENCES = {
        ("choice.js", "cli/verb_recommend.cpp"): ("no variant fits", "no variant supports this kind of machine", " by default: no variant is known to fit",
            ", perhaps: some facts that this variant depends on are unknown", "the platform of this machine is unknown, and builds differ between platforms"),
        ("choice.js", "cli/choice.cpp"): ("nothing matches", "candidates", "answers", "messages from the application"),
        ("choice.js", "policy/truth.h"): ('"rejected"', '"uncertain"', '"unknown"'),
        ("gpuprobe.js", "cli/verb_status.cpp"): ("no backend is known to work on",),
        ("gpus.js", "explain/wording_table.h"): ("the gpu's memory size is unknown", "not for gpus from this vendor"),
        ("fit.js", "cli/plan_text.cpp"): ("no gpu that can compute", "without a gpu: ", "no flash attention", "per gpu, at most", "together",
            "an estimate that leaves ", "exact need depends on the program", " of available memory"),
        ("fit.js", "plan/plan.h"): ('"fits"', '"tight"', '"no"', '"unknown"'),
    }

    def test_are_the_same(self):
        for (page, program), sentences in self.SENTENCES.items():
            for file in (SOURCE / "cockpit" / page, SOURCE / "src" / program):
                text = file.read_text(encoding="utf-8").lower()
                self.assertEqual([sentence for sentence in sentences if sentence not in text], [], file.name)


class Figures(PageCase):
    MACHINE = "nvidia-h200-4"

    def words(self, function, numbers):
        return self.ask("run", script=f"import('./words.js').then(words => {json.dumps(numbers)}.map(one => words.{function}))")

    def test_sizes_are_cut_alike(self):
        self.show()
        for machine in ("soc-strix-halo", "nvidia-h200-4", "lact-amd-phoenix", "lact-amd-rx6900xt", "identity-rocm-gentoo-1650"):
            for gpu in json.loads(ctl(machine, "describe", "-j"))["gpus"]:
                told = [gpu["memory"][kind] for kind in ("physical", "allocatable", "free") if gpu["memory"][kind] is not None]
                shown = ctl(machine, "show", "--all", gpu["id"])
                self.assertTrue(told, gpu["id"])
                for words in self.words("size(one)", told):
                    self.assertRegex(shown, rf"(physical|allocatable|free) +{words}\b", machine)

    def test_borders_of_sizes_and_rates(self):
        self.show()
        gib = 1 << 30
        sizes = {0: "0 B", 1023: "1023 B", 1024: "1 KiB", gib - 1: "1023 MiB", 8 * gib: "8.0 GiB", 8 * gib - 1: "7.9 GiB",
                 1024 * gib - 1: "1023.9 GiB", 2048 * gib: "2.0 TiB"}
        self.assertEqual(self.words("size(one)", list(sizes)), list(sizes.values()))
        rates = {0: "0.00 x", 9.994: "9.99 x", 9.996: "10.0 x", 99.96: "100 x", 999.4: "999 x", 999.6: "1.00 kx", 12_345_678: "12.3 Mx"}
        self.assertEqual(self.words("rate(one, 'x')", list(rates)), list(rates.values()))

    def test_rates_are_rounded_alike(self):
        self.show()
        shown = ctl(self.MACHINE, "bench")
        rates = [gpu["backends"]["cuda"]["measurement"][kind] for gpu in json.loads(ctl(self.MACHINE, "describe", "-j"))["gpus"]
                 for kind in ("memory_read", "memory_copy", "host_to_device", "device_to_host", "fp32", "fp16", "int8")]
        for words in self.words("rate(one, '')", rates):
            self.assertRegex(shown, rf" {words}(B/s|FLOPS|OPS) ")


if __name__ == "__main__":
    unittest.main()
