# SPDX-License-Identifier: Apache-2.0
"""Replaces a systemd socket unit with Accept=yes: starts gpuprobe-worker --socket for each connection."""
import os
import socket
import subprocess
import threading

from bus_case import BIN

WORKER = BIN / "gpuprobe-worker"
# As sd_listen_fds(3) describes, the connection is descriptor 3, and LISTEN_PID is the id of the process that gets the connection.
EXEC = 'exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'


class WorkerSocket:
    """`options` are added to the command of each worker. `served` is the number of connections."""

    def __init__(self, path, *options):
        self.path = path
        self.options = options
        self.workers = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self.socket.bind(path)
        self.socket.listen(64)
        self.thread = threading.Thread(target=self.accept_all, daemon=True)
        self.thread.start()

    @property
    def served(self):
        return len(self.workers)

    def accept_all(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                self.workers.append(subprocess.Popen(
                    ["/bin/sh", "-c", EXEC, "sh", str(WORKER), "--socket", *self.options], stdin=connection,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def refuse(self):
        """Stops listening but keeps the path of the socket, as systemd does when its trigger limit is exceeded."""
        if not self.thread.is_alive():
            return
        # If close() were called without shutdown(), the thread would stay in accept(2), possibly with a descriptor number that is reused.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()

    def vanish(self):
        self.refuse()
        os.unlink(self.path)

    def end(self, timeout):
        """Waits until all workers have ended, because no worker may run longer than the process that started the worker. Returns the exit statuses of
        the workers."""
        return [worker.wait(timeout) for worker in self.workers]
