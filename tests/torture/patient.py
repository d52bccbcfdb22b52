# SPDX-License-Identifier: Apache-2.0
"""Runs a daemon on a private bus, and reads the properties of the daemon's process."""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

from peer import BUS, NAME, Peer

DEADLINE = 20
# The limits of a system bus (dbus-daemon(1), /usr/share/dbus-1/system.conf), which are also the defaults.
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={folder}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/>
<allow eavesdrop="true"/></policy>
{limits}</busconfig>
"""
JOURNAL = pathlib.Path("/run/systemd/journal/socket")
LIMIT = '<limit name="{}">{}</limit>\n'


class Bus:
    """A bus of dbus-daemon or dbus-broker, with the limits of a system bus unless other limits are given."""

    def __init__(self, folder, limits=None, kind="dbus-daemon"):
        self.path, self.kind = f"{folder}/bus", kind
        self.config = pathlib.Path(folder) / "bus.conf"
        self.config.write_text(CONFIG.format(
            folder=folder, limits="".join(LIMIT.format(*limit) for limit in (limits or {}).items())))
        self.process = self.journal = None
        self.start()

    def start(self):
        pathlib.Path(self.path).unlink(missing_ok=True)
        if self.kind == "dbus-broker":
            return self.start_broker()
        self.process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self.config}", "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdout.readline()

    def start_broker(self):
        """Starts dbus-broker-launch, which expects its socket as descriptor 3 (sd_listen_fds(3)) and does not start unless it can log to
        the journal's socket."""
        if not JOURNAL.exists():
            JOURNAL.parent.mkdir(parents=True, exist_ok=True)
            self.journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.journal.bind(str(JOURNAL))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path)
            os.chmod(self.path, 0o666)
            listening.listen(128)
            launch = f"LISTEN_PID=$$ exec dbus-broker-launch --scope system --config-file '{self.config}' 3<&{listening.fileno()}"
            self.process = subprocess.Popen(
                ["sh", "-c", launch], pass_fds=[listening.fileno()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**os.environ, "LISTEN_FDS": "1", "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.path}"})

    def stop(self):
        """Ends the bus as if it had crashed."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        if self.journal:
            self.journal.close()
            JOURNAL.unlink()


class Patient:
    """The daemon that is tested. Its log is in the folder."""

    def __init__(self, program, *arguments, limits=None, socket=False, cache=False, environment=None,
                 bus="dbus-daemon"):
        self.program = program
        self.temporary = tempfile.TemporaryDirectory(prefix="gpuprobe-torture-")
        self.folder = self.temporary.name
        self.bus = Bus(self.folder, limits, bus)
        self.log = open(f"{self.folder}/log", "w+", encoding="utf-8", errors="replace")
        self.command = [program, f"--bus=unix:path={self.bus.path}", f"--cache-dir={self.folder}/cache" if cache else "--no-cache",
                        f"--state-dir={self.folder}/state", *([f"--socket={self.socket_path}"] if socket else []), *arguments]
        self.environment = {**os.environ, "HOME": self.folder, "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.bus.path}",
                            **(environment or {})}
        self.start()

    def start(self):
        """Starts the daemon. After the daemon has ended, starts it again with the same folders on the same bus."""
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env=self.environment)
        self.wait_for_name()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        """Sends SIGTERM. Returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE)

    @property
    def socket_path(self):
        return f"{self.folder}/varlink"

    @property
    def pid(self):
        return self.process.pid

    def wait_for_name(self, within=DEADLINE):
        """Waits until the daemon has acquired its name, and returns how many seconds this took."""
        start = time.monotonic()
        peer = Peer(self.bus.path)
        try:
            while not peer.call(BUS, "/org/freedesktop/DBus", BUS, "NameHasOwner", "s", [NAME])[0]:
                if not self.is_alive() or time.monotonic() - start > within:
                    raise AssertionError(f"the daemon has no name: {self.last_words()}")
                time.sleep(0.02)
        finally:
            peer.close()
        return time.monotonic() - start

    def connect(self, **options):
        return Peer(self.bus.path, **options)

    def is_alive(self):
        return self.process.poll() is None

    def last_words(self):
        """Returns the end of the daemon's log, and its exit status if it has ended. A negative status is the number of a signal."""
        self.log.flush()
        with open(self.log.name, encoding="utf-8", errors="replace") as log:
            said = log.read()[-2000:]
        return said if self.is_alive() else f"{said}(ended with {self.process.returncode})"

    @property
    def is_instrumented(self):
        """Is true if the daemon runs with a sanitizer, which keeps freed memory for some time."""
        content = pathlib.Path(self.program).read_bytes()
        return b"__asan_init" in content or b"__tsan_init" in content

    def resident(self):
        """Returns the resident memory in bytes."""
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def allocated(self):
        """Returns the bytes of resident memory, without pages of files."""
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as statm:
            _, resident, shared, *_ = map(int, statm.read().split())
            return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

    def processor_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def settled_descriptors(self, most, within=10):
        """Returns the number of the daemon's descriptors. If there are more descriptors than `most`, waits until the daemon has closed the
        descriptors of disconnected clients."""
        late = time.monotonic() + within
        while self.descriptors() > most and time.monotonic() < late:
            time.sleep(0.02)
        return self.descriptors()

    def settled_resident(self, most, within=10):
        """Returns the resident memory in bytes. If the memory is larger than `most`, waits until the daemon has returned the memory of large
        answers."""
        late = time.monotonic() + within
        while self.resident() > most and time.monotonic() < late:
            time.sleep(0.1)
        return self.resident()

    def children(self):
        """Returns the ids of the daemon's child processes, including those that were not reaped yet."""
        found = []
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            try:
                with open(f"/proc/{self.pid}/task/{thread}/children", encoding="ascii") as children:
                    found += [int(pid) for pid in children.read().split()]
            except FileNotFoundError:
                pass
        return found

    def end(self):
        """Ends the daemon. Returns its exit status."""
        try:
            return self.terminate() if self.is_alive() else self.process.returncode
        finally:
            if self.is_alive():
                self.kill()
            self.bus.stop()
            self.log.close()
            self.temporary.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.end()
