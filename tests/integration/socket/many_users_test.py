# SPDX-License-Identifier: Apache-2.0
"""Tests with calls from many users at once, or from many subordinate uids of one account: the daemon still answers other users, and its memory stays
bounded."""
import json
import multiprocessing
import os
import pwd
import resource
import socket
import time
import unittest

from socket_case import DEADLINE, Client, Refused, SocketCase

MIB = 1 << 20
SOON = 0.25 if not os.environ.get("GPUPROBE_SANITIZE") else 2  # seconds within which 99 of 100 answers arrive
MOST = 64 * MIB  # the most resident memory that the daemon may use
UNFINISHED = b'{"method":"' + b"x" * (2 * MIB - 4096)
STRANGERS = range(3_100_000_000, 3_100_010_000)  # uids without an account, and without an owner in /etc/subuid
ORDINARY = sorted(entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid not in (0, 65534))[:20]
SOMEBODY = 65534  # the user "nobody", which exists on every Debian system


def call(method, parameters=None):
    return json.dumps({"method": "org.gpuprobe." + method, "parameters": parameters or {}}).encode() + b"\0"


def connected(path, uid):
    """Connects as this user. The daemon sees the uid with which connect() was called: unix(7), SO_PEERCRED."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.seteuid(uid)
    try:
        client.connect(path)  # without a timeout, because connect() must wait if the queue is full
    finally:
        os.seteuid(0)
    client.settimeout(DEADLINE)
    return client


def flood(path, uid, ready):
    """Acts as an ordinary user who opens idle connections, sends unfinished calls, uses up budgets, and requests decisions that are not cached."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    held = []
    for _ in range(100):
        held.append(connected(path, uid))
    for client in held[:7]:
        client.settimeout(0)
        try:
            client.send(UNFINISHED)
        except OSError:
            pass
    ask = [connected(path, uid) for _ in range(4)]
    number = uid << 20
    ready.release()
    while True:
        for client in ask:
            number += 1
            try:
                client.sendall(call("Select", {"application": "ollama", "request": {"min_memory": number}}) if number % 8 else
                               call("ReportOutcome", {"application": "ollama", "backend": "cuda", "outcome": "failed"}))
            except OSError:
                pass
        for index, client in enumerate(ask):
            try:
                if not client.recv(1 << 16):
                    raise OSError
            except OSError:
                ask[index] = connected(path, uid)


@unittest.skipUnless(os.geteuid() == 0, "only root can become other users")
class ManyUsersCase(SocketCase):
    def setUp(self):
        super().setUp()
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16384), most))
        self.start(f"--state-dir={self.folder}")

    def resident(self):
        with open(f"/proc/{self.daemon.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS:"))

    def assert_small(self):
        print(f"{self.id().rpartition('.')[2]}: {self.resident() >> 10} KiB resident")
        self.assertIsNone(self.daemon.poll(), "the daemon has ended")
        if not os.environ.get("GPUPROBE_SANITIZE"):
            self.assertLess(self.resident(), MOST)

    def connect(self, uid):
        client = connected(self.path, uid)
        self.addCleanup(client.close)
        return client

    def ask(self, uid, method="Select", parameters=None):
        """Makes a call on a new connection of a user. Returns the answer."""
        client = Client.__new__(Client)
        client.socket, client.buffer = connected(self.path, uid), b""
        with client:
            return client.call(method, parameters)

    def assert_prompt(self, uid):
        """Checks that the daemon answers calls of a user soon, each on a new connection."""
        waited = []
        for _ in range(200):
            start = time.monotonic()
            self.ask(uid)
            waited.append(time.monotonic() - start)
        late = sorted(waited)[197]
        print(f"{self.id().rpartition('.')[2]}: uid {uid}: 99 % of 200 answers within {late * 1000:.1f} ms")
        self.assertLess(late, SOON)

    def assert_others_are_served(self, known_stranger):
        for uid in (SOMEBODY, known_stranger, 0):
            self.assert_prompt(uid)
        self.assertIn("gpus", self.ask(SOMEBODY, "Describe"))
        self.ask(SOMEBODY, "ReportOutcome", {"application": "ollama", "backend": "cuda", "outcome": "failed"})
        manifest = json.dumps({"schema": "gpuprobe.variants/1", "variants": [{"name": "x" * 900_000}]})
        with self.assertRaises(Refused) as refused:
            self.ask(SOMEBODY, "Recommend", {"application": "x", "manifest": manifest})
        self.assertNotIn("TooMany", refused.exception.name, "a large call of another user is not refused")
        self.assert_small()


