// SPDX-License-Identifier: Apache-2.0
/// Attacks on files outside the folder of the run, and on kernel objects that persist like files.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

static const char* outside(const char* name) {
    return path_in(victim("outside"), name);
}

static void write_outside(void) {
    see("append", write_text(outside("canary"), O_APPEND, "forged"));
    see("truncate", write_text(outside("canary"), O_TRUNC, "forged"));
    see("create", write_text(marked(victim("outside"), "new"), O_CREAT, "forged"));
    see("worker", write_text(victim("worker"), O_APPEND, "# forged\n"));
    const char* away = path_in(victim("home"), "../outside/canary");
    see("by ..", write_text(away, O_APPEND, "forged"));
}

static void* write_outside_in_thread(void* unused) {
    write_outside();
    return unused;
}

static void thread_writes(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_outside_in_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

static void truncate_outside(void) {
    see("truncate", truncate(outside("canary"), 1));
    const int fd = open(outside("canary"), O_RDWR | O_CLOEXEC);
    see("ftruncate", ftruncate(fd, 2));
    see("punch", fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 8));
}

static void map_outside(void) {
    const int fd = open(outside("canary"), O_RDWR | O_CLOEXEC);
    char* text = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    see("map", text == MAP_FAILED ? -1 : 0);
    if (text != MAP_FAILED)
        text[0] = 'X';
}

static void change_outside(void) {
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    see("chmod", chmod(outside("canary"), 0777));
    see("chmod folder", chmod(victim("outside"), 0777));
    see("chown", chown(outside("canary"), getuid(), 12345));
    see("utime", utimensat(AT_FDCWD, outside("canary"), times, 0));
    see("xattr", setxattr(outside("canary"), "user.forged", "x", 1, 0));
    const int fd = open(outside("canary"), O_RDONLY | O_CLOEXEC);
    see("fchmod", fchmod(fd, 0666));
    see("fxattr", fsetxattr(fd, "user.forged", "x", 1, 0));
    see("fchown", fchown(fd, getuid(), 12345));
    see("futime", futimens(fd, times));
}

static void rename_outside(void) {
    see("link", link(outside("canary"), marked(victim("outside"), "link")));
    see("symlink", symlink("/etc/passwd", marked(victim("outside"), "symlink")));
    see("mkdir", mkdir(marked(victim("outside"), "folder"), 0755));
    see("rename", rename(outside("other"), marked(victim("outside"), "renamed")));
    see("exchange",
        syscall(SYS_renameat2, AT_FDCWD, outside("canary"), AT_FDCWD, outside("third"), 2));
    see("unlink", unlink(outside("third")));
    see("rmdir", rmdir(outside("empty")));
}

static void link_in(void) {
    see("link", link(outside("canary"), marked(own_home(), "link")));
    see("write by link", write_text(marked(own_home(), "link"), O_APPEND, "forged"));
    see("rename in", rename(outside("other"), marked(own_home(), "moved")));
    see("symlink", symlink(outside("canary"), marked(own_home(), "symlink")));
    see("write by symlink", write_text(marked(own_home(), "symlink"), O_APPEND, "forged"));
}

static void make_nodes(void) {
    see("fifo", mkfifo(marked(victim("outside"), "fifo"), 0644));
    see("null", mknod(marked(victim("outside"), "null"), S_IFCHR | 0666, makedev(1, 3)));
    see("block", mknod(marked(victim("outside"), "loop"), S_IFBLK | 0600, makedev(7, 7)));
    breach("block at home", mknod(marked(own_home(), "loop"), S_IFBLK | 0600, makedev(7, 7)));
}

