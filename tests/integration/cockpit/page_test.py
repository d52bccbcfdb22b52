#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the content of the page on recorded machines."""
import json
import pathlib
import shutil
import unittest

from page_case import MACHINES, SOURCE, TOLERANCE, Failure, PageCase

MIG = "MIG-00000000-0000-4000-8000-00000000000"
HOSTILE = "<img src=x onerror=\"alert('a')\"><script>alert('b')</script>&amp;"


class Comparison(PageCase):
    """Tests that the comparison of pictures can fail."""

    def compare(self, taken, wanted):
        return self.ask("compare", taken=str(SOURCE / f"docs/pictures/page-{taken}.png"), wanted=str(SOURCE / f"docs/pictures/page-{wanted}.png"))

    def test_of_pictures(self):
        self.assertEqual(self.compare("light", "light"), 0)
        for taken, wanted in (("light", "none"), ("dark", "light"), ("phone", "light"), ("choice", "install")):
            self.assertGreater(self.compare(taken, wanted), 2 * TOLERANCE)


class German(PageCase):
    MACHINE = "nvidia-h200-4"

    def test_is_what_a_german_browser_shows(self):
        self.ask("language", name="de")
        self.show()
        self.assertEqual(self.text("#headline"), "4 GPUs · Vorgabe: CUDA auf 4 x NVIDIA H200")
        for section, words in (("#helps", "Was hilft"), ("#choice", "Welches Backend soll eine Anwendung nutzen?"),
                               ("#fit", "Passt ein Modell?"), ("#machine", "Dieser Rechner")):
            self.assertIn(words, self.text(section))
        self.assertEqual(self.ask("run", script="document.documentElement.lang"), "de")
        self.assert_fits()
        self.assert_accessible()


class Videos(PageCase):
    """Tests with a copy of a recorded machine on which NVDEC and NVENC also answered."""
    MACHINE = "nvidia-h200-1"

    def machine(self):
        folder = pathlib.Path(self.folder) / "machine"
        shutil.copytree(super().machine(), folder, symlinks=True)
        video = [{"direction": direction, "codec": codec, "profile": None, "bits": 8, "chroma": "4:2:0", "max_width": None, "max_height": None,
                  "name": codec} for direction, codec in (("decode", "vp8"), ("decode", "av1"), ("decode", "h264"))]
        cuda = json.loads((folder / "probes/cuda.json").read_text(encoding="utf-8"))
        same = {key: cuda["devices"][0].get(key) for key in ("index", "pci", "uuid")}
        cuda |= {"api": "nvcodec", "devices": [{**same, "video": video}]}
        (folder / "probes/nvcodec.json").write_text(json.dumps(cuda), encoding="utf-8")
        return folder

    def test_are_on_the_card(self):
        self.show()
        self.assertRegex(self.text("#gpus article"), "Video\\s+decode h264 av1 · encode none")


class NoGpu(PageCase):
    MACHINE = "software-only"

    def test_says_so_and_what_programs_do_then(self):
        self.show()
        self.assertIn("No GPUs · default: CPU", self.text("#headline"))
        self.assertIn("docker run --gpus all", self.text("#helps"))
        self.assertIn("This machine has no GPU that the kernel lists.", self.text("#gpus"))
        self.assertIn("✓ CPU", self.text("#choice-answer"))
        self.unfold("choice-candidates")
        self.assertRegex(self.text("#choice-answer"), r"CUDA\t–\tdoes not apply\tthis machine has no suitable GPU")
        self.assertEqual(self.ask("count", selector="#choice-answer .mark.bad"), 0)
        self.assertIn("OpenCL pocl (pthread-haswell-AMD EPYC)", self.text("#machine"))
        self.assertEqual(self.text("#measured").strip(), "")
        self.take_pictures("none")