class ManyUsers(ManyUsersCase):
    def test_of_strangers_with_a_connection_each(self):
        self.ask(STRANGERS[-1])
        held = [self.connect(uid) for uid in STRANGERS[:4200]]
        self.assert_others_are_served(STRANGERS[-1])
        time.sleep(1)  # after this time, a connection is idle (SocketServer::kIdle)
        self.ask(STRANGERS[-2])  # for this new stranger, the daemon closes an idle connection of another stranger
        for client in held:
            client.close()

    def test_of_strangers_with_unfinished_calls(self):
        self.ask(STRANGERS[-1])
        for uid in STRANGERS[:24]:
            for _ in range(7):
                client = self.connect(uid)
                client.settimeout(0.2)
                try:
                    client.sendall(UNFINISHED)
                except OSError:
                    pass
        self.assert_others_are_served(STRANGERS[-1])

    def test_of_strangers_with_many_small_unfinished_calls(self):
        self.ask(STRANGERS[-1])
        for uid in STRANGERS[:3000]:
            client = self.connect(uid)
            client.settimeout(0.2)
            try:
                client.sendall(UNFINISHED[:60_000])
            except OSError:
                pass
        self.assert_others_are_served(STRANGERS[-1])

    def test_of_strangers_that_spend_their_budgets(self):
        self.ask(STRANGERS[-1])
        outcome = {"application": "ollama", "backend": "cuda", "outcome": "failed"}
        refused = 0
        for uid in STRANGERS[:1100]:
            for _ in range(2):
                try:
                    self.ask(uid, "ReportOutcome", outcome)
                except Refused:
                    refused += 1
        self.assertGreater(refused, 500, "all strangers share one budget")
        self.assert_others_are_served(STRANGERS[-1])
        self.ask(STRANGERS[-1], "ReportOutcome", outcome)

    def test_of_strangers_that_never_read(self):
        self.ask(STRANGERS[-1])
        for uid in STRANGERS[:1500]:
            client = self.connect(uid)
            client.sendall(call("Describe") * 40)
        self.assert_others_are_served(STRANGERS[-1])

    def test_of_twenty_ordinary_users(self):
        self.ask(STRANGERS[-1])
        ready = multiprocessing.Semaphore(0)
        crowd = [multiprocessing.Process(target=flood, args=(self.path, uid, ready), daemon=True) for uid in ORDINARY]
        for process in crowd:
            process.start()
            self.addCleanup(process.join)
            self.addCleanup(process.kill)
        for _ in crowd:
            self.assertTrue(ready.acquire(timeout=60))
        print(f"{len(crowd)} ordinary users")
        self.assert_others_are_served(STRANGERS[-1])


