// SPDX-License-Identifier: Apache-2.0
/// Attacks that signal other processes, either directly or by making the kernel send a signal.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

static pid_t daemon_pid(void) {
    return (pid_t)victim_number("daemon");
}

static pid_t canary_pid(void) {
    return (pid_t)victim_number("canary");
}

static void signal_every_way(pid_t pid, int signal) {
    siginfo_t info = {.si_signo = signal, .si_code = SI_QUEUE};
    see("kill", kill(pid, signal));
    see("tkill", syscall(SYS_tkill, pid, signal));
    see("tgkill", syscall(SYS_tgkill, pid, pid, signal));
    see("sigqueue", syscall(SYS_rt_sigqueueinfo, pid, signal, &info));
    see("tgsigqueue", syscall(SYS_rt_tgsigqueueinfo, pid, pid, signal, &info));
}

static void kill_daemon(void) {
    signal_every_way(daemon_pid(), SIGSEGV);
}

static void kill_canary(void) {
    signal_every_way(canary_pid(), SIGUSR1);
}

static void stop_canary(void) {
    see("stop", kill(canary_pid(), SIGSTOP));
}

static void signal_peers(int signal) {
    pid_t pids[kMostPids];
    int reached = 0;
    for (const long late = now_ms() + 400; now_ms() < late; pause_ms(5)) {
        const int count = peers(pids);
        for (int i = 0; i < count; ++i)
            reached += kill(pids[i], signal) == 0;
    }
    see("peers", reached > 0 ? 0 : -1);
}

static void kill_brute(void) {
    signal_peers(SIGKILL);
}

static void kill_loop(void) {
    signal_peers(SIGSEGV);
}

static void stop_peers(void) {
    signal_peers(SIGSTOP);
}

static void kill_groups(void) {
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i)
        see("group", kill(-pids[i], SIGUSR2));
}

/// Kills the worker's reaper, which has to end the remaining processes of the worker.
static void kill_keeper(void) {
    leave_process();
    if (getppid() <= 1)
        return;
    see("keeper", kill(getppid(), SIGKILL));
    see("keeper's group", kill(-getppid(), SIGKILL));
}

static void stop_keeper(void) {
    leave_process();
    if (getppid() > 1)
        see("keeper", kill(getppid(), SIGSTOP));
}

/// Kills the session leader, which is the daemon, because the test starts the daemon in this way.
static void kill_server(void) {
    const pid_t leader = getsid(0);
    if (leader == daemon_pid()) {
        see("leader", kill(leader, SIGABRT));
        see("leader's group", kill(-leader, SIGABRT));
    }
}

/// Makes the kernel send SIGIO or SIGURG to the owner of a descriptor.
static void raise_by_pipe(int (*own)(int fd, pid_t owner), pid_t owner) {
    int ends[2];
    if (pipe(ends) != 0)
        return;
    see("owner", own(ends[0], owner));
    see("async", fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
    for (int i = 0; i < 3; ++i)
        (void)!write(ends[1], "x", 1);
    close(ends[0]);
    close(ends[1]);
}

static int own_by_fcntl(int fd, pid_t owner) {
    return fcntl(fd, F_SETOWN, owner);
}

static int own_by_fcntl_ex(int fd, pid_t owner) {
    const struct f_owner_ex whom = {.type = F_OWNER_PID, .pid = owner};
    return fcntl(fd, F_SETOWN_EX, &whom);
}

static int own_by_group(int fd, pid_t owner) {
    return fcntl(fd, F_SETOWN, -owner);
}

static void each_owner(int (*own)(int fd, pid_t owner)) {
    pid_t pids[kMostPids];
    pause_ms(50);
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i)
        raise_by_pipe(own, pids[i]);
}

static void sigio(void) {
    each_owner(own_by_fcntl);
}

static void sigio_ex(void) {
    each_owner(own_by_fcntl_ex);
}

static void sigio_group(void) {
    each_owner(own_by_group);
}

/// These ioctls set the owner of a socket.
static void own_by_ioctl(unsigned long request) {
    pid_t pids[kMostPids];
    pause_ms(50);
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
            return;
        see("owner", ioctl(ends[0], request, &pids[i]));
        see("async", fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
        (void)!write(ends[1], "x", 1);
        close(ends[0]);
        close(ends[1]);
    }
}

static void fiosetown(void) {
    own_by_ioctl(FIOSETOWN);
}

static void siocspgrp(void) {
    own_by_ioctl(SIOCSPGRP);
}