class FourAlike(PageCase):
    MACHINE = "nvidia-h200-4"

    def test_are_one_card_with_details_of_each(self):
        self.show()
        self.assertEqual(self.text("#headline"), "4 GPUs · default: CUDA on 4 x NVIDIA H200")
        self.assertEqual(self.ask("count", selector="#gpus article"), 1)
        card = self.text("#gpus article")
        for words in ("4 x NVIDIA H200", "nvidia 580.159.04 (open)", "active",
                      "2.4 GiB of 561.6 GiB in use", "✓ CUDA", "✗ Vulkan", "ROCm and SYCL: not for GPUs from this vendor"):
            self.assertIn(words, card)
        self.ask("click", selector="#gpus details[id^=members] > summary")
        self.assertEqual(self.ask("count", selector="#gpus .gpu"), 4)
        first = self.text("#gpus .gpu:first-of-type")
        for words in ("pci:0000:00:06.0", "active", "615 MiB of 140.4 GiB in use"):
            self.assertIn(words, first)

    def test_are_shown_without_a_heading_twice(self):
        self.show()
        self.take_pictures("h200x4")
        self.unfold_all()
        headings = self.ask("run", script="[...document.querySelectorAll('h1, h2')].map(one => one.textContent)")
        self.assertIn("What helps", headings)
        self.assertEqual(sorted(set(headings)), sorted(headings))
        self.assertNotIn("requested=", self.text())
        self.assert_accessible()

    def test_fit_on_three_screens_of_a_phone(self):
        self.ask("size", width=375, height=800)
        self.show()
        self.assertLessEqual(self.ask("run", script="document.documentElement.scrollHeight"), 3 * 800)
        self.take_picture_of_page("h200x4-small")

    def test_have_the_fix_once_with_a_button_that_copies_the_command(self):
        self.show()
        helps = self.text("#helps")
        self.assertRegex(helps, r"! 4 x NVIDIA H200: .*libEGL_nvidia\.so\.0")
        command = self.text("#helps code")
        self.assertRegex(command, r"^sed s/libGLX/libEGL/ \S+/nvidia_icd\.json \| (sudo )?tee \S+$")
        self.assertEqual(helps.count("sed s/libGLX"), 1)
        self.ask("clipboard")
        self.ask("click", selector="#helps button.copy")
        self.see("#helps button.copy", "Copied")
        self.assertEqual(self.ask("run", script="navigator.clipboard.readText()"), command)

    def test_show_what_each_api_says(self):
        self.show()
        said = self.text_unfolded("#gpus .gpu:first-of-type details[id^=apis]")
        for words in ("CUDA\t✓ answered\t13.0\tNVIDIA H200\t139.8 GiB", "NVML\t✓ answered\t13.580.159.04",
                      "works only on Intel GPUs"):
            self.assertIn(words, said)
        self.take_picture("apis", "#gpus article")
        self.assert_accessible()

    def test_have_their_measurements_as_bars(self):
        self.show()
        measured = self.text("#measured")
        self.assertIn("CUDA 4 x NVIDIA H200\n4.28 TB/s", measured)
        self.assertIn("Vulkan, WebGPU 4 x NVIDIA H200 (programs cannot use this API yet)\n3.97 TB/s to 4.15 TB/s", measured)
        self.assertIn("CPU Intel(R) Xeon(R) Processor\n205 GB/s", measured)
        self.assertIn("\n64.1 TFLOPS", measured)
        self.assertIn("\n131 TOPS", measured)
        self.assertRegex(measured, r"Last measured: 2026-11-22 \d\d:\d\d UTC\n")
        widths = self.ask("run", script="""[...document.querySelectorAll("#measured .quantity:first-child .fill")]
            .map(one => one.offsetWidth / one.parentNode.offsetWidth)""")
        self.assertEqual(widths, sorted(widths, reverse=True))
        self.assertAlmostEqual(widths[0], 1, delta=0.01)
        self.assertAlmostEqual(widths[-1], 36.2 / 4280, delta=0.01)
        self.take_picture("measured", "#measured")

    def test_are_chosen_for_an_application_with_the_reasons(self):
        self.show()
        self.ask("choose", selector="#choice-application", value="llama.cpp")
        self.unfold("choice-candidates")
        self.see("#choice-answer", "HIP")
        self.assertIn("the application does not use this backend on NVIDIA GPUs", self.text("#choice-answer"))
        self.assertRegex(self.text("#choice-answer"), r"for the published build ubuntu-\S+ of version b\d+\n")
        helps = self.text("#choice-answer .entries").split("\n")
        self.assertEqual([line.split(" ")[0] for line in helps if line], ["Install", "sed", "Copy"])
        self.take_picture("choice", "#choice")
        self.ask("type", selector="#choice-memory", text="141")
        self.see("#choice-answer", "✓ CPU\n")
        self.assertRegex(self.text("#choice-answer"), r"CUDA\t4 x NVIDIA H200\t✗ rejected\t.*memory")

    def test_are_what_a_build_is_recommended_for(self):
        self.show()
        self.unfold("install-candidates")
        answer = self.text("#install-answer")
        for words in ("✓ cu132 on 4 x NVIDIA H200", "https://download.pytorch.org/whl/cu132", "Then cu130, cu126, cu129, cu128, cu118, cpu, if that fails.",
                      "rocm7.14, rocm7.2\tROCm\tdoes not apply\tdoes not work on NVIDIA GPUs\n"):
            self.assertIn(words, answer)
        self.assertNotIn("built by AMD", answer)  # the note of a variant that does not apply
        self.take_picture("install", "#install")
        self.ask("choose", selector="#install-application", value="llama.cpp")
        self.see("#install-answer", "ubuntu-x64")


