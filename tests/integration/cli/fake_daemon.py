#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fake daemon, which serves org.gpuprobe on the socket $FAKE_SOCKET with the answers that a test sets.

Usage: fake_daemon.py REPORT.json [DECISION.json]

If $FAKE_FREE is set, GetMemory answers with this number of free bytes for each GPU; otherwise it answers that no such GPU exists.

The daemon prints "ready" when it listens. It reads one command per line from standard input: "leave", or the path of
another report, which it then serves and sends to subscribers.
"""
import json
import os
import socket
import sys
import threading

NOTHING = {"application": "default", "backend": None, "gpus": [], "environment": {}, "decision": "", "candidates": []}


class Refusal(Exception):
    def __init__(self, kind, message, **more):
        super().__init__(message)
        self.name = f"org.gpuprobe.{kind}"
        self.document = {"name": f"org.gpuprobe.GpuProbe1.Error.{kind}", "message": message, "candidates": [], **more}


class Daemon:
    def __init__(self, path, report, decision):
        self.report = report
        self.decision = decision
        self.subscribers = []
        self.lock = threading.Lock()
        if os.path.exists(path):
            os.unlink(path)  # the path is left from a daemon that has ended
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(path)
        self.listening.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listening.accept()
            threading.Thread(target=self.answer_all, args=(connection,), daemon=True).start()

    def answer_all(self, connection):
        received = b""
        while block := connection.recv(65536):
            *calls, received = (received + block).split(b"\0")
            for call in calls:
                self.answer(connection, json.loads(call))

    def send(self, connection, document, **members):
        connection.sendall(json.dumps({"parameters": document, **members}).encode() + b"\0")

    def answer(self, connection, call):
        method = call["method"].rsplit(".", 1)[1]
        if method == "Subscribe":
            with self.lock:
                self.subscribers.append(connection)
                return self.send(connection, self.change(), continues=True)
        if method == "Probe" and call.get("more"):
            self.send(connection, {"progress": 0.5, "generation": None, "probes": None}, continues=True)
        try:
            return self.send(connection, getattr(self, method)(call.get("parameters", {})))
        except Refusal as refusal:
            return self.send(connection, refusal.document, error=refusal.name)
        except AttributeError:
            return self.send(connection, {"method": call["method"]}, error="org.varlink.service.MethodNotFound")

    def change(self):
        return {"generation": self.report["generation"], "state": self.report["state"]}

    def serve(self, report):
        with self.lock:
            self.report = report
            for connection in self.subscribers:
                try:
                    self.send(connection, self.change(), continues=True)
                except OSError:
                    pass  # the subscriber has disconnected

    # The methods of org.gpuprobe ------------------------------------------------------------------------------------

    def GetInfo(self, _parameters):
        return {"vendor": "gpuprobe", "product": "gpuprobe", "version": "0.1.0", "url": "", "interfaces": ["org.gpuprobe"]}

    def Describe(self, _parameters):
        return self.report

    def ListGpus(self, _parameters):
        return {key: self.report[key] for key in ("generation", "gpus", "accelerators")}

    def ListApplications(self, _parameters):
        return {"applications": [{"name": name, "description": None, "backends": ["cuda", "cpu"], "variants": []}
                                 for name in ("default", "tsuku")]}

    def Select(self, parameters):
        application, request = parameters["application"], parameters["request"]
        if application not in ("default", "tsuku"):
            raise Refusal("UnknownApplication", f"no application '{application}'; did you mean 'default'?")
        if "nonsense" in request.get("built", []):
            raise Refusal("InvalidRequest", "request: built: nonsense: no such backend")
        decision = {**self.decision, "application": application, "generation": self.report["generation"]}
        if decision["backend"] is None:
            raise Refusal("NoMatch", f"nothing on this machine satisfies '{application}'", **{
                key: decision.get(key, {}) for key in ("application", "decision", "environment", "candidates")})
        return decision

    def Probe(self, parameters):
        if "level_zero_sysman" in parameters["apis"]:  # in this fake, only administrators may probe this API
            raise Refusal("NotAuthorized", "not for you")
        return {"generation": self.report["generation"], "probes": []}

    def GetMemory(self, parameters):
        if "FAKE_FREE" not in os.environ:
            raise Refusal("NoSuchGpu", f"no GPU '{parameters['gpu']}'")
        free = int(os.environ["FAKE_FREE"])
        return {"kind": "dedicated", "physical": None, "allocatable": None, "free": free, "free_at_usec": 1700000000000000,
                "source": "nvml", "reasons": [], "evidence": [{"source": "nvml", "what": "free", "bytes": free}]}


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    daemon = Daemon(os.environ["FAKE_SOCKET"], load(sys.argv[1]), load(sys.argv[2]) if len(sys.argv) > 2 else NOTHING)
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() in ("", "leave"):
            break
        daemon.serve(load(line.strip()))


if __name__ == "__main__":
    main()
