# SPDX-License-Identifier: Apache-2.0
"""Tests of the output and exit status of gpuprobectl with a fake daemon."""
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import unittest

from cli_case import CTL, DATA, SOURCE, FakeDaemon, WithDaemon, environment, run, run_in_terminal


class Texts(WithDaemon):
    def check(self, name, *words):
        done = self.ask(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_golden(name, done.stdout)

    def test_status(self):
        self.check("status")

    def test_list(self):
        self.check("list", "list")

    def test_list_without_titles(self):
        self.check("list-no-legend", "list", "--no-legend")

    def test_show(self):
        self.check("show", "show", "0", "--all")

    def test_show_of_several_gpus(self):
        for more in ([], ["--all"]):
            done = self.ask("show", "01:00.0", "/dev/dri/renderD129", *more)
            self.assertEqual(done.returncode, 0)
            self.assertLess(done.stdout.index("pci:0000:01:00.0"), done.stdout.index("pci:0000:00:02.0"))

    def test_show_without_names(self):
        self.check("show-machine", "show")

    def test_select(self):
        self.check("select", "select")

    def test_select_explained(self):
        self.check("select-explain", "select", "tsuku", "--explain")

    def test_probe(self):
        self.check("probe", "probe", "0")

    def test_version_names_both(self):
        done = self.ask("version")
        self.assertRegex(done.stdout, r"^gpuprobectl [\d.]+\ngpuprobed 0\.1\.0\n$")

    def test_quiet_select_prints_the_backend_alone(self):
        self.assertEqual(self.ask("-q", "select").stdout, "cuda\n")


class Terminals(WithDaemon):
    def check(self, name, columns, *words, **more):
        code, text = self.show(columns, *words, **more)
        self.assertEqual(code, 0)
        self.assert_golden(name, text)
        return text

    def test_status_in_80_columns(self):
        text = self.check("status-80", 80, "--color=never")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_status_in_140_columns_with_colour(self):
        self.assertIn("\x1b[32m", self.check("status-140-colour", 140))

    def test_show_in_80_columns(self):
        self.check("show-80", 80, "show", "1", "--all", "--color=never")

    def test_explanation_in_80_columns(self):
        self.check("select-explain-80", 80, "select", "--explain", "--color=never")

    def test_no_color_is_honoured(self):
        self.assertNotIn("\x1b", self.show(80, NO_COLOR="1")[1])
        self.assertNotIn("\x1b", self.show(80, TERM="dumb")[1])
        self.assertIn("\x1b", self.show(80, "--color=always", NO_COLOR="1")[1])

    def test_a_terminal_without_utf8_gets_ascii(self):
        self.assertTrue(self.show(80, "--color=never", LANG="C")[1].isascii())

    def test_short_option_is_pretty_on_a_terminal(self):
        _, text = self.show(80, "-j", "list")
        self.assertGreater(text.count("\n"), 10)
        json.loads(text)


class Accelerators(unittest.TestCase):
    MACHINE = str(DATA.parent / "machines" / "accel-sensors")

    def ask(self, *words):
        done = run("--replay", self.MACHINE, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_are_listed_with_what_they_draw(self):
        lines = {line.split()[0]: line for line in self.ask("list").splitlines()}
        self.assertRegex(lines["pci:0000:19:00.0"], r"GAUDI2 +training +\? +93\.5 of 600 W +35 °C +habanalabs")
        self.assertRegex(lines["pci:0000:02:00.0"], r"tpu +\? +\? +44\.05 °C")
        listed = json.loads(self.ask("list", "-j"))["accelerators"]
        self.assertEqual(listed[1]["power"]["draw_microwatts"], 31_000_000)
        self.assertIsNone(listed[0]["power"]["draw_microwatts"], "the power of a sleeping accelerator is unknown")

    def test_are_shown_by_id_address_and_node(self):
        texts = {self.ask("show", "--all", name) for name in ("pci:0000:01:00.0", "01:00.0", "/dev/tenstorrent/0")}
        self.assertEqual(len(texts), 1)
        self.assertRegex(texts.pop(), r"power +31 of 160 W\n *temperature +41\.56 °C")
        self.assertEqual(json.loads(self.ask("show", "-j", "02:00.0"))["driver"]["name"], "apex")

    def test_are_in_prometheus_file(self):
        self.assertIn('gpuprobe_accelerator_power_watts{accelerator="0000:19:00.0"} 93.5\n', self.ask("export", "prometheus"))


def without_words(value):
    """Removes the messages that a verb adds to reasons from a document."""
    if isinstance(value, dict):
        return {key: without_words(part) for key, part in value.items() if key not in ("text", "fix", "commands", "subject", "why")}
    return [without_words(part) for part in value] if isinstance(value, list) else value


def without_unknown(value):
    """Removes members that are null or empty: `show` prints all these members, but `list` prints only those that the daemon sent."""
    if isinstance(value, dict):
        return {key: without_unknown(part) for key, part in value.items() if part is not None and part not in ([], {})}
    return [without_unknown(part) for part in value] if isinstance(value, list) else value


class Documents(WithDaemon):
    def test_status_and_describe_are_the_report(self):
        report = json.loads((DATA / "laptop.report.json").read_text())
        self.assertEqual(self.document(), (0, report))
        self.assertEqual(self.document("describe"), (0, report))

    def test_describe_of_one_gpu(self):
        report = json.loads((DATA / "laptop.report.json").read_text())
        self.assertEqual(self.document("describe", "00:02.0"), (0, report["gpus"][1]))

    def test_list_and_show(self):
        _, listed = self.document("list")
        self.assertEqual([gpu["id"] for gpu in listed["gpus"]], ["pci:0000:01:00.0", "pci:0000:00:02.0"])
        self.assertEqual(self.document("show", "1")[1]["id"], "pci:0000:00:02.0")
        shown = self.document("show")[1]["gpus"]
        self.assertEqual(without_unknown(shown), without_unknown(listed["gpus"]))
        self.assertEqual(shown, [self.document("show", gpu["id"])[1] for gpu in listed["gpus"]])

    def test_select_has_ids_and_not_paths(self):
        wanted = json.loads((DATA / "laptop.decision.json").read_text())
        code, document = self.document("select")
        self.assertEqual((code, without_words(document)), (0, wanted))
        self.assertTrue(all(candidate["why"] for candidate in document["candidates"]))
        self.assertTrue(all(reason["text"] for candidate in document["candidates"] for reason in candidate["reasons"]))

    def test_env(self):
        code, document = self.document("env")
        self.assertEqual((code, document["backend"]), (0, "cuda"))
        self.assertIn("CUDA_VISIBLE_DEVICES", document["environment"])

    def test_probe_lists_every_outcome(self):
        _, document = self.document("probe", "--api=vulkan")
        self.assertEqual({probe["api"] for probe in document["probes"]}, {"vulkan"})

    def test_version_and_applications(self):
        self.assertEqual(self.document("version")[1]["daemon"]["version"], "0.1.0")
        self.assertIn("default", [application["name"] for application in self.document("apps")[1]["applications"]])


class Environment(WithDaemon):
    def test_a_shell_reads_back_what_was_meant(self):
        wanted = json.loads((DATA / "laptop.decision.json").read_text())["environment"]
        lines = self.ask("env").stdout
        script = f'{lines}printf "%s\\n" "$CUDA_VISIBLE_DEVICES" "$NOTE"'
        told = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(told.stdout.splitlines(), [wanted["CUDA_VISIBLE_DEVICES"], wanted["NOTE"]])


class EnvironmentOfAGpu(WithDaemon):
    def test_a_pipe_gets_what_stays_true(self):
        done = self.ask("env", "01:00.0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("CUDA_VISIBLE_DEVICES=GPU-", done.stdout)
        self.assertNotIn("#", done.stdout)
        self.assertEqual(done.stdout, self.ask("env", "RTX").stdout)

    def test_a_shell_takes_all_of_it(self):
        lines = self.ask("env", "0", "--all").stdout
        self.assertIn("# ", lines)
        told = subprocess.run(["sh", "-euc", lines + 'printf %s "$CUDA_VISIBLE_DEVICES"'],
                              capture_output=True, text=True, check=True)
        self.assertRegex(told.stdout, "^GPU-[0-9a-f-]{36}$")

    def test_a_terminal_shows_the_other_ways(self):
        self.assertIn("\n# cuda, by position: CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0\n",
                      self.show(80, "env", "0")[1])

    def test_the_card_has_every_selector(self):
        code, card = self.document("env", "0")
        self.assertEqual((code, card["gpu"]), (0, "pci:0000:01:00.0"))
        kinds = {selector["kind"] for selector in card["selectors"]}
        self.assertEqual(kinds, {"stable", "index"})
        self.assertEqual(card["indices"]["cuda"], 0)

    def test_a_gpu_takes_no_options_of_a_choice(self):
        done = self.ask("env", "0", "--backend=cuda")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--gpu=GPU", done.stderr)

    def test_a_gpu_has_no_choice_to_explain(self):
        done = self.ask("env", "0", "--explain")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--gpu=GPU", done.stderr)

    def test_a_choice_is_explained_on_standard_error(self):
        plain, done, selected = self.ask("env", "default"), self.ask("env", "default", "--explain"), self.ask("select", "default", "--explain")
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout))
        self.assertEqual(plain.stderr, "")
        self.assertIn("Candidates\n", done.stderr)
        self.assertEqual(done.stderr, "".join(line for line in selected.stdout.splitlines(True) if line.strip() not in plain.stdout.splitlines()
                                              or not line.strip()))
        _, document = self.document("env", "default", "--explain")
        self.assertEqual(document["candidates"], self.document("select", "default")[1]["candidates"])
        self.assertNotIn("candidates", self.document("env", "default")[1])

    def test_a_number_is_meant_as_a_gpu(self):
        for word in ("7", "pci:0000:99:00.0", "/dev/nvidia7"):
            done = self.ask("env", word)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertTrue(done.stderr.startswith(f"gpuprobectl: no GPU '{word}'; this machine has pci:0000:01:00.0 ("), done.stderr)
        self.assertEqual(self.ask("env", "nobody").stderr, "gpuprobectl: no application or GPU 'nobody'; 'gpuprobectl apps' lists the applications, "
                         "and 'gpuprobectl list' lists the GPUs\n")

    def test_an_application_takes_no_all(self):
        self.assertEqual(self.ask("env", "default", "--all").returncode, 2)
        self.assertEqual(self.ask("env", "--all").returncode, 2)

    def test_what_is_neither_is_named_so(self):
        done = self.ask("env", "defualt")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "gpuprobectl: no application or GPU 'defualt'; did you mean 'default'?\n"))

    def test_what_could_be_both_is_an_error_that_names_both(self):
        report = json.loads((DATA / "laptop.report.json").read_text())
        report["gpus"][0]["name"] = "The default card"
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "report.json")
            file.write_text(json.dumps(report), encoding="utf-8")
            fake = FakeDaemon(f"{folder}/socket", file, DATA / "laptop.decision.json")
            both = run(f"--socket={folder}/socket", "env", "default")
            application = run(f"--socket={folder}/socket", "env", "default", "--gpu=0")
            fake.stop()
        self.assertEqual((both.returncode, both.stdout), (2, ""))
        self.assertIn("'default' is the name of an application and also matches pci:0000:01:00.0 (The default card)", both.stderr)
        self.assertEqual(application.returncode, 0, application.stderr)