static void unnamed_file(void) {
    char path[64];
    const int fd = open(victim("outside"), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    see("tmpfile", fd);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    see("linkat",
        linkat(AT_FDCWD, path, AT_FDCWD, marked(victim("outside"), "unnamed"), AT_SYMLINK_FOLLOW));
}

/// Opens a file by its handle, which bypasses the folders in its path.
static void by_handle(void) {
    struct {
        struct file_handle head;
        unsigned char room[128];
    } handle = {.head = {.handle_bytes = 128}};
    int mount = 0;
    see("handle", name_to_handle_at(AT_FDCWD, outside("canary"), &handle.head, &mount, 0));
    const int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int fd = open_by_handle_at(folder, &handle.head, O_WRONLY | O_APPEND);
    see("open", fd);
    if (fd >= 0)
        see("write", write(fd, "forged", 6));
}

/// Attacks the folders to which every user may write. The canaries there belong to the test.
static void shared_folders(void) {
    static const char* const kFolders[] = {"/tmp",        "/var/tmp",  "/dev/shm", "/run",
                                           "/run/lock",   "/run/user", "/dev",     "/var/crash",
                                           "/dev/mqueue", "/"};
    for (size_t i = 0; i < sizeof kFolders / sizeof *kFolders; ++i) {
        see(kFolders[i], write_text(marked(kFolders[i], "left"), O_CREAT, "forged"));
        (void)symlink("/etc/passwd", marked(kFolders[i], "link"));
    }
    see("canary in /tmp", write_text(victim("canary_in_tmp"), O_APPEND, "forged"));
    see("unlink it", unlink(victim("canary_in_tmp")));
}

static void posix_memory(void) {
    char name[256];
    (void)snprintf(name, sizeof name, "/%sshm", victim("mark"));
    const int fd = shm_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    see("shm_open", fd);
    if (fd >= 0)
        see("size", ftruncate(fd, 1 << 20));
    const int canary = shm_open(victim("canary_in_shm"), O_RDWR | O_CLOEXEC, 0600);
    see("canary", canary);
    if (canary >= 0)
        see("forge", pwrite(canary, "forged", 6, 0));
}

static void system_v(void) {
    const key_t key = (key_t)victim_number("key");
    see("shmget", shmget(key, 4096, IPC_CREAT | 0600));
    see("semget", semget(key, 1, IPC_CREAT | 0600));
    see("msgget", msgget(key, IPC_CREAT | 0600));
    const int canary = shmget((key_t)victim_number("canary_key"), 0, 0);
    see("canary", canary);
    void* memory = canary >= 0 ? shmat(canary, NULL, 0) : (void*)-1;
    if (memory != (void*)-1)
        memcpy(memory, "forged", 6);
}

static void message_queue(void) {
    char name[256];
    (void)snprintf(name, sizeof name, "/%squeue", victim("mark"));
    const mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, NULL);
    see("mq_open", queue);
    const struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    if (queue >= 0)
        see("mq_notify", mq_notify(queue, &event));
    const mqd_t canary = mq_open(victim("canary_queue"), O_WRONLY);
    see("canary", canary);
    if (canary >= 0)
        see("send", mq_send(canary, "forged", 6, 0));
}

/// Overwrites the files in which the daemon stores its state.
static void overwrite_state(void) {
    static const char* const kFiles[] = {"quarantine", "overrides", "outcomes", "verified"};
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i)
        see(kFiles[i],
            write_text(path_in(victim("state"), kFiles[i]), O_CREAT | O_TRUNC, victim("mark")));
    see("probes",
        write_text(path_in(victim("cache"), "probes"), O_CREAT | O_TRUNC, victim("mark")));
    see("../probes", write_text(path_in(own_home(), "../probes"), O_TRUNC, victim("mark")));
    see("../../state",
        write_text(path_in(own_home(), "../../state/quarantine"), O_TRUNC, victim("mark")));
}

/// Locks files of the daemon. Locking needs no permission to write.
static void lock_state(void) {
    const int lock = open(path_in(victim("state"), "quarantine.lock"), O_RDONLY | O_CLOEXEC);
    see("open", lock);
    see("flock", flock(lock, LOCK_EX | LOCK_NB));
    const int canary = open(outside("canary"), O_RDONLY | O_CLOEXEC);
    see("canary", flock(canary, LOCK_EX | LOCK_NB));
    pause_ms(300);
}

/// Creates set-user-ID files, with which other users could get the privileges of this user. Several
/// calls that create a file accept such a mode.
static void set_user_id(void) {
    struct stat info;
    const char* file = marked(own_home(), "set-user-id");
    const char* folder = marked(own_home(), "set-group-id");
    see("open", open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 06755));
    breach("file", stat(file, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) ? 0 : -1);
    unlink(file);
    see("creat", creat(file, 06755));
    breach("creat", stat(file, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) ? 0 : -1);
    unlink(file);
    see("mknod", mknod(file, S_IFREG | 06755, 0));
    breach("node", stat(file, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) ? 0 : -1);
    unlink(file);
    struct {
        unsigned long long flags, mode, resolve;
    } how = {.flags = O_CREAT | O_WRONLY, .mode = 06755};
    see("openat2", syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof how));
    breach("openat2", stat(file, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) ? 0 : -1);
    see("mkdir", mkdir(folder, 02777));
    breach("folder", stat(folder, &info) == 0 && (info.st_mode & S_ISGID) ? 0 : -1);
}