class Fixes(PageCase):
    MACHINE = "software-only"

    def parts(self, fix, *arguments):
        """Returns (text, commands with a button) of a fix on the page."""
        words, commands = self.ask("run", script=f"""import("./words.js").then(words => {{
            const node = words.fixNode({", ".join(json.dumps(one) for one in (fix, *arguments))});
            return [".words, p", "code"].map(css => [...node.querySelectorAll(css)].map(one => one.textContent)) }})""")
        return "".join(words), commands

    def test_their_commands_are_those_that_findings_come_with(self):
        self.show()
        for fix, commands, words in (
            ("sudo modprobe nvidia", ["sudo modprobe nvidia"], ""),
            ("make it: unset A && sudo b --c", ["unset A", "sudo b --c"], "make it"),
            ("make it: unset A && sudo b --c, then restart", ["unset A", "sudo b --c"], "make it: unset A && sudo b --c, then restart"),
            ("load it (sudo modprobe x); where it fails, look", ["sudo modprobe x"], "load it (sudo modprobe x); where it fails, look"),
        ):
            self.assertEqual(self.parts(fix, commands), (words, commands))
        self.assertEqual(self.parts("update: x", []), ("update: x", []))

    def test_no_command_is_read_out_of_a_sentence(self):
        self.show()
        for fix in ("probe the drivers: gpuprobectl probe", "sudo nvidia-modprobe -u -c0", "see whether it is seated: lspci -nn | grep -Ei 'vga|3d'",
                    "load the GPU's kernel driver", "start the container with a GPU: --gpus all", "look for it in the kernel log (journalctl -k)",
                    "update the driver; then run gpuprobectl probe until the answer has been the same three times",
                    "on the host, restart the socket: sudo systemctl restart gpuprobe-worker.socket, then gpuprobectl probe",
                    "sudo rpm-ostree install a, in use from the next start", "repair it; gpuprobectl knowledge status says what is used",
                    "give a manifest: sed s/a:b/c/ x | sudo tee y", "sudo", "journalctl: look there",
                    "docker run --gpus all … for NVIDIA GPUs (or, with CDI, --device nvidia.com/gpu=all), docker run --device /dev/dri … for other GPUs"):
            self.assertEqual(self.parts(fix), (fix, []))


class Keyboard(PageCase):
    MACHINE = "nvidia-h200-1"

    FOCUSED = """(() => { const one = document.activeElement;
        return one.matches(":focus-visible") ? one.id || one.getAttribute("aria-label") || one.innerText : "" })()"""

    def test_reaches_everything_and_shows_where_it_is(self):
        self.show()
        reached = []
        while len(reached) < 60 and (not reached or reached[-1] != "save-report"):
            self.ask("press", key="Tab")
            reached.append(self.ask("run", script=self.FOCUSED))
        for wanted in ("Copy the command: sed", "Not usable: Vulkan and WebGPU", "Report of each API", "choice-application", "choice-memory",
                       "install-application", "fit-file", "fit-context", "fit-cache", "capture", "save-report"):
            self.assertTrue([one for one in reached if one.startswith(wanted)], (wanted, reached))
        self.assertNotIn("", reached)

    def test_opens_picks_and_copies(self):
        self.show()
        self.ask("run", script="document.querySelector('#gpus details[id^=apis] summary').focus()")
        self.ask("press", key="Enter")
        self.see("#gpus details[id^=apis]", "13.580.159.04")
        self.ask("run", script="document.getElementById('choice-application').focus()")
        # Each time the user presses "o", the page selects the next application whose name begins with "o".
        names = self.ask("run", script="[...document.getElementById('choice-application').options].map(one => one.value)")
        for _ in range([name for name in names if name.startswith("o")].index("ollama") + 1):
            self.ask("press", key="o")
        self.see("#choice-answer", "library\ncuda_v13")
        self.assertEqual(self.ask("run", script="document.getElementById('choice-application').value"), "ollama")
        self.ask("clipboard")
        self.ask("run", script="document.querySelector('#helps button.copy').focus()")
        self.ask("press", key="Enter")
        self.see("#news", "Copied: sed s/libGLX")

    def test_keeps_its_place_when_the_page_is_drawn_anew(self):
        self.show()
        self.ask("run", script="document.querySelector('#gpus details[id^=apis] summary').focus()")
        self.ask("press", key="Enter")
        self.ask("run", script="""import("./dom.js").then(dom => dom.draw("gpus", Math.random(), () =>
            [...document.getElementById("gpus").cloneNode(true).childNodes]))""")
        self.see("#gpus details[id^=apis]", "13.580.159.04")
        self.assertEqual(self.ask("run", script="document.activeElement.innerText"), "Report of each API")


