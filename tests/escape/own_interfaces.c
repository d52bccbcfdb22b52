// SPDX-License-Identifier: Apache-2.0
/// Attacks on gpuprobe's own interfaces: the daemon's socket, the pipe for frames, the driver's
/// output, and the sandbox.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

enum { kDepthOfText = 200000, kMostFrames = 2000000 };

static struct sockaddr_un address_of(const char* path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static int connected_to(const char* path) {
    const struct sockaddr_un address = address_of(path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (const struct sockaddr*)&address, sizeof address) == 0 ? fd : -1;
}

/// Connects to the socket, on which every user may read cached answers, but a driver may not.
static void varlink_connect(void) {
    const int fd = connected_to(victim("varlink"));
    breach("connect", victim("varlink")[0] ? fd : -1);
    see("ask", write(fd, "{\"method\":\"org.varlink.service.GetInfo\"}", 41));
}

/// As the daemon's own user, makes changes that need an administrator's permission.
static void varlink_decide(void) {
    static const char* const kCalls[] = {
        "{\"method\":\"org.gpuprobe.SetOverride\",\"parameters\":{\"application\":\"forged\","
        "\"request\":{\"backend\":\"none\"}}}",
        "{\"method\":\"org.gpuprobe.ClearQuarantine\",\"parameters\":{\"request\":{\"all\":true}}}",
        "{\"method\":\"org.gpuprobe.Probe\",\"parameters\":{}}"};
    for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
        char text[512];
        const int fd = connected_to(victim("varlink"));
        see("call", write(fd, kCalls[i], strlen(kCalls[i]) + 1));
        if (fd >= 0 && read(fd, text, sizeof text) > 0)
            see("answered", 0);
        close(fd);
    }
    char option[1200];
    (void)snprintf(option, sizeof option, "--socket=%s", victim("varlink"));
    const char* const override[] = {
        victim("gpuprobectl"),          option, "call", "org.gpuprobe.ClearQuarantine",
        "{\"request\":{\"all\":true}}", NULL};
    see("gpuprobectl", run_program(override));
}

/// Replaces the daemon's socket, so that later callers would be answered by this driver.
static void varlink_impersonate(void) {
    const char* path = victim("varlink");
    const struct sockaddr_un address = address_of(path);
    char away[1200];
    (void)snprintf(away, sizeof away, "%s.%s", path, "away");
    see("rename", rename(path, away));
    see("unlink", unlink(path));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    see("bind", bind(fd, (const struct sockaddr*)&address, sizeof address));
    see("listen", listen(fd, 8));
    see("symlink", symlink(path_in(own_home(), "socket"), path));
    pause_ms(200);
}

/// Pretends to be the daemon, with forged credentials and with a descriptor of another connection.
static void forge_credentials(void) {
    const struct ucred whom = {.pid = (pid_t)victim_number("daemon"), .uid = 0, .gid = 0};
    const struct sockaddr_un address = address_of(victim("path_datagram"));
    char room[CMSG_SPACE(sizeof whom)] = {0};
    char text[] = "forged";
    struct iovec part = {.iov_base = text, .iov_len = sizeof text};
    struct msghdr message = {.msg_name = (void*)&address,
                             .msg_namelen = sizeof address,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof room};
    struct cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_CREDENTIALS;
    head->cmsg_len = CMSG_LEN(sizeof whom);
    memcpy(CMSG_DATA(head), &whom, sizeof whom);
    breach("credentials", sendmsg(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), &message, 0));
    int ends[2] = {-1, -1};
    (void)socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    (void)getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &peer, &size);
    see("pair", peer.uid == getuid() ? -1 : 0);
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    memcpy(CMSG_DATA(head), &ends[1], sizeof(int));
    breach("its connection", sendmsg(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), &message, 0));
}

/// Sends datagrams to the journal in its own format, "MESSAGE=…".
static void forge_journal(void) {
    const char* path = victim("journal");
    const struct sockaddr_un address = address_of(path);
    char text[512];
    (void)snprintf(text, sizeof text,
                   "PRIORITY=0\nSYSLOG_IDENTIFIER=%sjournal\nMESSAGE=forged by a driver\n",
                   victim("mark"));
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    see("sendto",
        sendto(fd, text, strlen(text), 0, (const struct sockaddr*)&address, sizeof address));
    see("connect", connect(fd, (const struct sockaddr*)&address, sizeof address));
    see("write", write(fd, text, strlen(text)));
    const char* const logger[] = {"logger", "-t", "kernel", victim("mark"), NULL};
    see("logger", run_program(logger));
    char line[600];
    (void)snprintf(line, sizeof line, "<0>%sjournal: forged\n", victim("mark"));
    see("kmsg", write_text("/dev/kmsg", 0, line));
}

// ------------------------------------------------------------------------------------------------
// The pipe for frames, and the output.

/// Calls `use` for each pipe that is open for writing, except the output.
static void each_answer(void (*use)(int fd)) {
    for (int fd = 3; fd < 1024; ++fd) {
        struct stat info;
        const int flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY && fstat(fd, &info) == 0 &&
            S_ISFIFO(info.st_mode))
            use(fd);
    }
}

static void write_all(int fd, const void* bytes, size_t size) {
    const char* at = bytes;
    while (size > 0) {
        const ssize_t count = write(fd, at, size);
        if (count <= 0)
            return;
        at += count;
        size -= (size_t)count;
    }
}

