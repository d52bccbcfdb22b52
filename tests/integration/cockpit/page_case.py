# SPDX-License-Identifier: Apache-2.0
"""Shared code for the tests of the Cockpit page: shows the page in Chromium, served by a real cockpit-ws, with a daemon on a private bus.

Pictures are written to the build folder and compared with the pictures in docs/ that pictures.txt lists. The words that a picture shows must be
exactly the words in picture_words.json. If GPUPROBE_PICTURES names a folder, the pictures are written to this folder and the words to
picture_words.json, and nothing is compared; tests/integration/cockpit/pictures makes the pictures in docs/ from this folder."""
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bus"))

import npm_folder  # noqa: E402
from bus_case import BIN, SOURCE, BusCase, Failure  # noqa: E402, F401

HERE = pathlib.Path(__file__).resolve().parent
MACHINES = SOURCE / "tests/data/machines"
# tests/system/cockpit names the program of another Debian release.
WS = os.environ.get("GPUPROBE_COCKPIT_WS", "/usr/lib/cockpit/cockpit-ws")
BRIDGE = "/usr/bin/cockpit-bridge"
BUILT = BIN.parent / "tests/cockpit"
BIN_OF_BRIDGE = "/usr/sbin:/usr/bin:/sbin:/bin"
PICTURES = pathlib.Path(os.environ.get("GPUPROBE_PICTURES", BUILT / "pictures"))
# The share of blocks of pixels that may differ between two pictures, because other versions of Chromium or of a font smooth letters differently.
TOLERANCE = 0.02
# {name of a picture in docs/pictures: the words that it shows, from top to bottom}.
WORDS = HERE / "picture_words.json"
# A function that returns the visible words in an element, in the order of the document, down to a height.
VISIBLE = """((root, height) => {
    const words = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const { textContent, parentElement } = walker.currentNode;
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        const { width, top } = range.getBoundingClientRect();
        const isShown = width > 0 && parentElement.checkVisibility() && !parentElement.closest(".off-screen, option");
        if (isShown && textContent.trim() && (!height || top + scrollY < height))
            words.push(textContent.trim().replace(/\\s+/g, " "));
    }
    return words;
})"""
DIRECT = "/cockpit/@localhost/gpuprobe/index.html"
IN_SHELL = "/gpuprobe"


def missing():
    """Returns the reason why the test machine cannot show the page, or an empty string if it can."""
    for program in (WS, BRIDGE, "chromium", "node", "npm", "dbus-daemon"):
        if not shutil.which(program):
            return f"{program} is not installed: tools/install-dependencies --test"
    return ""


MISSING = missing()


def modules():
    """Returns the folder with puppeteer-core and axe-core. Skips the test if puppeteer-core or axe-core cannot be installed."""
    return npm_folder.installed(HERE, BUILT / "npm")