class OnAPhone(PageCase):
    MACHINE = "nvidia-h200-1"

    SHAPE = """[...document.querySelectorAll(".copyable code")].filter(one => one.checkVisibility()).map(one => ({
        text: one.textContent, height: one.clientHeight, line: parseFloat(getComputedStyle(one).lineHeight),
        shown: one.clientWidth, whole: one.scrollWidth, button: one.nextElementSibling.getBoundingClientRect().right <= innerWidth }))"""

    def test_a_command_is_not_broken_and_scrolls_in_its_box_by_keyboard(self):
        self.ask("size", width=375, height=800)
        self.show()
        boxes = self.ask("run", script=self.SHAPE)
        self.assertTrue([box for box in boxes if box["text"].startswith("sed s/libGLX") and box["whole"] > 2 * box["shown"]], boxes)
        for box in boxes:
            lines = box["text"].count("\n") + 1
            self.assertLess(box["height"], (lines + 1) * box["line"], box)  # including the padding; a broken line would add a line
            self.assertTrue(box["button"], box)
        self.assert_fits()
        self.assert_accessible()
        command = "document.querySelector('#helps .copyable code')"
        for _ in range(20):
            self.ask("press", key="Tab")
            if self.ask("run", script=f"document.activeElement === {command}"):
                break
        self.ask("press", key="ArrowRight")
        self.ask("until", script=f"{command}.scrollLeft > 0")


class HybridLaptop(PageCase):
    MACHINE = "identity-yzma-4070"

    def test_has_two_gpus_and_what_is_not_known_of_them(self):
        self.show()
        self.assertIn("2 GPUs · default: Vulkan on NVIDIA GeForce RTX 4070", self.text("#headline"))
        nvidia, intel = (self.text(f"#gpus article:nth-of-type({place})") for place in (1, 2))
        self.assertIn("discrete", nvidia)
        self.assertIn("? CUDA", nvidia)
        self.assertIn("integrated", intel)
        self.assertTrue(intel.startswith("Intel [8086:a788]"), intel)
        self.assertIn("i915", intel)
        self.assertIn("The GPU's memory size is unknown.", intel)
        self.assertEqual([card.count("✓ Vulkan") for card in (nvidia, intel)], [1, 1])
        self.assertEqual(self.text("#helps"), "")  # each GPU works with a backend, so nothing has to be done
        self.unfold("choice-candidates")
        self.assertIn("Probe the drivers", self.text("#choice-answer .entries"))
        self.see("#install", "The platform of this machine is unknown, and builds differ between platforms.")
        self.take_pictures("hybrid")


def divided(folder):
    """Makes a machine with an H200 in MIG mode. NVML lists two MIG instances, but CUDA lists only one, as with the real driver."""
    shutil.copytree(MACHINES / "nvidia-h200-1", folder, symlinks=True)
    path = folder / "probes/nvml.json"
    nvml = json.loads(path.read_text(encoding="utf-8"))
    gib = 1 << 30
    nvml["devices"][0].update(mig_mode=True, mig_devices=[
        {"index": 0, "name": "NVIDIA H200 MIG 1g.18gb", "uuid": MIG + "1", "memory": {"total": 16 * gib, "free": 15 * gib}},
        {"index": 1, "name": "NVIDIA H200 MIG 3g.71gb", "uuid": MIG + "2", "memory": {"total": 69 * gib, "free": 69 * gib}}])
    path.write_text(json.dumps(nvml), encoding="utf-8")


