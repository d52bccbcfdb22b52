// SPDX-License-Identifier: Apache-2.0
/// Files outside the folder of the run, and what lasts in the kernel in a file's stead.
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

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
    see("exchange", syscall(SYS_renameat2, AT_FDCWD, outside("canary"), AT_FDCWD, outside("third"), 2));
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
    see("linkat", linkat(AT_FDCWD, path, AT_FDCWD, marked(victim("outside"), "unnamed"), AT_SYMLINK_FOLLOW));
}

/// A file by its number, past the names on the way to it.
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

/// The folders that everybody may write to. The canary there is the test's.
static void shared_folders(void) {
    static const char* const kFolders[] = {"/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/run/user", "/dev",
                                           "/var/crash", "/dev/mqueue", "/"};
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

/// The files in which the daemon keeps what it learned.
static void overwrite_state(void) {
    static const char* const kFiles[] = {"quarantine", "overrides", "outcomes", "verified"};
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i)
        see(kFiles[i], write_text(path_in(victim("state"), kFiles[i]), O_CREAT | O_TRUNC, victim("mark")));
    see("probes", write_text(path_in(victim("cache"), "probes"), O_CREAT | O_TRUNC, victim("mark")));
    see("../probes", write_text(path_in(own_home(), "../probes"), O_TRUNC, victim("mark")));
    see("../../state", write_text(path_in(own_home(), "../../state/quarantine"), O_TRUNC, victim("mark")));
}

/// A lock needs no right to write.
static void lock_state(void) {
    const int lock = open(path_in(victim("state"), "quarantine.lock"), O_RDONLY | O_CLOEXEC);
    see("open", lock);
    see("flock", flock(lock, LOCK_EX | LOCK_NB));
    const int canary = open(outside("canary"), O_RDONLY | O_CLOEXEC);
    see("canary", flock(canary, LOCK_EX | LOCK_NB));
    pause_ms(300);
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
    {0},
};