class Refusals(WithDaemon):
    decision = "nomatch"

    def test_no_match_ends_with_3_and_says_why(self):
        done = self.ask("select", "--backend=cuda", "--memory=16GiB")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assert_golden("nomatch", done.stderr)

    def test_no_match_as_json_has_the_candidates(self):
        code, document = self.document("select")
        self.assertEqual(code, 3)
        self.assertEqual(document["error"]["name"], "org.gpuprobe.GpuProbe1.Error.NoMatch")
        self.assertEqual(document["error"]["candidates"][0]["reasons"][0]["code"], "too-little-memory")

    def test_env_prints_nothing_without_a_match(self):
        done = self.ask("env")
        self.assertEqual((done.returncode, done.stdout), (3, ""))

    def test_unknown_application_gets_a_suggestion(self):
        done = self.ask("select", "defualt")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "gpuprobectl: no application 'defualt'; did you mean 'default'?\n")

    def test_refused_request_is_a_usage_error(self):
        code, document = self.document("select", "--built=nonsense")
        self.assertEqual((code, document["error"]["name"].split(".")[-1]), (2, "InvalidRequest"))

    def test_unknown_gpu_lists_the_known_ones(self):
        code, document = self.document("show", "99:00.0")
        self.assertEqual((code, document["error"]["name"].split(".")[-1]), (1, "NoSuchGpu"))
        self.assertIn("pci:0000:01:00.0", document["error"]["message"])

    def test_not_authorised_ends_with_5(self):
        self.assertEqual(self.ask("probe", "--api=level_zero_sysman").returncode, 5)


