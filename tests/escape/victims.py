# SPDX-License-Identifier: Apache-2.0
"""The things that an attack could change, with functions that find the changes."""
import contextlib
import ctypes
import fcntl
import hashlib
import os
import pathlib
import pty
import shutil
import signal
import socket
import stat
import struct
import subprocess
import termios
import threading
import time

FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/run/user", "/dev", "/", "/var/crash", "/dev/mqueue",
           "/sys/fs/cgroup", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/freezer",
           "/sys/fs/cgroup/unified")
LIBC = ctypes.CDLL(None, use_errno=True)
LIBRT = ctypes.CDLL("librt.so.1", use_errno=True)
IOPRIO_GET = {"x86_64": 252, "aarch64": 31}.get(os.uname().machine)
PF_EXITING = 4  # include/linux/sched.h
KEY = 0x45500000 + os.getpid() % 0x10000
FS_IOC_GETFLAGS = 0x80086601  # ioctl_iflags(2); the value for 64-bit machines
CANARY_KEY = 0x45600000 + os.getpid() % 0x10000
MARK = f"gpuprobe-escape-{os.getpid()}-"
TEXT = b"a canary, 32 bytes and a line.\n\n"


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        return error.strerror


def parents():
    """Returns {process id: parent's process id} of all processes."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            line = pathlib.Path(f"/proc/{name}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        found[int(name)] = int(line.rpartition(")")[2].split()[1])
    return found


def stat_of(pid):
    """Returns the fields after the process's name in /proc/PID/stat (proc(5)); None if the process has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields


def started(pid):
    """Returns the start time of a process; None if the process has ended."""
    fields = stat_of(pid)
    return int(fields[19]) if fields else None


def is_ending(pid):
    """Returns whether the process has ended, or is ending while the kernel frees its resources."""
    fields = stat_of(pid)
    return not fields or bool(int(fields[6]) & PF_EXITING)


def still_runs(found):
    """Returns the processes that are still running, but not processes that are ending or ancestors of these, because an ancestor may wait for its
    descendants."""
    ending = {pid for pid in found if is_ending(pid)}
    families = parents()
    waiting = set()
    for pid in ending:
        while (pid := families.get(pid, 0)) and pid not in waiting:
            waiting.add(pid)
    return [pid for pid in found if pid not in ending | waiting]


def descendants(root):
    families = {}
    for pid, parent in parents().items():
        families.setdefault(parent, []).append(pid)
    found, waiting = [], [root]
    while waiting:
        children = families.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def processes_of(user, but=()):
    """Returns all processes of a user."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in but and f"\nUid:\t{user}\t" in f"\n{read(f'/proc/{name}/status')}":
            found.append(int(name))
    return found


def standing(pid):
    """Returns the properties of a process that other processes can change, for example its priority."""
    try:
        found = {
            "nice": os.getpriority(os.PRIO_PROCESS, pid),
            "affinity": sorted(os.sched_getaffinity(pid)),
            "policy": os.sched_getscheduler(pid),
            "group": os.getpgid(pid),
            "session": os.getsid(pid),
        }
    except ProcessLookupError:
        return {"gone": True}
    if IOPRIO_GET:
        found["ioprio"] = LIBC.syscall(IOPRIO_GET, 1, pid)
    for name in ("oom_score_adj", "timerslack_ns", "coredump_filter", "comm", "autogroup", "cgroup", "limits",
                 "loginuid"):
        found[name] = read(f"/proc/{pid}/{name}").replace("\n", " ")
    status = dict(line.split(":\t", 1) for line in read(f"/proc/{pid}/status").splitlines() if ":\t" in line)
    found["traced by"] = status.get("TracerPid")
    found["stopped"] = status.get("State", "").startswith(("T", "t"))
    return found


def picture(folder):
    """Returns the metadata and digests of all files below a folder."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        info = path.lstat()
        entry = [stat.filemode(info.st_mode), info.st_uid, info.st_gid, info.st_nlink]
        if stat.S_ISREG(info.st_mode):
            entry += [info.st_size, info.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()[:12]]
        if not path.is_symlink():
            entry.append(os.listxattr(path))
        if stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode):
            entry.append(flags_of(path))
        found[path.relative_to(folder).as_posix()] = entry
    return found