/// Requests another signal instead of SIGIO: F_SETSIG.
static void setsig(void) {
    int ends[2];
    if (pipe(ends) != 0)
        return;
    see("number", fcntl(ends[0], F_SETSIG, SIGKILL));
    see("owner", fcntl(ends[0], F_SETOWN, canary_pid()));
    see("async", fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
    (void)!write(ends[1], "x", 1);
}

static void urge(int receiver, int sender, pid_t owner) {
    see("owner", fcntl(receiver, F_SETOWN, owner));
    see("urgent", send(sender, "!", 1, MSG_OOB | MSG_NOSIGNAL));
    pause_ms(20);
}

static void sigurg_unix(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return;
    urge(ends[0], ends[1], daemon_pid());
    urge(ends[0], ends[1], canary_pid());
}

static void sigurg_tcp(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    see("bind", bind(server, (struct sockaddr*)&address, sizeof address));
    if (listen(server, 1) != 0 || getsockname(server, (struct sockaddr*)&address, &size) != 0 ||
        connect(client, (struct sockaddr*)&address, sizeof address) != 0)
        return;
    const int served = accept(server, NULL, NULL);
    urge(served, client, daemon_pid());
    urge(served, client, canary_pid());
}

/// Makes changes of a folder signal its owner: fcntl(2), F_NOTIFY.
static void dnotify(void) {
    const int folder = open(own_home(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    see("owner", fcntl(folder, F_SETOWN, canary_pid()));
    see("watch", fcntl(folder, F_NOTIFY, DN_CREATE | DN_MULTISHOT));
    const char* file = marked(own_home(), "dnotify");
    if (write_text(file, O_CREAT, "x") == 0)
        unlink(file);
}

/// Makes other processes that open a leased file signal its owner: fcntl(2), F_SETLEASE.
static void lease(void) {
    const char* file = marked(own_home(), "lease");
    (void)write_text(file, O_CREAT, "x");
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    see("owner", fcntl(fd, F_SETOWN, canary_pid()));
    see("lease", fcntl(fd, F_SETLEASE, F_RDLCK));
    if (fork() == 0)
        _exit(open(file, O_WRONLY | O_NONBLOCK | O_CLOEXEC) >= 0);
    pause_ms(50);
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    unlink(file);
}

static void timer_of_another(void) {
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
        const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
        int timer = 0;
        event._sigev_un._tid = pids[i];
        const long made = syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer);
        see("timer", made);
        if (made == 0)
            see("settime", syscall(SYS_timer_settime, timer, 0, &soon, NULL));
    }
    pause_ms(20);
}

static void pidfd_signal(void) {
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i) {
        const int pidfd = (int)syscall(SYS_pidfd_open, pids[i], 0);
        see("open", pidfd);
        see("signal", syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0));
    }
}

/// Uses the folder of a process in /proc as a pidfd: pidfd_send_signal(2).
static void procfs_pidfd_signal(void) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d", canary_pid());
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    see("open", folder);
    see("signal", syscall(SYS_pidfd_send_signal, folder, SIGUSR1, NULL, 0));
}

/// Limits the processor time of other processes, which would end them with SIGXCPU.
static void limit_others(void) {
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    const struct rlimit few = {.rlim_cur = 5, .rlim_max = 5};
    for (int i = 0; i < count; ++i)
        see("limit", prlimit(pids[i], RLIMIT_NOFILE, &few, NULL));
}

/// Creates a child that signals its parent with another signal when it ends: clone(2).
static void exit_signal(void) {
    const long child = syscall(SYS_clone, CLONE_PARENT | SIGUSR1, NULL, NULL, NULL, 0);
    if (child == 0)
        _exit(0);
    see("clone", child);
    pause_ms(20);
}

/// Requests a signal when a child's parent ends, for a child that gets another parent.
static void death_signal(void) {
    see("prctl", prctl(PR_SET_PDEATHSIG, SIGUSR1));
    see("none", prctl(PR_SET_PDEATHSIG, 0));
}

#if defined(__x86_64__)
static void kill_by_int80(void) {
    long result = 37;  // kill(2) for i386
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"((long)canary_pid()), "c"((long)SIGUSR1)
                     : "memory");
    errno = result < 0 ? (int)-result : 0;
    see("int80", result);
}

static void kill_by_x32(void) {
    see("x32", syscall(0x40000000 | SYS_kill, canary_pid(), SIGUSR1));
}
#else
static void kill_by_int80(void) {}
static void kill_by_x32(void) {}
#endif

const struct attack kSignalAttacks[] = {
    {"kill-daemon", kill_daemon},
    {"kill-canary", kill_canary},
    {"stop-canary", stop_canary},
    {"kill-brute", kill_brute},
    {"kill-loop", kill_loop},
    {"stop-peers", stop_peers},
    {"kill-groups", kill_groups},
    {"kill-keeper", kill_keeper},
    {"stop-keeper", stop_keeper},
    {"kill-server", kill_server},
    {"sigio", sigio},
    {"sigio-ex", sigio_ex},
    {"sigio-group", sigio_group},
    {"fiosetown", fiosetown},
    {"siocspgrp", siocspgrp},
    {"setsig", setsig},
    {"sigurg-unix", sigurg_unix},
    {"sigurg-tcp", sigurg_tcp},
    {"dnotify", dnotify},
    {"lease", lease},
    {"timer-of-another", timer_of_another},
    {"pidfd-signal", pidfd_signal},
    {"procfs-pidfd-signal", procfs_pidfd_signal},
    {"limit-others", limit_others},
    {"exit-signal", exit_signal},
    {"death-signal", death_signal},
    {"kill-by-int80", kill_by_int80},
    {"kill-by-x32", kill_by_x32},
    {0},
};