/// Changes file attributes by ioctl, for which a read-only descriptor is enough. The test compares
/// the attributes.
static void change_flags(void) {
    static const char* const kNames[] = {"canary", "empty", "."};
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
        const int fd = open(outside(kNames[i]), O_RDONLY | O_CLOEXEC);
        int flags = FS_NODUMP_FL | FS_NOATIME_FL | FS_APPEND_FL;
        struct fsxattr more = {.fsx_xflags = FS_XFLAG_NODUMP, .fsx_projid = 12345};
        struct fsverity_enable_arg verity = {.version = 1, .hash_algorithm = 1, .block_size = 4096};
        long generation = 12345;
        see("flags", ioctl(fd, FS_IOC_SETFLAGS, &flags));
        flags = FS_NODUMP_FL | FS_NOATIME_FL;
        see("harmless flags", ioctl(fd, FS_IOC_SETFLAGS, &flags));
        see("extended", ioctl(fd, FS_IOC_FSSETXATTR, &more));
        breach("version", ioctl(fd, FS_IOC_SETVERSION, &generation));
        see("verity", ioctl(fd, FS_IOC_ENABLE_VERITY, &verity));
        see("label", ioctl(fd, FS_IOC_SETFSLABEL, "forged"));
        see("high half", syscall(SYS_ioctl, fd, 0x100000000UL | FS_IOC_SETFLAGS, &flags));
        close(fd);
    }
}

/// Writes through /proc/self/mem to a read-only mapping of a file.
static void write_by_own_memory(void) {
    const int file = open(outside("canary"), O_RDONLY | O_CLOEXEC);
    char* text = mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    see("open", memory);
    see("write", pwrite(memory, "forged", 6, (off_t)(size_t)text));
    see("protect", mprotect(text, 8, PROT_READ | PROT_WRITE));
}

/// Opens a file again for writing through its read-only descriptor.
static void reopen(void) {
    char path[64];
    const int fd = open(outside("canary"), O_RDONLY | O_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    see("append", write_text(path, O_APPEND, "forged"));
    (void)snprintf(path, sizeof path, "/dev/fd/%d", fd);
    see("truncate", write_text(path, O_TRUNC, "forged"));
    const int place = open(outside("canary"), O_PATH | O_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    see("by place", write_text(path, O_APPEND, "forged"));
    see("link", linkat(place, "", AT_FDCWD, marked(victim("outside"), "reopened"), AT_EMPTY_PATH));
    (void)fcntl(fd, F_SETFL, O_APPEND | O_NOATIME);
}

/// Writes with system calls that copy data without a buffer in user space.
static void copy_outside(void) {
    int pipe_ends[2] = {-1, -1};
    const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const int to = open(outside("canary"), O_RDONLY | O_CLOEXEC);
    off_t start = 0;
    see("clone", ioctl(to, FICLONE, from));
    see("copy", copy_file_range(from, &start, to, NULL, 16, 0));
    see("sendfile", sendfile(to, from, &start, 16));
    (void)!pipe2(pipe_ends, O_CLOEXEC);
    (void)!write(pipe_ends[1], "forged", 6);
    see("splice", splice(pipe_ends[0], NULL, to, NULL, 6, 0));
    see("into pipe", splice(to, &start, pipe_ends[1], NULL, 8, 0));
    see("over it", write(pipe_ends[1], "forged", 6));
}

/// Locks ranges of files, for which a read-only descriptor is enough.
static void lock_ranges(void) {
    const char* const files[] = {outside("canary"), path_in(victim("state"), "quarantine.lock"),
                                 path_in(victim("state"), "quarantine"),
                                 path_in(victim("state"), "overrides")};
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        const int fd = open(files[i], O_RDONLY | O_CLOEXEC);
        see("lock", fcntl(fd, F_SETLK, &all));
        see("of the file", fcntl(fd, F_OFD_SETLK, &all));
        see("flock", flock(fd, LOCK_SH | LOCK_NB));
    }
    pause_ms(300);
}

/// Creates sockets in places where other programs look for sockets.
static void bind_outside(void) {
    static const char* const kFolders[] = {"", "/tmp", "/run", "/dev", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof kFolders / sizeof *kFolders; ++i) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/%ssock",
                       i == 0 ? victim("outside") : kFolders[i], victim("mark"));
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        see(kFolders[i], bind(fd, (const struct sockaddr*)&address, sizeof address));
    }
}