class EmptyNames(unittest.TestCase):
    """Tests that an empty name of a GPU, for example from an empty variable of a script, is an error and does not mean "any GPU"."""

    MACHINE = SOURCE / "tests/data/machines/nvidia-h200-1"

    def refused(self, *words):
        done = run(f"--replay={self.MACHINE}", *words)
        self.assertEqual((done.returncode, done.stdout), (125 if words[0] == "run" else 2, ""))
        self.assertRegex(done.stderr, "omit (the (key|option)|--gpu)")

    def test_are_refused_where_a_list_restricts(self):
        for words in (["select", "--gpu="], ["select", "--gpu= , "], ["env", "default", "--gpu="], ["run", "default", "--gpu=", "--", "true"],
                      ["select", "--only="], ["plan", "--memory=10MiB", "--gpu="],
                      ["report-outcome", "default", "failed", "--backend=cuda", "--gpu="]):
            with self.subTest(" ".join(words)):
                self.refused(*words)

    def test_are_refused_in_requests(self):
        for method, request in (("Select", {"gpus": []}), ("Select", {"gpus": ""}), ("Select", {"only": []})):
            done = run(f"--replay={self.MACHINE}", "call", method, json.dumps({"request": request}))
            self.assertIn("omit the key to allow any name", done.stdout, request)
        done = run(f"--replay={self.MACHINE}", "call", "Plan", '{"request":{"need-mib":10,"gpus":[]}}')
        self.assertIn("error", json.loads(done.stdout))

    def test_are_fine_where_nothing_is_taken_away(self):
        for words in (["select", "--exclude="], ["select", "--prefer="]):
            self.assertEqual(run(f"--replay={self.MACHINE}", *words).returncode, 0)


