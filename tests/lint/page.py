# SPDX-License-Identifier: Apache-2.0
"""Checks Cockpit's page: scripts must parse, strings must not be used as HTML or code, and all files that the page names must exist.

Usage: page.py SOURCE
       page.py --self-test   shows that each rule can fail
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

# Code that turns text into HTML, code or a style. The content security policy blocks most of this code; the check also finds the rest.
FORBIDDEN = {
    r"\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML": "text as HTML",
    r"\beval\s*\(|new Function\b|setTimeout\(\s*[\"'`]|setInterval\(\s*[\"'`]|javascript:": "text as code",
    r"[\"'`](style|on[a-z]+|srcdoc)[\"'`]\s*,|\b(style|srcdoc)\s*:": "an inline style or handler",
    r"\bvar\s|==(?!=)(?<![=!]==)|!=(?!=)": "an old form: let, const, === and !== are for that",
    r"https?://(?!www\.w3\.org/)": "an address of elsewhere",
}
INLINE = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\son[a-z]+=|\sstyle=")
LINE = 140


def faults_of(script):
    """Yields (line number, fault) of each fault in a script. Comments are ignored."""
    for number, line in enumerate(script.splitlines(), 1):
        code = re.sub(r"^\s*(//|/?\*).*|\s//\s.*$", "", line)
        for pattern, what in FORBIDDEN.items():
            if re.search(pattern, code):
                yield number, what
        if len(line) > LINE:
            yield number, f"more than {LINE} columns"


def syntax_faults(path):
    """Returns Node's error message about the syntax of a script. All scripts are modules except theme.js."""
    kind = "commonjs" if path.name == "theme.js" else "module"
    done = subprocess.run(["node", f"--input-type={kind}", "--check"], input=path.read_text(encoding="utf-8"),
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def scripts(folder):
    """Returns the scripts of the page, without the catalogs that tools/page-translations generates."""
    return sorted(path for path in folder.glob("*.js") if not path.name.startswith("po."))


def named_files(folder):
    """Yields (file, name) of each file in the page's folder that index.html and the modules load."""
    for path in [folder / "index.html", *scripts(folder)]:
        for name in re.findall(r"(?:src|href)=\"([^\"]+)\"|from \"\./([^\"]+)\"", path.read_text(encoding="utf-8")):
            yield path.name, name[0] or name[1]


def check(source):
    folder = source / "cockpit"
    found = []
    for path in scripts(folder):
        found += [f"{path.name}:{number}: {what}" for number, what in faults_of(path.read_text(encoding="utf-8"))]
        if shutil.which("node"):
            found += [f"{path.name}: {text}" for text in [syntax_faults(path)] if text]
    html = (folder / "index.html").read_text(encoding="utf-8")
    found += [f"index.html: {text}" for text in INLINE.findall(html)]
    for file, name in named_files(folder):
        # Cockpit serves po.LANGUAGE.js as po.js, and serves nothing if there is no catalog for the user's language.
        if not name.startswith("../base1/") and name != "po.js" and not (folder / name).is_file():
            found.append(f"{file}: {name} is not there")
    preloaded = set(re.findall(r"modulepreload\" href=\"([^\"]+)\"", html))
    modules = {path.name for path in scripts(folder)} - {"theme.js", "gpuprobe.js"}
    if preloaded != modules:
        found.append(f"index.html: not each module is asked for at once: {sorted(preloaded ^ modules)}")
    done = subprocess.run([source / "tools/page-translations", "--check"], capture_output=True, text=True, check=False)
    found += [done.stdout + done.stderr] if shutil.which("msgmerge") and done.returncode else []
    json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for path in folder.glob("*.xml"):
        xml.etree.ElementTree.parse(path)
        if shutil.which("appstreamcli"):
            done = subprocess.run(["appstreamcli", "validate", "--no-net", path], capture_output=True, text=True, check=False)
            found += [done.stdout] if done.returncode else []
    return found


def self_test():
    bad = ["a.innerHTML = b;", "eval(a)", "setTimeout('a', 1)", 'h("p", { style: "x" })', 'a.setAttribute("onclick", b)', "var a = 1;",
           "if (a == b)", "if (a != b)", 'fetch("https://example.org")', "x" * (LINE + 1)]
    good = ["a.textContent = b;", "if (a === b && c !== d)", "setTimeout(start, 1)", "// eval( is not used", "fill.style.width = a;", "a >= b"]
    return [line for line in bad if not list(faults_of(line))] + [line for line in good if list(faults_of(line))]


def main(argument):
    found = self_test() if argument == "--self-test" else check(pathlib.Path(argument))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
