# SPDX-License-Identifier: Apache-2.0
"""A client of the daemon's socket."""
import json
import socket

from peer import Gone, Refused

DEADLINE = 30


class Varlink:
    """A connection to the socket. call() raises Refused, Gone, or TimeoutError after DEADLINE seconds."""

    def __init__(self, path):
        self.socket, self.buffer = socket.socket(socket.AF_UNIX), b""
        self.socket.settimeout(DEADLINE)
        try:
            self.socket.connect(path)
        except OSError as problem:
            self.socket.close()
            raise Gone from problem

    def call(self, method, **parameters):
        try:
            self.socket.sendall(json.dumps({"method": "org.gpuprobe." + method, "parameters": parameters}).encode() + b"\0")
            while b"\0" not in self.buffer:
                if not (piece := self.socket.recv(65536)):
                    raise Gone
                self.buffer += piece
        except (BrokenPipeError, ConnectionResetError) as problem:
            raise Gone from problem
        reply, self.buffer = self.buffer.split(b"\0", 1)
        reply = json.loads(reply)
        if "error" in reply:
            raise Refused(reply["error"], reply.get("parameters"))
        return reply["parameters"]

    def close(self):
        self.socket.close()
