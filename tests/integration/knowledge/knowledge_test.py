# SPDX-License-Identifier: Apache-2.0
"""Tests of gpuprobectl knowledge with good and malicious bundles from tools/knowledge/bundle, and with a running daemon."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
TOOL = SOURCE / "tools/knowledge/bundle"
H200 = SOURCE / "tests/data/machines/nvidia-h200-1"


def tool():
    loader = importlib.machinery.SourceFileLoader("bundle", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bundle", loader))
    loader.exec_module(module)
    return module


class KnowledgeCase(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tool = tool()
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-keys-")
        cls.addClassCleanup(folder.cleanup)
        cls.keys = pathlib.Path(folder.name)
        for name in ("us", "others"):
            cls.tool.make_key(cls.keys / name)
        cls.documents = cls.tool.documents_in(SOURCE / "data/knowledge", SOURCE / "data/rules")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-knowledge-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.home.chmod(0o755)
        self.root = self.home / "root"
        self.state = self.root / "var/lib/gpuprobe-knowledge"
        self.state.mkdir(parents=True)
        (self.root / "etc/gpuprobe/keys.d").mkdir(parents=True)
        shutil.copy(self.keys / "us.pub", self.root / "etc/gpuprobe/keys.d")

    def ctl(self, *words, before=()):
        return subprocess.run([*before, BIN / "gpuprobectl", f"--knowledge-root={self.root}", *words], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8"}, timeout=60,
                              stdin=subprocess.DEVNULL, check=False)

    def bundle(self, version, key="us", name="file", **more):
        """Makes a bundle of the data files in the source tree, some of which `more` replaces. Returns the path of the bundle."""
        changed = {each.replace("__", "/"): text for each, text in more.items()}
        path = self.home / name
        path.write_bytes(self.tool.make_bundle(self.keys / f"{key}.pem", {**self.documents, **changed}, version=version,
                                               issued="2026-11-01", expires="2040-01-01"))
        return path

    def status(self):
        return json.loads(self.ctl("knowledge", "-j").stdout)

    def version(self):
        status = self.status()
        return status["from"], status["version"]

    def refusal(self, path):
        result = self.ctl("knowledge", "update", str(path))
        self.assertIn(result.returncode, (1, 2, 5), result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.version()[0], "built-in")
        self.assertEqual(list(self.state.glob("*.bundle*")), [])
        return result.stderr

    def answer(self, *words):
        result = self.ctl("--direct", "--no-cache", *words, "-j")
        return json.loads(result.stdout)

    @staticmethod
    def stale(reasons):
        return sorted(reason["detail"]["document"] for reason in reasons if reason["code"] == "stale-document")


class Bundles(KnowledgeCase):
    def test_are_verified_installed_and_rolled_back(self):
        first, second = self.bundle("2030.1.1", name="first"), self.bundle("2030.1.2", name="second")
        told = self.ctl("knowledge", "verify", str(first))
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertIn("knowledge 2030.1.1", told.stdout)
        self.assertEqual(self.version()[0], "built-in")
        self.assertEqual(self.ctl("knowledge", "update", str(first)).returncode, 0)
        self.assertEqual(self.version(), ("bundle", "2030.1.1"))
        document = json.loads(self.ctl("knowledge", "update", str(second), "-j").stdout)
        self.assertEqual(document, {"version": "2030.1.2", "key": "us.pub"})
        origins = {each["document"]: each["from"] for each in self.status()["documents"]}
        self.assertEqual(set(origins), set(self.documents))
        self.assertEqual(set(origins.values()), {"bundle"})
        self.assertNotEqual(self.ctl("knowledge", "update", str(first)).returncode, 0)
        for wanted in (("bundle", "2030.1.1"), ("built-in", self.tool.json.loads(self.documents["release"])["version"])):
            self.assertEqual(self.ctl("knowledge", "rollback").returncode, 0)
            self.assertEqual(self.version(), wanted)
        self.assertIn("no bundle is installed", self.ctl("knowledge", "rollback").stderr)

    def test_change_what_is_answered(self):
        mine = b'{"schema":"gpuprobe.application/1","name":"mine","description":"","selection":' \
               b'{"backends":["opencl","cpu"],"cpu":"last","integrated":"always","strict":false}}'
        self.assertNotEqual(self.ctl("--replay", str(H200), "select", "mine").returncode, 0)
        self.assertEqual(self.ctl("knowledge", "update", str(self.bundle("2030.1.1", applications__mine=mine))).stderr, "")
        self.assertEqual(self.ctl("--replay", str(H200), "select", "mine", "-q").stdout, "opencl\n")

    def test_are_refused_for_what_is_wrong_with_them(self):
        good = self.bundle("2030.1.1").read_bytes()
        bad = self.home / "bad"
        for what, content, word in (
                ("a foreign key", self.bundle("2030.1.1", key="others").read_bytes(), "not signed with a key that this machine trusts"),
                ("cut short", good[:-1], "not signed"),
                ("more behind it", good + b"x", "not signed"),
                ("a changed byte", good.replace(b"2030.1.1", b"2031.1.1", 1), "not signed"),
                ("no bundle", b"\x1f\x8b\n" + bytes(1000), "not a signed bundle"),
                ("nothing", b"", "the line is missing"),
                ("an old one", self.bundle("2020.1.1").read_bytes(), "is not newer than"),
                ("a name that leads away", self.bundle("2030.1.1", **{"../chips": b"{}"}).read_bytes(), "not the name of a data file"),
                ("a broken document", self.bundle("2030.1.1", chips=b'{"schema":"gpuprobe.chips/1"}').read_bytes(), "chips: "),
                ("a cause that says nothing", self.bundle("2030.1.1", causes__new=(
                    b'{"schema":"gpuprobe.causes/1","variables":{},"causes":[{"id":"x","of":"gpu","severity":"error",'
                    b'"text":"","when":["gpu.findings[code"],"fixes":[]}]}')).read_bytes(), "causes/new")):
            with self.subTest(what):
                bad.write_bytes(content)
                self.assertIn(word, self.refusal(bad))
        expired = self.tool.make_bundle(self.keys / "us.pem", self.documents, version="2030.1.1", issued="2026-01-01", expires="2026-02-01")
        bad.write_bytes(expired)
        self.assertIn("has expired on 2026-02-01", self.refusal(bad))
        self.tool.make_key(self.home / "us", "2026-01-01")  # an expired key with another number
        shutil.copy(self.home / "us.pub", self.root / "etc/gpuprobe/keys.d/late.pub")
        bad.write_bytes(self.tool.make_bundle(self.home / "us.pem", self.documents, version="2030.1.1"))
        self.assertIn("the signing key has expired: late.pub", self.refusal(bad))

    def test_are_plain_files_of_a_bounded_size(self):
        os.mkfifo(self.home / "pipe")
        (self.home / "link").symlink_to("/dev/zero")
        with open(self.home / "sparse", "wb") as sparse:
            sparse.truncate(1 << 30)
        for name in ("pipe", "link", "sparse", "nothing", "."):
            with self.subTest(name):
                self.refusal(self.home / name)

    def test_need_root_and_say_so(self):
        path = self.bundle("2030.1.1")
        path.chmod(0o644)
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("only root can become another user")
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        result = self.ctl("knowledge", "update", str(path), before=nobody)
        self.assertEqual((result.returncode, result.stdout), (5, ""))
        self.assertIn("only root can change the knowledge base: use sudo", result.stderr)
        self.assertEqual(self.ctl("knowledge", "verify", str(path), before=nobody).returncode, 0)
        self.assertEqual(self.ctl("knowledge", "status", before=nobody).returncode, 0)

    def test_on_a_full_disk_leave_what_there_was(self):
        first, second = self.bundle("2030.1.1", name="first"), self.bundle("2030.1.2", name="second")
        # The disk has space for one and a half bundles.
        size = first.stat().st_size * 3 // 2
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", self.state],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", self.state], check=False)
        self.assertEqual(self.ctl("knowledge", "update", str(first)).returncode, 0)
        result = self.ctl("knowledge", "update", str(second))
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left", result.stderr)
        self.assertEqual(self.version(), ("bundle", "2030.1.1"))

    def test_are_what_signify_verifies(self):
        signify = shutil.which("signify-openbsd")
        if not signify:
            self.skipTest("signify-openbsd is not installed")
        path = self.bundle("2030.1.1")
        told = subprocess.run([signify, "-V", "-e", "-p", self.keys / "us.pub", "-x", path, "-m", self.home / "message"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertTrue(path.read_bytes().endswith((self.home / "message").read_bytes()))

    def test_of_words_that_make_no_sense(self):
        for words in (("update",), ("verify",), ("status", "x"), ("rollback", "x"), ("nonsense",)):
            self.assertEqual(self.ctl("knowledge", *words).returncode, 2, words)


class BesideADaemon(KnowledgeCase):
    def ask(self, method, **parameters):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(self.home / "socket"))
            connection.sendall(json.dumps({"method": f"org.gpuprobe.{method}", "parameters": parameters}).encode() + b"\0")
            answer = b""
            while not answer.endswith(b"\0"):
                answer += connection.recv(65536)
        return json.loads(answer[:-1])["parameters"]

    def start(self):
        (self.root / "etc/gpuprobe/knowledge").mkdir()
        self.daemon = subprocess.Popen(
            [BIN / "gpuprobed", "--bus=none", f"--socket={self.home}/socket", f"--replay={H200}", f"--knowledge-root={self.root}",
             f"--state-dir={self.home}/state"], env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)}, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (self.daemon.kill(), self.daemon.wait()))
        self.wait_for(lambda: (self.home / "socket").exists())

    def wait_for(self, holds):
        end = time.monotonic() + 30
        while not holds():
            self.assertIsNone(self.daemon.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def generation(self):
        return self.ask("Describe")["generation"]

    def test_it_notices_bundles_and_documents_that_come_and_go(self):
        self.start()
        mine = b'{"schema":"gpuprobe.application/1","name":"mine","description":"","selection":' \
               b'{"backends":["opencl","cpu"],"cpu":"last","integrated":"always","strict":false}}'
        has_mine = lambda: "mine" in [one["name"] for one in self.ask("ListApplications")["applications"]]
        before = self.generation()
        self.assertFalse(has_mine())
        self.assertEqual(self.ctl("knowledge", "update", str(self.bundle("2030.1.1", applications__mine=mine))).stderr, "")
        self.wait_for(has_mine)
        self.assertGreater(self.generation(), before)
        self.assertEqual(self.ctl("knowledge", "rollback").returncode, 0)
        self.wait_for(lambda: not has_mine())
        (self.root / "etc/gpuprobe/knowledge/chips.json").write_text("{")
        self.wait_for(lambda: any(note["code"] == "knowledge-ignored" for note in self.ask("Describe")["notes"]))
        self.assertEqual(self.ask("Select", application="default", request={})["backend"], "cuda")

    def test_what_is_put_into_its_folder_by_hand_does_not_stop_it(self):
        self.start()
        good = self.bundle("2030.1.1").read_bytes()
        current = self.state / "current.bundle"
        for content in (b"", good[:1000], good[:-1], bytes(100_000), b"untrusted comment: x\n" + b"A" * 70_000_000):
            current.write_bytes(content)
            self.wait_for(lambda: any(note["code"] == "knowledge-ignored" for note in self.ask("Describe")["notes"]))
            current.unlink()
            self.wait_for(lambda: self.ask("Describe")["notes"] == [])
        current.symlink_to("/dev/zero")
        self.assertEqual(self.ask("Select", application="default", request={})["backend"], "cuda")


class Expired(KnowledgeCase):
    """Tests that every answer based on an expired data file contains a warning."""

    def setUp(self):
        super().setUp()
        folder = self.root / "etc/gpuprobe/knowledge"
        (folder / "applications").mkdir(parents=True)
        for name in ("chips", "selectors"):
            document = json.loads(self.documents[name])
            document.update(issued="2026-01-01", expires="2026-01-02")
            (folder / f"{name}.json").write_text(json.dumps(document))
        torch = json.loads(self.documents["applications/torch"])
        torch["manifest"].update(issued="2026-01-01T00:00:00Z", expires="2026-01-02T00:00:00Z")
        (folder / "applications/torch.json").write_text(json.dumps(torch))
        bitnet = json.loads(self.documents["applications/bitnet"])
        bitnet["selection"].update(issued="2026-01-01T00:00:00Z", expires="2026-01-02T00:00:00Z")
        (folder / "applications/bitnet.json").write_text(json.dumps(bitnet))

    def test_is_said_of_every_answer(self):
        base = ["chips", "selectors"]
        self.assertEqual(self.stale(self.answer("describe")["notes"]), base)
        self.assertEqual(self.stale(self.answer("select")["warnings"]), base)
        self.assertEqual(self.stale(self.answer("select", "torch")["warnings"]), [*base, "torch"])
        self.assertEqual(self.stale(self.answer("select", "bitnet")["warnings"]), ["bitnet", *base])
        self.assertEqual(self.stale(self.answer("recommend", "torch")["warnings"]), [*base, "torch"])
        self.assertEqual(self.stale(self.answer("export", "conda")["warnings"]), base)
        self.assertEqual(self.stale(self.answer("export", "uv", "torch")["warnings"]), [*base, "torch"])
        self.assertEqual(self.stale(self.answer("plan", "--memory=1000MiB")["notes"]), base)
        for form in ("json", "prometheus", "nfd"):
            notes = [note["code"] for note in self.answer("export", form)["notes"]]
            self.assertEqual(notes.count("stale-document"), 2, form)
        self.assertEqual(self.stale(self.answer("env")["warnings"]), base)
        self.assertIn("knowledge-out-of-date", json.dumps(self.answer("doctor")))
        for words in (("select", "torch"), ("recommend", "torch"), ("doctor",), ("env", "torch"), ("run", "torch", "--", "true")):
            told = self.ctl("--direct", "--no-cache", *words)
            self.assertIn("expired on 2026-01-02", told.stdout + told.stderr, words)

    def test_is_said_of_none_that_is_fresh(self):
        shutil.rmtree(self.root / "etc/gpuprobe/knowledge")
        self.assertEqual(self.stale(self.answer("select")["warnings"]), [])
        self.assertEqual(self.stale(self.answer("describe")["notes"]), [])


class Superseded(KnowledgeCase):
    """Tests with data files that describe a version of a project that is older than the newest known version."""

    def setUp(self):
        super().setUp()
        changed = {}
        for name, source in (("torch", {"checked": "2026-11-20", "newer": "9.9"}), ("bitnet", {"version": "0.1", "newer": "0.9"}), ("ollama", {})):
            document = json.loads(self.documents[f"applications/{name}"])
            document["source"] = {**source, "facts": document["source"]["facts"]}
            changed[f"applications__{name}"] = json.dumps(document).encode()
        self.assertEqual(self.ctl("knowledge", "update", str(self.bundle("2030.1.1", **changed))).returncode, 0)

    @staticmethod
    def superseded(reasons):
        return [(reason["detail"]["document"], reason["detail"]["newer"]) for reason in reasons if reason["code"] == "superseded-document"]

    def test_is_said_of_every_answer_for_the_application(self):
        for words in (("select", "torch"), ("recommend", "torch"), ("env", "torch"), ("export", "uv", "torch")):
            self.assertEqual(self.superseded(self.answer(*words)["warnings"]), [("torch", "9.9")], words)
        self.assertEqual(self.superseded(self.answer("select", "bitnet")["warnings"]), [("bitnet", "0.9")])
        for words in (("select", "ollama"), ("select",), ("recommend", "ollama")):
            self.assertEqual(self.superseded(self.answer(*words)["warnings"]), [], words)
        for words in (("select", "torch"), ("recommend", "torch"), ("env", "torch"), ("run", "torch", "--", "true")):
            told = self.ctl("--direct", "--no-cache", *words)
            self.assertIn("version 9.9 of torch exists", told.stdout + told.stderr, words)

    def test_the_subject_is_the_file(self):
        warning, = (each for each in self.answer("recommend", "torch")["warnings"] if each["code"] == "superseded-document")
        self.assertTrue(pathlib.Path(warning["subject"]["path"]).is_file(), warning)

    def test_status_shows_the_versions_the_ages_and_the_looks(self):
        documents = {each["document"]: each for each in self.status()["documents"]}
        torch, bitnet, ollama = (documents[f"applications/{name}"] for name in ("torch", "bitnet", "ollama"))
        self.assertEqual((torch["checked"], torch["newer"]), ("2026-11-20", "9.9"))
        self.assertEqual((bitnet["version"], bitnet["checked"], bitnet["newer"]), ("0.1", None, "0.9"))
        self.assertEqual((ollama["checked"], ollama["newer"]), (None, None))
        self.assertIsNotNone(bitnet["issued"])
        for each in documents.values():
            self.assertEqual(each["age"] is None, each["issued"] is None, each["document"])
        self.assertGreaterEqual(torch["age"], 0)
        self.assertEqual(documents["distributions"]["checked"], json.loads(self.documents["distributions"])["checked"])
        shown = self.ctl("knowledge", "status").stdout
        self.assertRegex(shown, r"applications/torch +bundle +2\.14 +9\.9 +[0-9]+ days? +2026-11-20 ")
        self.assertIn("CHECKED", shown)


class Frozen(KnowledgeCase):
    """Tests with a machine that gets no newer bundles: gpuprobe keeps using the old bundle after the expiry date, with a warning in every answer."""

    def setUp(self):
        super().setUp()
        self.installed(expires="2026-02-01")

    def installed(self, expires):
        """Installs a bundle as if `knowledge update` had run before the bundle expired."""
        (self.state / "current.bundle").write_bytes(self.tool.make_bundle(
            self.keys / "us.pem", self.documents, version="2030.1.1", issued="2026-01-01", expires=expires))

    def test_is_said_of_every_answer(self):
        self.assertEqual(self.version(), ("bundle", "2030.1.1"))
        self.assertEqual(self.stale(self.answer("status")["notes"]), ["release"])
        for words in (("select", "torch"), ("recommend", "torch")):
            self.assertEqual(self.stale(self.answer(*words)["warnings"]), ["release"], words)
        expired = {each["document"] for each in self.status()["documents"] if each["expired"]}
        self.assertEqual(expired, {"release"})
        self.assertIn("2026-02-01 (expired)", self.ctl("knowledge", "status").stdout)
        told = self.ctl("--direct", "--no-cache", "select", "torch")
        self.assertIn("the data file 'release' expired on 2026-02-01", told.stdout + told.stderr)

    def test_is_said_of_none_that_is_fresh(self):
        self.installed(expires="2040-01-01")
        self.assertEqual(self.version(), ("bundle", "2030.1.1"))
        self.assertEqual(self.stale(self.answer("select")["warnings"]), [])

    def test_is_not_ended_by_another_that_has_expired(self):
        late = self.home / "late"
        late.write_bytes(self.tool.make_bundle(self.keys / "us.pem", self.documents, version="2030.1.2", issued="2026-01-01",
                                               expires="2026-03-01"))
        self.assertIn("has expired on 2026-03-01", self.ctl("knowledge", "update", str(late)).stderr)
        self.assertEqual(self.version(), ("bundle", "2030.1.1"))
        self.assertEqual(self.ctl("knowledge", "update", str(self.bundle("2030.1.3"))).stderr, "")
        self.assertEqual(self.stale(self.answer("select")["warnings"]), [])


class ManifestsFromPipes(KnowledgeCase):
    def test_are_manifests_too(self):
        path = SOURCE / "data/knowledge/applications/torch.json"
        command = f"{BIN}/gpuprobectl --replay {H200} recommend -q --manifest"
        for words in (f"{command}={path}", f"{command} /dev/stdin < {path}", f"cat {path} | {command} /dev/stdin",
                      f"{command} <(cat {path})", f"cat {path} | {command} -"):
            told = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((told.stdout, told.stderr), ("cu132\n", ""), words)
        for words in (f"{command} /dev/zero", f"yes | {command} /dev/stdin", f"{command} <(cat /dev/zero)"):
            told = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((told.returncode, told.stdout), (1, ""), words)


if __name__ == "__main__":
    unittest.main()