def flags_of(path):
    """Returns the attributes that chattr(1) changes; None if the file system does not support attributes."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return struct.unpack("i", fcntl.ioctl(fd, FS_IOC_GETFLAGS, bytes(4)))[0]
        finally:
            os.close(fd)
    return None


def differences(what, before, after):
    return [f"{what}: {name}: {before.get(name)} -> {after.get(name)}"
            for name in sorted({*before, *after}, key=str) if before.get(name) != after.get(name)]


class Canary:
    """A process of the worker's user, which no attack may change."""

    def __init__(self, program, file, prefix=()):
        folder = pathlib.Path(file).parent  # files that an attack creates in the canary's working folder are found
        self.process = subprocess.Popen([*prefix, program, file], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.page = int(self.process.stdout.readline())
        self.pid = self.process.pid
        self.before = standing(self.pid)

    def changes(self):
        if self.process.poll() is not None:
            return [f"canary: ended: {self.process.returncode}"]
        now = standing(self.pid)
        found = differences("canary", self.before, now)
        if now.get("stopped"):
            return found
        try:
            self.process.stdin.write("?\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline().strip()
        except OSError as error:
            line = str(error)
        if line != "page=whole signals=":
            found.append(f"canary: {line}")
        return found

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Listeners:
    """Sockets that no attack may connect to or send to."""

    def __init__(self, folder):
        self.names = {
            "abstract_stream": f"@{MARK}stream", "abstract_datagram": f"@{MARK}datagram",
            "path_stream": f"{folder}/stream", "path_datagram": f"{folder}/datagram",
        }
        self.sockets = {}
        for name, address in self.names.items():
            kind = socket.SOCK_STREAM if name.endswith("stream") else socket.SOCK_DGRAM
            self.add(name, socket.AF_UNIX, kind, address.replace("@", "\0"))
            if not address.startswith("@"):
                os.chmod(address, 0o777)
        self.add("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.add("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        for name in ("tcp", "udp"):
            self.names[name] = self.sockets[name].getsockname()[1]

    def add(self, name, family, kind, address):
        listener = socket.socket(family, kind)
        listener.bind(address)
        listener.setblocking(False)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        self.sockets[name] = listener

    def changes(self):
        found = []
        for name, listener in self.sockets.items():
            try:
                while True:
                    if listener.type == socket.SOCK_STREAM:
                        listener.accept()[0].close()
                    else:
                        listener.recv(4096)
                    found.append(f"socket {name}: was spoken to")
            except BlockingIOError:
                pass
        return sorted(set(found))

    def end(self):
        for listener in self.sockets.values():
            listener.close()


class Terminal:
    """A terminal. An attack could send input to a terminal as if the user had typed this input."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        self.name = os.ttyname(self.slave)
        os.chmod(self.name, 0o666)
        os.set_blocking(self.slave, False)
        os.set_blocking(self.master, False)
        settings = termios.tcgetattr(self.slave)
        settings[3] = 0  # without line editing and echo
        termios.tcsetattr(self.slave, 0, settings)
        self.settings = self.look()

    def look(self):
        return termios.tcgetattr(self.slave), termios.tcgetwinsize(self.slave)

    def changes(self):
        found = []
        if (now := self.look()) != self.settings:
            found.append(f"terminal: {self.settings} -> {now}")
            self.settings = now
        for what, fd in (("typed", self.slave), ("shown", self.master)):
            with contextlib.suppress(BlockingIOError):
                found.append(f"terminal: {what} {os.read(fd, 64)!r}")
        return found

    def end(self):
        os.close(self.master)
        os.close(self.slave)


class Queue:
    """A POSIX message queue. The name of the queue is passed as bytes, because ctypes passes the name to libc."""

    class Attributes(ctypes.Structure):
        _fields_ = [(name, ctypes.c_long) for name in ("flags", "most", "size", "count")] + [("room", ctypes.c_long * 4)]

    def __init__(self):
        self.name = f"/{MARK}canary-queue"
        self.fd = LIBRT.mq_open(self.name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
        if self.fd >= 0:
            os.fchmod(self.fd, 0o666)

    def changes(self):
        found = []
        attributes = Queue.Attributes()
        if self.fd >= 0 and LIBRT.mq_getattr(self.fd, ctypes.byref(attributes)) == 0 and attributes.count:
            found.append("message queue: was written to")
        if LIBRT.mq_unlink(f"/{MARK}queue".encode()) == 0:
            found.append("message queue: one is left")
        return found

    def end(self):
        if self.fd >= 0:
            os.close(self.fd)
        LIBRT.mq_unlink(self.name.encode())


class SystemV:
    """System V shared memory with permission for every process to write to it, which no attack may use."""

    def __init__(self):
        LIBC.shmat.restype = ctypes.c_void_p
        self.id = LIBC.shmget(CANARY_KEY, 4096, 0o1000 | 0o666)
        self.address = LIBC.shmat(self.id, None, 0)
        self.write()

    def write(self):
        ctypes.memmove(self.address, TEXT, len(TEXT))

    def changes(self):
        found = []
        if ctypes.string_at(self.address, len(TEXT)) != TEXT:
            found.append("System V memory: the canary has changed")
            self.write()
        for kind, get, control in (("shm", lambda: LIBC.shmget(KEY, 0, 0), lambda i: LIBC.shmctl(i, 0, None)),
                                   ("sem", lambda: LIBC.semget(KEY, 0, 0), lambda i: LIBC.semctl(i, 0, 0, 0)),
                                   ("msg", lambda: LIBC.msgget(KEY, 0), lambda i: LIBC.msgctl(i, 0, None))):
            identifier = get()
            if identifier >= 0:
                found.append(f"System V {kind}: one is left")
                control(identifier)
        return found

    def end(self):
        LIBC.shmdt(ctypes.c_void_p(self.address))
        LIBC.shmctl(self.id, 0, None)


class Files:
    """Canary files in a folder outside the folders of the runs, in /tmp and in /dev/shm."""

    def __init__(self, folder, others, user=None):
        self.folder = folder
        self.others = others
        self.shared = [pathlib.Path(f"/tmp/{MARK}canary"), pathlib.Path(f"/dev/shm/{MARK}canary")]
        folder.mkdir()
        for name in ("canary", "other", "third"):
            (folder / name).write_bytes(TEXT)
        for name in ("empty", "mount"):
            (folder / name).mkdir()
        for path in self.shared:
            path.write_bytes(TEXT)
            if user:
                os.chown(path, user, user)
        self.secrets = [pathlib.Path(f"/home/{MARK}home/secret"), pathlib.Path(f"/root/{MARK}secret")]
        if os.geteuid() == 0:
            self.write_secrets(user or 0)
        if user:
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, user, user)
        self.before = None

    def write_secrets(self, user):
        """Writes a secret to a home folder of the driver's user, and a secret to root's home folder."""
        self.secrets[0].parent.mkdir(parents=True)
        os.chown(self.secrets[0].parent, user, user)
        for path, owner in zip(self.secrets, (user, 0), strict=True):
            path.write_bytes(TEXT)
            path.chmod(0o600)
            os.chown(path, owner, owner)

    def look(self):
        found = {f"outside/{name}": entry for name, entry in picture(self.folder).items()}
        for path in [*self.shared, *self.others]:
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.exists() else None
        return found

    def changes(self):
        return differences("file", self.before, self.look())

    def end(self):
        for path in [*self.shared, *self.secrets]:
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.secrets[0].parent.rmdir()


def remove(path):
    """Removes a file or folder, even if it is protected against changes."""
    path = pathlib.Path(path)
    try:
        if path.is_dir() and not path.is_symlink():
            subprocess.run(["chattr", "-R", "-i", str(path)], stderr=subprocess.DEVNULL, check=False)
            subprocess.run(["rm", "-rf", "--one-file-system", str(path)], stderr=subprocess.DEVNULL, check=False)
        else:
            path.unlink(missing_ok=True)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


def left_in_the_system():
    """Finds and removes files that an attack left in folders where everybody may write, but ignores the canaries' own files."""
    found = []
    for folder in FOLDERS:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            if not name.startswith(MARK) or "canary" in name:
                continue
            found.append(f"left: {folder}/{name}")
            path = pathlib.Path(folder) / name
            if folder.startswith("/sys"):
                leave_group(path)
            else:
                remove(path)
    return found


def leave_group(path):
    for pid in read(path / "cgroup.procs").split():
        if pid.isdigit():
            try:
                (path.parent / "cgroup.procs").write_text(pid, encoding="ascii")
            except OSError:
                pass
    try:
        path.rmdir()
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


class Watch(threading.Thread):
    """Maintains a file that lists the running processes, in which the attack finds its victims."""

    def __init__(self, path, find, seen):
        super().__init__(daemon=True)
        self.path = path
        self.find = find
        self.seen = dict(seen)  # process -> start time
        self.is_over = threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(0.02):
            found = self.find()
            for pid in found:
                if pid not in self.seen:
                    self.seen[pid] = started(pid)
            new = f"{self.path}.new"
            pathlib.Path(new).write_text(" ".join(map(str, found)), encoding="ascii")
            os.rename(new, self.path)

    def alive(self):
        return [pid for pid, when in list(self.seen.items()) if when and started(pid) == when]

    def end(self):
        self.is_over.set()
        self.join()
        return self.seen


def with_mark(mark):
    """Returns the processes whose environment contains the mark of the attack."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and mark in pathlib.Path(f"/proc/{name}/environ").read_bytes():
                found.append(int(name))
        except OSError:
            continue
    return found


def strays(mark, watch, patience=3.0, patience_with_kernel=60.0):
    """Waits for some time for the attack's processes to end. Kills and reports processes that are still running after this time.

    The kernel gets more time to free resources than processes get to end, because freeing millions of inotify watches can take a long time on a busy
    machine.
    """
    began = time.monotonic()

    def left():
        return sorted({*with_mark(mark), *watch.alive()})

    while found := left():
        waited = time.monotonic() - began
        if waited > patience and (still_runs(found) or waited > patience_with_kernel):
            break
        time.sleep(0.02)
    names = sorted({read(f"/proc/{pid}/comm") for pid in found})
    for _ in range(50):
        for pid in left():
            for number in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
        if not left():
            break
        time.sleep(0.02)
    return [f"left: {len(found)} processes ({', '.join(names)})"] if found else []