def documented():
    """Returns {name of a picture that a test takes: (path of the picture in docs/, its height in pixels, or 0 for the whole picture)}."""
    rows = [line.split() for line in (HERE / "pictures.txt").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    return {taken: (SOURCE / f"docs/pictures/page-{name}.png", int(height)) for name, taken, height, *_ in rows}


def store_words(name, words):
    known = json.loads(WORDS.read_text(encoding="utf-8")) if WORDS.exists() else {}
    text = json.dumps(dict(sorted({**known, name: words}.items())), indent=1, ensure_ascii=False)
    WORDS.write_text(text + "\n", encoding="utf-8")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """Starts Chromium and sends commands to the browser. browser.mjs implements these commands."""

    STARTS = 3  # on a busy machine, a browser that has just started may never answer
    PATIENCE = 60  # seconds to wait for a browser

    def __init__(self, folder):
        for start in range(self.STARTS):
            own = pathlib.Path(folder, f"browser-{start}")
            own.mkdir()
            self.process = subprocess.Popen(["node", str(HERE / "browser.mjs"), str(modules()), shutil.which("chromium"), str(own)],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
            if select.select([self.process.stdout], [], [], self.PATIENCE)[0] or start + 1 == self.STARTS:
                break
            self.process.terminate()  # ends Chromium too
            self.process.wait(self.PATIENCE)
        self.version = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the browser has ended"}
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer["ok"]

    def ask(self, action, **details):
        self.process.stdin.write(json.dumps({"do": action, **details}) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()


@unittest.skipIf(MISSING, MISSING)
class PageCase(BusCase):
    """Base class of tests with a browser and a daemon that serves the recorded machine MACHINE."""

    MACHINE = None

    @classmethod
    def setUpClass(cls):
        modules()

    def setUp(self):
        super().setUp()
        if self.MACHINE:
            self.serve(self.machine())
        self.browser = Browser(self.folder)
        self.addCleanup(self.browser.close)
        self.ask("size", width=1280, height=900)
        self.ask("theme", name="light")

    def tearDown(self):
        self.assertEqual(self.ask("faults"), [])

    def machine(self):
        return MACHINES / self.MACHINE

    def serve(self, machine):
        self.start("--replay", str(machine), f"--socket={self.socket}")

    def ask(self, action, **details):
        return self.browser.ask(action, **details)

    def start_cockpit(self):
        """Starts a cockpit-ws with a session that needs no login. The session ends with the page."""
        data = pathlib.Path(self.folder) / "data"
        if not (data / "cockpit/gpuprobe").exists():
            (data / "cockpit").mkdir(parents=True, exist_ok=True)
            (data / "cockpit/gpuprobe").symlink_to(SOURCE / "cockpit")
        self.port = free_port()
        environment = {
            **os.environ, "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address, "GPUPROBE_SOCKET": self.socket, "XDG_DATA_HOME": str(data), "HOME": self.folder,
            "XDG_CONFIG_DIRS": self.folder, "PATH": f"{self.folder}/bin:{BIN}:{BIN_OF_BRIDGE}", "LANG": "C.UTF-8"}
        server = subprocess.Popen(
            [WS, "--no-tls", f"--local-session={BRIDGE}", f"--port={self.port}", "--address=127.0.0.1"], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(server.wait)
        self.addCleanup(lambda: os.killpg(server.pid, signal.SIGKILL))
        late = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > late:
                    raise
                time.sleep(0.02)

    def open(self, path=DIRECT):
        self.start_cockpit()
        self.ask("open", url=f"http://127.0.0.1:{self.port}{path}")

    def show(self, path=DIRECT):
        """Opens the page and waits for all data that the page requests when it is opened."""
        self.open(path)
        self.see("#install-answer", "torch")
        self.ask("until", script="document.querySelector('main').ariaBusy === 'false'")

    def text(self, selector="main"):
        return self.ask("text", selector=selector)

    def see(self, selector, text):
        self.ask("wait", selector=selector, text=text, gone=False)

    def see_gone(self, selector, text):
        self.ask("wait", selector=selector, text=text, gone=True)

    def assert_accessible(self):
        self.assertEqual(self.ask("axe"), [])

    def unfold(self, name):
        self.ask("until", script=f"document.getElementById('{name}')")
        self.ask("run", script=f"document.getElementById('{name}').open = true")

    def unfold_all(self):
        self.ask("run", script="document.querySelectorAll('details').forEach(one => { one.open = true })")

    def text_unfolded(self, selector):
        """Unfolds everything and reads the text in one step, so that the page cannot be drawn again in between."""
        return self.ask("run", script=f"""(() => {{
            document.querySelectorAll("details").forEach(one => {{ one.open = true }});
            return document.querySelector({json.dumps(selector)}).innerText;
        }})()""")

    def assert_fits(self):
        """Checks that no element is wider than the page."""
        width, wide = self.ask("run", script="""[document.documentElement.scrollWidth, [...document.querySelectorAll("main *")]
            .filter(one => !one.closest(".scroll, .off-screen") && one.getBoundingClientRect().right > innerWidth + 1)
            .map(one => one.outerHTML.slice(0, 120))]""")
        self.assertEqual(wide, [])
        self.assertLessEqual(width, self.ask("run", script="innerWidth"))

    def take_picture(self, name, selector):
        """Takes a picture of one section of the page, in the light theme."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.ask("section", path=str(PICTURES / f"{name}.png"), selector=selector)
        self.assert_as_documented(name, selector)

    def take_picture_of_page(self, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.ask("picture", path=str(PICTURES / f"{name}.png"), whole=True)
        self.assert_as_documented(name, "body")

    def words_in(self, selector, height):
        """Returns the visible words of a section, down to `height` unless `height` is 0. Replaces times of day and ages, because they change."""
        words = self.ask("run", script=f"{VISIBLE}(document.querySelector({json.dumps(selector)}), {height})")
        return [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", one) for one in words]

    def assert_as_documented(self, name, selector):
        if name not in documented():
            return
        wanted, height = documented()[name]
        words = self.words_in(selector, height)
        if "GPUPROBE_PICTURES" in os.environ:
            store_words(wanted.stem, words)
            return
        advice = f"{wanted.name} differs from the page: run tests/integration/cockpit/pictures"
        self.assertEqual(words, json.loads(WORDS.read_text(encoding="utf-8")).get(wanted.stem), advice)
        share = self.ask("compare", taken=str(PICTURES / f"{name}.png"), wanted=str(wanted))
        self.assertLess(share, TOLERANCE, advice)

    def take_pictures(self, name):
        """Takes pictures in the light and dark theme, in desktop and phone size. Before each picture, checks that the page is accessible and is not
        wider than the window."""
        for kind, theme, width in (("light", "light", 1280), ("dark", "dark", 1280), ("phone", "light", 375), ("phone-dark", "dark", 375)):
            self.ask("theme", name=theme)
            self.ask("size", width=width, height=800)
            self.assert_accessible()
            self.assert_fits()
            self.take_picture_of_page(f"{name}-{kind}")
        self.ask("size", width=1280, height=900)
        self.ask("theme", name="light")
