# SPDX-License-Identifier: Apache-2.0
"""Package indexes on the loopback interface. The indexes serve dummy wheels with the file names in listings.json.

https://HOST/PATH is served as http://127.0.0.1:PORT/HOST/PATH, so a test only replaces the beginning of a URL. The dummy wheels contain no code, but
have metadata, with the extras and requirements from listings.json.
"""
import hashlib
import html
import http.server
import io
import json
import pathlib
import re
import threading
import zipfile

LISTINGS = json.loads((pathlib.Path(__file__).parent / "listings.json").read_text(encoding="utf-8"))
JSON = "application/vnd.pypi.simple.v1+json"


def expanded(name):
    """Returns all names that result if {arch} and {gfx} in a name are replaced by each possible value."""
    names = [name]
    for word, values in (("{arch}", ("x86_64", "aarch64")), ("{gfx}", LISTINGS["gfx"])):
        names = [each.replace(word, value) for each in names for value in (values if word in each else [""])]
    return names


def project(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def by_version(table, name, version):
    """Returns the entry for NAME+LOCAL, or the entry for NAME if there is none."""
    local = version.partition("+")[2]
    return table.get(f"{name}+{local}", table.get(name)) if local else table.get(name)


def metadata(file):
    name, version = file.split("-")[:2]
    name = project(name)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in by_version(LISTINGS["requires"], name, version) or []]
    for extra, needs in (by_version(LISTINGS["extras"], name, version) or {}).items():
        for gfx in LISTINGS["gfx"] if "{gfx}" in extra else [""]:
            extra_name = extra.replace("{gfx}", gfx)
            lines.append(f"Provides-Extra: {extra_name}")
            lines += [f"Requires-Dist: {need.replace('{gfx}', gfx).replace('{version}', version)} ; extra == '{extra_name}'"
                      for need in needs]
    return "\n".join(lines) + "\n"


def wheel(file):
    """Returns the bytes of a wheel with a given file name; equal names always result in equal bytes."""
    stem, tags = file.removesuffix(".whl").split("-")[:2], file.removesuffix(".whl").split("-")[-3:]
    folder = "-".join(stem) + ".dist-info"
    kinds = [f"{python}-{abi}-{platform}" for python in tags[0].split(".") for abi in tags[1].split(".")
             for platform in tags[2].split(".")]
    texts = {f"{folder}/METADATA": metadata(file),
             f"{folder}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n" + "".join(f"Tag: {kind}\n" for kind in kinds)}
    texts[f"{folder}/RECORD"] = "".join(f"{path},,\n" for path in (*texts, f"{folder}/RECORD"))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, text in texts.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return content.getvalue()


def hash_of(content):
    return hashlib.sha256(content).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves project pages according to PEP 503 and PEP 691, a wheel for any file name, and the files in `server.files`."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = self.path.partition("?")[0].replace("%2B", "+").replace("%2b", "+")
        index, _, name = path.strip("/").rpartition("/")
        if path in self.server.files:
            self.answer(self.server.files[path], "application/octet-stream")
        elif path.endswith(".whl"):
            self.answer(wheel(name), "application/octet-stream")
        elif files := [file for file in self.server.indexes.get(index, []) if project(file.split("-")[0]) == name]:
            self.page(index, name, files)
        else:
            self.send_error(404)

    def page(self, index, name, files):
        links = [{"filename": file, "url": f"/{index}/files/{file.replace('+', '%2B')}", "hashes": {"sha256": hash_of(wheel(file))}}
                 for file in files]
        if JSON in self.headers.get("Accept", ""):
            return self.answer(json.dumps({"meta": {"api-version": "1.0"}, "name": name, "files": links}).encode(), JSON)
        rows = "".join(f'<a href="{link["url"]}#sha256={link["hashes"]["sha256"]}">{html.escape(link["filename"])}</a>\n'
                       for link in links)
        return self.answer(f"<!DOCTYPE html><html><body>\n{rows}</body></html>".encode(), "text/html")

    def answer(self, content, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Indexes:
    """The server of all indexes. `files` contains additional paths, with the content that the server returns for each path."""

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.files = {}
        self.server.indexes = {url.split("://")[1].rstrip("/"): [name for file in entry["files"] for name in expanded(file)]
                               for url, entry in LISTINGS["indexes"].items()}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def local(self, url):
        """Returns the URL on the test server that replaces a real URL."""
        return re.sub(r"^https?://", f"http://127.0.0.1:{self.server.server_port}/", url)