static void semaphore(void) {
    char name[256];
    (void)snprintf(name, sizeof name, "/%ssemaphore", victim("mark"));
    see("sem_open", sem_open(name, O_CREAT, 0600, 1) == SEM_FAILED ? -1 : 0);
}

/// Finds out which pages of a file are in the page cache, and evicts them, so that other processes
/// must read them again.
static void page_cache(void) {
    const int fd = open(outside("canary"), O_RDONLY | O_CLOEXEC);
    unsigned char pages[1] = {0};
    unsigned long range[2] = {0, 4096};
    unsigned long found[5] = {0};
    void* text = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    see("mincore", mincore(text, 4096, pages));
    breach("cachestat", syscall(451, fd, range, found, 0));
    see("drop", posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
    see("cold", madvise(text, 4096, MADV_PAGEOUT));
}

static void* spy(void* unused) {
    const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    (void)inotify_add_watch(watch, victim("outside"), IN_ALL_EVENTS);
    (void)inotify_add_watch(watch, victim("state"), IN_ALL_EVENTS);
    (void)inotify_add_watch(watch, "/", IN_ALL_EVENTS);
    pause_ms(300);
    return unused;
}

/// Watches how other processes use files. This is allowed: the processes are not affected.
static void spy_on_files(void) {
    (void)spy(NULL);
    see("fanotify", syscall(SYS_fanotify_mark, -1, 1, 8, AT_FDCWD, "/"));
}

/// Repeatedly exchanges a folder and a link while another process removes them.
static void clean_race(void) {
    char folder[4096];
    char link[4096];
    (void)snprintf(folder, sizeof folder, "%s", marked(own_home(), "race"));
    (void)snprintf(link, sizeof link, "%s", marked(own_home(), "race-link"));
    (void)mkdir(folder, 0700);
    for (int i = 0; i < 500; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "%d", i);
        (void)mkdir(path_in(folder, name), i % 2 ? 0700 : 0);
    }
    see("symlink", symlink(victim("outside"), link));
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        for (const long late = now_ms() + 5000; now_ms() < late;)
            (void)syscall(SYS_renameat2, AT_FDCWD, folder, AT_FDCWD, link, 2);  // RENAME_EXCHANGE
        _exit(0);
    }
    pause_ms(50);
}

static void strange_names(void) {
    char longest[256];
    memset(longest, 'x', 255);
    longest[255] = 0;
    static const char* const kNames[] = {"-rf", "a\nb", "\xff\xfe",   "\033[2J", "...",
                                         " ",   "*",    "$(touch x)", "%n%s"};
    see("longest", mkdir(path_in(own_home(), longest), 0700));
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
        see("file", write_text(marked(own_home(), kNames[i]), O_CREAT, "x"));
        see("folder", mkdir(path_in(own_home(), kNames[i]), 0));
    }
}

const struct attack kFileAttacks[] = {
    {"write-outside", write_outside},
    {"thread-writes", thread_writes},
    {"truncate-outside", truncate_outside},
    {"map-outside", map_outside},
    {"change-outside", change_outside},
    {"rename-outside", rename_outside},
    {"link-in", link_in},
    {"make-nodes", make_nodes},
    {"unnamed-file", unnamed_file},
    {"by-handle", by_handle},
    {"shared-folders", shared_folders},
    {"shm", posix_memory},
    {"system-v", system_v},
    {"message-queue", message_queue},
    {"overwrite-state", overwrite_state},
    {"lock-state", lock_state},
    {"set-user-id", set_user_id},
    {"change-flags", change_flags},
    {"write-by-own-memory", write_by_own_memory},
    {"reopen", reopen},
    {"copy-outside", copy_outside},
    {"lock-ranges", lock_ranges},
    {"bind-outside", bind_outside},
    {"semaphore", semaphore},
    {"page-cache", page_cache},
    {"spy-on-files", spy_on_files},
    {"clean-race", clean_race},
    {"strange-names", strange_names},
    {0},
};