class HalfAsked(PageCase):
    """Tests with GPUs on which some backends cannot be used, and on which it is unknown whether other backends can be used."""

    MACHINE = "nvidia-h100-mig-mixed"

    def reasons(self, place):
        """Unfolds the card of the GPU with a given number, and returns {heading: sentences} of this card."""
        self.ask("run", script="document.querySelectorAll('#gpus details[id^=not]').forEach(one => { one.open = true })")
        texts = self.ask("run", script=f"""[...document.querySelectorAll("#gpus article:nth-of-type({place}) details[id^=not]")]
            .map(one => one.innerText)""")
        return {text.split("\n")[0]: [line for line in text.split("\n")[1:] if line] for text in texts}

    def test_tells_what_is_not_known_from_no(self):
        self.show()
        self.assertEqual(self.reasons(2), {
            "Not usable: Vulkan and WebGPU": ["Vulkan and WebGPU: graphics APIs do not work while MIG mode is enabled"],
            "Not known: OpenCL": ["OpenCL: not probed yet"]})
        self.assertEqual(self.reasons(1), {
            "Not known: OpenCL, Vulkan and WebGPU": ["OpenCL, Vulkan and WebGPU: not probed yet"]})
        self.assertEqual(self.reasons(3), {
            "Not usable: CUDA, OpenCL, Vulkan and WebGPU":
                ["CUDA, OpenCL, Vulkan and WebGPU: MIG mode is enabled, but no GPU instance has a compute instance"]})
        self.assertIn("1 partition that programs cannot use", self.text("#gpus article:nth-of-type(3)"))
        self.assertIn("sudo nvidia-smi mig -i 0000:1b:00.0 -gi 7 -cci", self.text("#helps"))
        self.assertEqual(self.text("#gpus article:nth-of-type(2) .chip .mark.bad"), "")
        self.assertIn("Vulkan", self.text("#gpus article:nth-of-type(2) .chip .mark.plain"))
        self.assert_accessible()
        self.take_picture("mixed", "#gpus")


class Divided(PageCase):
    MACHINE = "nvidia-h200-1"

    def machine(self):
        folder = self.bus.path.parent / "divided"
        divided(folder)
        return folder

    def test_shows_its_instances(self):
        self.show()
        partitions = self.text("#gpus details[id^=partitions]")
        self.assertIn("Divided into 2 partitions", partitions)
        self.assertIn(f"1g.18gb\n16.0 GiB, 15.0 GiB free\n{MIG}1", partitions)
        self.assertIn(f"3g.71gb\n69.0 GiB, 69.0 GiB free\n{MIG}2", partitions)
        self.see("#gpus article", "! two sources report different memory sizes for this GPU")  # CUDA and NVML report different sizes
        self.take_pictures("mig")


class StrixHalo(PageCase):
    MACHINE = "soc-strix-halo"

    def test_shares_its_memory_and_has_an_npu(self):
        self.show()
        card = self.text("#gpus article")
        self.assertIn("Radeon 8060S Graphics", card)
        self.assertIn("of the machine's memory", card)
        self.assertIn("integrated", card)
        npu = self.text("#accelerators article")
        self.assertTrue(npu.startswith("AMD NPU\n"), npu)
        self.assertIn("Model number\n1022:17f0", npu)
        self.assertIn("amdxdna", npu)
        self.take_picture("npu", "#accelerators")
        self.take_pictures("strix-halo")


class Many(PageCase):
    """Tests with so many GPUs that the report does not fit into a D-Bus message and is sent as a file descriptor."""

    MACHINE = "nvidia-h200-1"
    COUNT = 200

    def machine(self):
        capture = self.capture()
        for number in range(self.COUNT):
            capture.add_gpu(f"{number // 32:04x}:{number % 32 + 1:02x}:00.0")
        return capture.folder

    def test_are_all_there(self):
        self.show()
        with self.assertRaisesRegex(Failure, "TooLarge"):
            self.manager("Describe")
        self.assertEqual(self.ask("count", selector="#gpus .gpu"), self.COUNT)
        self.assertIn(f"{self.COUNT} GPUs", self.text("#headline"))
        self.assert_accessible()


class Hostile(PageCase):
    """Tests with a driver that reports HTML as a name."""

    MACHINE = "nvidia-h200-1"

    def machine(self):
        folder = self.bus.path.parent / "hostile"
        shutil.copytree(MACHINES / "nvidia-h200-1", folder, symlinks=True)
        for path in (folder / "probes").glob("*.json"):
            probe = json.loads(path.read_text(encoding="utf-8"))
            probe["note"] = HOSTILE
            for device in probe.get("devices") or []:
                for key, value in device.items():
                    if key.endswith("name") and isinstance(value, str):
                        device[key] = HOSTILE
            path.write_text(json.dumps(probe), encoding="utf-8")
        return folder

    def test_is_shown_as_what_it_says(self):
        self.show()
        self.unfold_all()
        self.assertIn(HOSTILE, self.text("#gpus h2"))
        for place in ("#headline", "#choice-answer", "#measured, #gpus details"):
            self.assertIn(HOSTILE, self.text(place))
        self.assertEqual(self.ask("count", selector="main img, main script, main [onerror]"), 0)


if __name__ == "__main__":
    unittest.main()
