#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the OTLP export of every recorded machine to the OpenTelemetry Collector, which must accept the export and forward it unchanged.

Usage: tests/system/collector/run.py COLLECTOR GPUPROBECTL
tests/system/collector/build prints the path of the collector. The results are printed as TAP.
"""
import http.server
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

MACHINES = pathlib.Path(__file__).resolve().parents[3] / "tests/data/machines"


class Backend(http.server.ThreadingHTTPServer):
    """The server to which the collector forwards all data."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.received = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def configuration(port, backend):
    return {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        # Without a queue, the collector answers only after it has forwarded the request.
        "exporters": {"otlphttp": {"endpoint": f"http://127.0.0.1:{backend}", "encoding": "json", "compression": "none",
                                   "sending_queue": {"enabled": False}, "retry_on_failure": {"enabled": False}}},
        "service": {"pipelines": {"metrics": {"receivers": ["otlp"], "exporters": ["otlphttp"]}},
                    "telemetry": {"metrics": {"level": "none"}}},
    }


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post(port, text):
    """Returns the status and text of the answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/metrics", text.encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def plain(value):
    """Returns the value without members that messages may omit: false, and empty lists."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item not in (False, [])}
    return value


class Tap:
    failed = 0

    def tell(self, passed, what, detail=""):
        print(("ok - " if passed else "not ok - ") + what)
        if not passed:
            self.failed += 1
            print("    " + str(detail)[:2000].replace("\n", "\n    "))


def send_all(tap, port, backend, program):
    names = sorted(path.name for path in MACHINES.iterdir() if path.is_dir() and path.name != "LICENSES")
    wrong, points = {}, 0
    for name in names:
        text = subprocess.run([program, f"--replay={MACHINES / name}", "export", "otlp", f"--node={name}"], capture_output=True,
                              text=True, timeout=60, check=False).stdout
        sent = json.loads(text)
        has_points = bool(sent["resourceMetrics"][0]["scopeMetrics"][0]["metrics"])
        points += text.count('"asInt"')
        backend.received.clear()
        status, answer = post(port, text)
        # The collector does not forward a request without data points.
        wanted = [plain(sent)] if has_points else []
        got = [plain(request) for request in backend.received]
        if status != 200 or "partialSuccess\":{\"" in answer or got != wanted:
            wrong[name] = (status, answer, wanted, got)
    tap.tell(not wrong and points > 500, f"{len(names)} machines, {points} points, each sent on as it came", wrong or points)


def run(collector, program, folder):
    tap, backend, port = Tap(), Backend(), free_port()
    config = folder / "config.yaml"
    config.write_text(json.dumps(configuration(port, backend.server_port)), encoding="utf-8")
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([collector, f"--config=file:{config}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while process.poll() is None:
            try:
                post(port, "{}")
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        tap.tell(process.poll() is None, "the collector starts", (folder / "log").read_text(encoding="utf-8"))
        if not tap.failed:
            send_all(tap, port, backend, program)
            status, answer = post(port, '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":5}]}]}]}')
            tap.tell(status == 400, "what is no OTLP is refused", (status, answer))
            tap.tell(process.poll() is None, "the collector still runs")
    finally:
        process.kill()
        process.wait()
    return 1 if tap.failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="gpuprobe-collector-") as path:
        sys.exit(run(sys.argv[1], sys.argv[2], pathlib.Path(path)))