class Hoarders(ManyUsersCase):
    """Tests that one user cannot make the daemon keep much memory."""

    HOARDER = 1

    def test_buffers_of_large_calls_go_with_the_answer(self):
        padded = call("Select")[:-1] + b" " * (2 * MIB - 4096) + b"\0"
        for _ in range(200):
            client = self.connect(self.HOARDER)
            client.sendall(padded)
            self.assertIn(b'"backend"', client.recv(1 << 16))
        self.assert_others_are_served(SOMEBODY)

    def test_answers_that_are_not_read_are_counted(self):
        for number in range(1500):
            client = self.connect(self.HOARDER)
            client.settimeout(0.5)
            try:
                client.sendall(call("Describe")[:-1] + b" " * (number + 1) + b"\0")
            except OSError:
                pass
        self.assert_others_are_served(SOMEBODY)

    def test_groups_are_looked_up_for_callers_and_bounded(self):
        pid = os.fork()
        if pid == 0:
            os.setgroups(range(3_000_000_000, 3_000_065_536))
            os.setuid(self.HOARDER)
            held = []
            for _ in range(300):
                held.append(socket.socket(socket.AF_UNIX))
                held[-1].connect(self.path)
                held[-1].sendall(call("Select"))
                held[-1].recv(1 << 16)
            os._exit(0)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assert_others_are_served(SOMEBODY)

    def test_calls_behind_one_that_is_answered_too_late(self):
        """Tests clients that send a call and part of the next call, and disconnect before the answer is ready."""
        for _ in range(3000):
            client = self.connect(self.HOARDER)
            client.sendall(call("Recommend", {"application": "torch"}) + UNFINISHED[:60_000])
            client.close()
        self.assert_others_are_served(SOMEBODY)
        self.ask(self.HOARDER, "Select", {"application": "default", "request": {}})

    def test_unread_answers_keep_their_connection(self):
        """Tests that a connection with unread answers stays open and still counts for its user, because the answers are in the kernel's buffers."""
        before, clients = self.descriptors(), []
        for _ in range(300):
            clients.append(self.connect(self.HOARDER))
            clients[-1].sendall(call("Describe") * 3 + b"no call\0")
        self.assert_others_are_served(SOMEBODY)
        self.assertGreater(self.descriptors(), before + 200)
        for client in clients:
            client.close()
        self.wait_for_descriptors(before + 20)

    def test_a_subscription_that_is_refused_is_none(self):
        client = self.client()
        for _ in range(2000):
            client.send("Subscribe", {"x": 1}, more=True)
            self.assertRaises(Refused, client.receive)
        self.call("SetOverride", {"application": "default", "rule": {"strict": True}})
        self.assertIn("applications", client.call("ListApplications"))
        self.assert_small()

    def connect_and_leave(self, uid):
        """Connects and disconnects until the process is killed or the daemon ends."""
        os.setuid(uid)
        try:
            while True:
                client = socket.socket(socket.AF_UNIX)
                client.connect(self.path)
                client.close()
        except OSError:
            os._exit(0)

    def test_programs_that_connect_and_leave(self):
        crowd = []
        for uid in ORDINARY[:2]:
            crowd.append(os.fork())
            if crowd[-1] == 0:
                self.connect_and_leave(uid)
        self.assert_prompt(SOMEBODY)
        for pid in crowd:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        self.assert_small()


class SubordinateUids(ManyUsersCase):
    """Tests with a machine on which the user "nobody" has subordinate uids in /etc/subuid."""

    LAUNCHER = ("unshare", "--mount", "sh", "-c", 'mount --bind "$SUBUID" /etc/subuid && exec "$@"', "sh")

    def environment(self):
        path = f"{self.folder}/subuid"
        with open(path, "w", encoding="ascii") as file:
            file.write(f"nobody:{STRANGERS[0]}:4200\n")
        return {**super().environment(), "SUBUID": path}

    def test_count_as_their_owner(self):
        clients, refused = [self.connect(uid) for uid in STRANGERS[:4200]], 0
        for client in clients:
            try:
                client.sendall(call("ListApplications"))
                refused += b"TooManyRequests" in client.recv(1 << 16)
            except (BrokenPipeError, ConnectionResetError):
                refused += 1
        self.assertGreater(refused, 2000, "one account can use at most half of all connections")
        for uid in (ORDINARY[0], STRANGERS[-1], 0):
            self.assert_prompt(uid)
        self.assert_small()


if __name__ == "__main__":
    unittest.main()