class NoDaemon(unittest.TestCase):
    def test_a_named_socket_without_a_daemon_ends_with_4(self):
        for verb in ("status", "select", "version"):
            done = run("--socket=/nonexistent", verb)
            self.assertEqual((done.returncode, done.stdout), (4, ""), verb)
            self.assertIn("gpuprobectl: ", done.stderr)
        done = run("-j", "--socket=/nonexistent")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(json.loads(done.stdout)["error"]["name"].split(".")[-1], "Unavailable")

    def test_without_a_daemon_the_machine_is_asked_and_one_line_says_so(self):
        done = run("list", "--worker=/bin/false", "--no-cache")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            done.stderr.splitlines()[0],
            "gpuprobectl: the daemon does not answer on its socket; probing this machine directly",
        )

    def test_quiet_keeps_the_remark_back(self):
        self.assertEqual(run("-q", "list", "--worker=/bin/false", "--no-cache").stderr, "")

    def test_usage_errors_are_a_document_too_when_json_is_asked_for(self):
        done = run("-j", "list", "--nope")
        self.assertEqual(done.returncode, 2)
        error = json.loads(done.stdout)["error"]
        self.assertEqual(error["name"], "org.gpuprobe.GpuProbe1.Error.InvalidRequest")
        self.assertIn("--nope", error["message"])
        self.assertIn("--nope", done.stderr)

    def test_usage_errors_end_with_2(self):
        for words in (["statsu"], ["--json=yaml"], ["capture"], ["select", "--memory=x"]):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertEqual(done.stderr.count("\n"), 2, done.stderr)

    def test_a_name_that_nothing_has_is_a_failure_not_an_answer(self):
        """Tests all kinds of names. The exit status is 1 and not 3, because 3 is an answer about the machine."""
        machine = f"--replay={SOURCE}/tests/data/machines/nvidia-h200-1"
        for words in (["show", "nosuch"], ["env", "nosuch"], ["select", "nosuch"], ["recommend", "nosuch"], ["bench", "nosuch"],
                      ["probe", "nosuch"], ["plan", "--memory=1MiB", "--gpu=nosuch"], ["export", "pip", "nosuch"]):
            done = run(machine, *words)
            # A command line that contains the output of a failed export must fail, too.
            output = "--gpuprobe-has-no-answer\n" if words[0] == "export" else ""
            self.assertEqual((done.returncode, done.stdout), (1, output), words)
            self.assertRegex(done.stderr, r"\Agpuprobectl: no .*'nosuch'", words)

    def test_help_goes_to_standard_output(self):
        done = run("help", "select")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--explain", done.stdout)

    def test_missing_capture_is_named(self):
        done = run("--replay=/nonexistent/capture")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "gpuprobectl: capture /nonexistent/capture: folder does not exist\n")

    def test_a_socket_without_a_daemon_is_named(self):
        done = run("--socket=/nonexistent/no/socket", "list")
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertEqual(done.stderr, "gpuprobectl: no daemon can be reached at /nonexistent/no/socket: No such file or directory\n")
        with tempfile.NamedTemporaryFile() as file:
            self.assertEqual(run(f"--socket={file.name}", "list").stderr, f"gpuprobectl: no daemon can be reached at {file.name}: Connection refused\n")

    def test_a_pipe_has_no_width(self):
        words = f"--replay={SOURCE}/tests/data/machines/nvidia-h200-2", "select", "--explain"
        self.assertEqual(run(*words, COLUMNS="40").stdout, run(*words).stdout)
        self.assertNotEqual(run_in_terminal(80, *words, COLUMNS="40"), run_in_terminal(80, *words))

    def test_an_api_that_does_not_exist_is_refused(self):
        done = run(f"--replay={SOURCE}/tests/data/machines/nvidia-h200-1", "-j", "call", "Probe", '{"apis":["cudda"]}')
        error = json.loads(done.stdout)["error"]
        self.assertEqual((done.returncode, error["name"].split(".")[-1]), (2, "InvalidRequest"))
        self.assertEqual(error["message"], "apis: no such API here: cudda; did you mean 'cuda'?")

    def test_a_capture_that_is_a_file_is_named(self):
        done = run(f"--replay={__file__}")
        self.assertEqual((done.returncode, done.stderr), (1, f"gpuprobectl: capture {__file__}: not a folder\n"))

    def test_full_disk_is_a_failure(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([CTL, "help"], env=environment(), stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)

    def test_reader_that_leaves_gets_no_complaint(self):
        child = subprocess.Popen(
            [CTL, "help"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        child.stdout.close()
        self.assertIn(child.wait(timeout=10), (0, -signal.SIGPIPE))
        self.assertEqual(child.stderr.read(), "")
        child.stderr.close()


class Pager(WithDaemon):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.read = pathlib.Path(folder.name, "read")
        self.reader = {"GPUPROBE_PAGER": f"cat >{self.read}"}

    def test_reads_what_a_terminal_of_that_width_would_show(self):
        code, text = self.show(100, "show", "1")
        self.assertEqual(self.show(100, "show", "1", **self.reader), (code, ""))
        self.assertEqual(self.read.read_text(encoding="utf-8"), text)
        self.assertIn("\x1b", text)

    def test_is_the_programs_own_or_everybodys(self):
        self.assertEqual(self.show(100, "list", GPUPROBE_PAGER=None, PAGER=f"cat >{self.read}")[1], "")
        self.assertIn("pci:0000:01:00.0", self.read.read_text(encoding="utf-8"))
        self.assertIn("pci:0000:01:00.0", self.show(100, "list", PAGER=f"cat >{self.read}")[1])

    def test_is_for_texts_on_terminals(self):
        for words in (["--no-pager", "list"], ["-j", "list"], ["version"]):
            self.assertNotEqual(self.show(100, *words, **self.reader)[1], "", words)
        self.assertNotEqual(self.ask("list", **self.reader).stdout, "")
        self.assertFalse(self.read.exists())

    def test_keeps_the_exit_status(self):
        self.assertEqual(self.show(100, "show", "nothing", **self.reader)[0], 1)
        self.assertEqual(self.show(100, "list", GPUPROBE_PAGER="exit 7")[0] in (0, -signal.SIGPIPE), True)

    @unittest.skipUnless(shutil.which("less"), "less is not installed")
    def test_less_leaves_what_fits_to_the_terminal(self):
        self.assertIn("pci:0000:01:00.0", self.show(100, "list", GPUPROBE_PAGER=None)[1])


class Monitor(WithDaemon):
    def test_waits_for_a_daemon_that_restarts(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = f"{folder.name}/socket"
        first = FakeDaemon(path, DATA / "laptop.report.json", DATA / "laptop.decision.json")
        watcher = subprocess.Popen([CTL, "--socket=" + path, "monitor"], env=environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(watcher.stdout.close)
        self.addCleanup(watcher.stderr.close)
        self.addCleanup(watcher.kill)
        self.assertIn("watching 2 GPUs", watcher.stderr.readline())
        first.stop()
        self.assertIn("the daemon has stopped; waiting until it starts again", watcher.stderr.readline())
        second = FakeDaemon(path, DATA / "undocked.report.json", DATA / "laptop.decision.json")
        self.addCleanup(second.stop)
        self.assertIn("pci:0000:01:00.0", watcher.stdout.readline())
        watcher.send_signal(signal.SIGINT)
        watcher.wait(timeout=10)

    def test_tells_of_a_gpu_that_leaves_and_of_the_end(self):
        watcher = subprocess.Popen(
            [CTL, "--socket=" + self.socket, "-j", "--patience=1", "monitor"],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(watcher.stdout.close)
        self.addCleanup(watcher.stderr.close)
        changed = False
        events = []
        # Change the state repeatedly until the watcher has subscribed and prints a change.
        for turn in range(100):
            name = "laptop" if changed else "undocked"
            changed = not changed
            self.fake.tell(f"{DATA}/{name}.report.json")
            if select.select([watcher.stdout], [], [], 0.2)[0]:
                events.append(json.loads(watcher.stdout.readline()))
                break
        self.assertIn(events[0]["event"], ("gpu-removed", "gpu-added"))
        self.assertEqual(events[0]["gpu"], "pci:0000:01:00.0")
        self.fake.tell("leave")
        rest, _ = watcher.communicate(timeout=10)
        self.assertEqual(watcher.returncode, 4)
        last = json.loads(rest.splitlines()[-1])
        self.assertEqual(last["error"]["name"].split(".")[-1], "Unavailable")


if __name__ == "__main__":
    unittest.main()