static void frame(int fd, unsigned size, unsigned type, const char* text) {
    const unsigned head[2] = {size, type};
    write_all(fd, head, sizeof head);
    write_all(fd, text, strlen(text));
}

static void trickle(int fd) {
    static const char kBytes[] = "\x40\0\0\0\1\0\0\0{\"name\":\"";
    for (unsigned i = 0; i < 600; ++i) {
        if (write(fd, i < sizeof kBytes - 1 ? kBytes + i : " ", 1) != 1)
            return;
        pause_ms(10);
    }
}

static void claim_much(int fd) {
    frame(fd, 0xffffffff, 1, "{");
    frame(fd, 0x7fffffff, 0xffffffff, "{");
}

static void nest(int fd) {
    static char text[kDepthOfText + 1];
    memset(text, '[', kDepthOfText);
    frame(fd, kDepthOfText, 1, text);
    for (size_t i = 0; i + 5 < kDepthOfText; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    frame(fd, kDepthOfText, 1, text);
}

static void send_odd(int fd) {
    static const char* const kTexts[] = {"{\"name\":\"\xff\xfe\xed\xa0\x80\"}",
                                         "{\"name\":1e999999999}",
                                         "{\"name\":\"\\ud800\"}",
                                         "{\"name\":\"a\",\"name\":\"b\"}",
                                         "{\"memory\":-18446744073709551616}",
                                         "{\"name\":\"\\u0000\\u001b[2J\"}",
                                         "null",
                                         "[]",
                                         "{\"api\":\"cuda\",\"outcome\":\"answered\"}",
                                         ""};
    for (unsigned type = 0; type < 9; ++type)
        for (size_t i = 0; i < sizeof kTexts / sizeof *kTexts; ++i)
            frame(fd, (unsigned)strlen(kTexts[i]), type, kTexts[i]);
}

static void send_many(int fd) {
    const long late = now_ms() + 1500;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < kMostFrames && now_ms() < late; ++i)
        frame(fd, 2, 1, "{}");
}

static void trickle_frames(void) {
    each_answer(trickle);
}

static void huge_frame(void) {
    each_answer(claim_much);
}

static void deep_frame(void) {
    each_answer(nest);
}

static void odd_frames(void) {
    each_answer(send_odd);
}

static void flood_frames(void) {
    each_answer(send_many);
}

static void flood_output(void) {
    static char text[65536];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 1024; ++i) {
        write_all(STDERR_FILENO, text, sizeof text);
        write_all(STDOUT_FILENO, text, sizeof text);
    }
}

/// Prints control sequences of terminals and text that looks like other messages. The test looks
/// for them in the report.
static void output_for_terminals(void) {
    static const char kText[] =
        "\033]0;forged\a\033[2J\033[31mforged\033c\b\b\r\x9b"
        "31m \xe2\x80\xae desrever \xff\xfe\xc0\x80\n<0>kernel: forged\n\0behind\n";
    write_all(STDERR_FILENO, kText, sizeof kText);
    write_all(STDOUT_FILENO, kText, sizeof kText);
    (void)raise(SIGSEGV);  // after a crash, the report contains the last output of the driver
}

// ------------------------------------------------------------------------------------------------
// The sandbox.

static void* call_unknown(void* path) {
    const long result = syscall(SYS_fchmodat2, AT_FDCWD, path, 0777, 0);
    breach("unknown call", result);
    return NULL;
}

/// Allows its own forbidden system call. A supervisor process decides about system calls that are
/// not on the list. If the supervisor's descriptor is also open in this process, the driver can
/// make the decision itself.
static void answer_for_itself(void) {
    const pid_t child = fork();
    if (child == 0) {
        pause_ms(100);
        (void)call_unknown((void*)path_in(victim("outside"), "canary"));
        _exit(0);
    }
    for (const long late = now_ms() + 1000; now_ms() < late; pause_ms(1))
        for (int fd = 3; fd < 64; ++fd) {
            struct seccomp_notif asked;
            memset(&asked, 0, sizeof asked);
            if (fcntl(fd, F_GETFD) < 0)
                continue;
            (void)fcntl(fd, F_SETFL, O_NONBLOCK);
            if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
                continue;
            struct seccomp_notif_resp let = {.id = asked.id,
                                             .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
            breach("let through", ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &let));
            return;
        }
}

/// Installs a filter with a descriptor through which the driver could allow system calls itself.
static void own_notifier(void) {
    struct sock_filter ask[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {.len = 1, .filter = ask};
    breach("notifier", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                               SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
    see("filter", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    (void)call_unknown((void*)path_in(victim("outside"), "canary"));
}

const struct attack kDoorAttacks[] = {
    {"varlink-connect", varlink_connect},
    {"varlink-decide", varlink_decide},
    {"varlink-impersonate", varlink_impersonate},
    {"forge-credentials", forge_credentials},
    {"forge-journal", forge_journal},
    {"trickle-frames", trickle_frames},
    {"huge-frame", huge_frame},
    {"deep-frame", deep_frame},
    {"odd-frames", odd_frames},
    {"flood-frames", flood_frames},
    {"flood-output", flood_output},
    {"terminal-output", output_for_terminals},
    {"answer-for-itself", answer_for_itself},
    {"own-notifier", own_notifier},
    {0},
};
