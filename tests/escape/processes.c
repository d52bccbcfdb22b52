// SPDX-License-Identifier: Apache-2.0
/// Attacks on other processes: their memory, descriptors, priority and control groups. Also creates
/// processes that could outlive the worker.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

enum { kForks = 3000, kMaxForks = 512, kIdle = 3 << 13, kWhoProcess = 1 };

static pid_t daemon_pid(void) {
    return (pid_t)victim_number("daemon");
}

static pid_t canary_pid(void) {
    return (pid_t)victim_number("canary");
}

static const char* proc(pid_t pid, const char* name) {
    static char paths[4][256];
    static unsigned turn;
    char* path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "/proc/%d/%s", pid, name);
    return path;
}

/// The address of the first executable mapping; 0 if it is unknown.
static unsigned long code_of(pid_t pid, unsigned long* size) {
    char line[512];
    unsigned long start = 0;
    unsigned long end = 0;
    FILE* maps = fopen(proc(pid, "maps"), "re");
    while (maps && fgets(line, sizeof line, maps)) {
        char access[8] = "";
        if (sscanf(line, "%lx-%lx %7s", &start, &end, access) == 3 && access[2] == 'x')
            break;
        start = end = 0;
    }
    if (maps)
        fclose(maps);
    *size = end - start;
    return start;
}

/// Overwrites the code of a process with breakpoints.
static void break_code(pid_t pid) {
    static char breakpoints[4096];
    unsigned long size = 0;
    memset(breakpoints, 0xcc, sizeof breakpoints);
    const unsigned long start = code_of(pid, &size);
    const int memory = open(proc(pid, "mem"), O_RDWR | O_CLOEXEC);
    see("open mem", memory);
    if (memory < 0 || start == 0)
        return;
    unsigned long at = 0;
    while (at < size && pwrite(memory, breakpoints, sizeof breakpoints, (off_t)(start + at)) > 0)
        at += sizeof breakpoints;
    see("write mem", at > 0 ? 0 : -1);
    close(memory);
}

static void procmem_daemon(void) {
    break_code(daemon_pid());
}

static void procmem_peers(void) {
    pid_t pids[kMostPids];
    for (const long late = now_ms() + 400; now_ms() < late; pause_ms(20)) {
        const int count = peers(pids);
        for (int i = 0; i < count; ++i)
            break_code(pids[i]);
    }
}

/// Overwrites the code of the worker's reaper, which has to end the remaining processes of the
/// worker.
static void procmem_keeper(void) {
    leave_process();
    if (getppid() > 1)
        break_code(getppid());
}

static void procmem_canary(void) {
    const int memory = open(proc(canary_pid(), "mem"), O_RDWR | O_CLOEXEC);
    see("open mem", memory);
    see("write mem", pwrite(memory, "forged", 6, (off_t)victim_number("page")));
}

/// Writes to every pipe and file that a process has open.
static void forge_descriptors_of(pid_t pid) {
    DIR* folder = opendir(proc(pid, "fd"));
    see("list fd", folder ? 0 : -1);
    if (!folder)
        return;
    for (const struct dirent* entry = readdir(folder); entry; entry = readdir(folder)) {
        struct stat info;
        const int fd =
            openat(dirfd(folder), entry->d_name, O_WRONLY | O_NONBLOCK | O_APPEND | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode)))
            see("write fd", write(fd, "forged, and not a frame at all\n", 31));
        close(fd);
    }
    closedir(folder);
}

static void fdforge(void) {
    pid_t pids[kMostPids];
    pause_ms(100);
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i)
        forge_descriptors_of(pids[i]);
}

static void getfd(void) {
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i) {
        const int pidfd = (int)syscall(SYS_pidfd_open, pids[i], 0);
        for (int fd = 0; fd < 32; ++fd)
            if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
                breach("pidfd_getfd", 0);
    }
}

static void write_proc_files(void) {
    static const char* const kFiles[][2] = {
        {"oom_score_adj", "1000"},   {"timerslack_ns", "99999999"},
        {"coredump_filter", "0xff"}, {"autogroup", "19"},
        {"comm", "forged"},          {"attr/current", "unconfined"},
        {"uid_map", "0 0 1"},        {"setgroups", "deny"},
        {"oom_adj", "15"},           {"loginuid", "12345"},
        {"projid_map", "0 0 1"}};
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i)
        for (size_t file = 0; file < sizeof kFiles / sizeof *kFiles; ++file)
            see(kFiles[file][0], write_text(proc(pids[i], kFiles[file][0]), 0, kFiles[file][1]));
    breach("clear_refs", write_text(proc(canary_pid(), "clear_refs"), 0, "1"));
}

static void read_secrets(void) {
    static const char* const kFiles[] = {"environ", "mem",     "auxv", "pagemap",
                                         "maps",    "syscall", "stack"};
    char byte;
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i)
        for (size_t file = 0; file < sizeof kFiles / sizeof *kFiles; ++file) {
            const int fd = open(proc(pids[i], kFiles[file]), O_RDONLY | O_CLOEXEC);
            const int is_memory = strcmp(kFiles[file], "mem") == 0;
            // Some files of a process that has just ended can be opened, but are empty.
            breach(kFiles[file], is_memory || fd < 0 ? fd : read(fd, &byte, 1) == 1 ? 0 : -1);
            close(fd);
        }
}

/// Opens files through the root and working folders of other processes, which would bypass our
/// mounts.
static void proc_root(void) {
    char path[4096];
    for (int i = 0; i < 2; ++i) {
        (void)snprintf(path, sizeof path, "%s%s", proc(canary_pid(), "root"), victim("outside"));
        see("root", write_text(marked(path, "proc-root"), O_CREAT, "forged"));
    }
    see("cwd", write_text(marked(proc(canary_pid(), "cwd"), "proc-cwd"), O_CREAT, "forged"));
    (void)snprintf(path, sizeof path, "/proc/1/root%s", victim("outside"));
    see("root of 1", write_text(marked(path, "proc-1-root"), O_CREAT, "forged"));
    (void)snprintf(path, sizeof path, "/proc/%d/root%s", getppid(), victim("outside"));
    see("root of keeper", write_text(marked(path, "keeper-root"), O_CREAT, "forged"));
}

static void vm_writev(void) {
    char text[] = "forged";
    const struct iovec from = {.iov_base = text, .iov_len = 6};
    const struct iovec to = {.iov_base = (void*)victim_number("page"), .iov_len = 6};
    see("writev", process_vm_writev(canary_pid(), &from, 1, &to, 1, 0));
    breach("readv", process_vm_readv(canary_pid(), &from, 1, &to, 1, 0));
}

static void advise_others(void) {
    const struct iovec page = {.iov_base = (void*)victim_number("page"), .iov_len = 4096};
    const int pidfd = (int)syscall(SYS_pidfd_open, canary_pid(), 0);
    breach("madvise", syscall(SYS_process_madvise, pidfd, &page, 1, MADV_PAGEOUT, 0));
    breach("mrelease", syscall(SYS_process_mrelease, pidfd, 0));
}

static void compare_others(void) {
    breach("kcmp", syscall(SYS_kcmp, getpid(), canary_pid(), KCMP_FILE, 0, 0));
    breach("kcmp daemon", syscall(SYS_kcmp, daemon_pid(), canary_pid(), KCMP_VM, 0, 0));
}

static void trace(void) {
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i) {
        breach("seize", ptrace(PTRACE_SEIZE, pids[i], NULL, NULL));
        breach("attach", ptrace(PTRACE_ATTACH, pids[i], NULL, NULL));
    }
}

/// Tries to trace a child before the child has run any code.
static void trace_race(void) {
    const pid_t child = fork();
    if (child == 0) {
        pause_ms(50);
        _exit(0);
    }
    breach("seize child", ptrace(PTRACE_SEIZE, child, NULL, NULL));
    see("peek keeper", ptrace(PTRACE_PEEKDATA, getppid(), NULL, NULL));
    (void)waitpid(child, NULL, 0);
}

static void trace_me(void) {
    breach("traceme", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static void move_pages_of_others(void) {
    void* page = (void*)victim_number("page");
    int status = 0;
    int node = 0;
    breach("move_pages", syscall(SYS_move_pages, canary_pid(), 1UL, &page, NULL, &status, 0));
    see("move_pages to", syscall(SYS_move_pages, canary_pid(), 1UL, &page, &node, &status, 0));
    const unsigned long nodes = 1;
    breach("migrate_pages", syscall(SYS_migrate_pages, canary_pid(), 8UL, &nodes, &nodes));
}

static void robust_list(void) {
    pid_t pids[kMostPids];
    void* head = NULL;
    size_t size = 0;
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i)
        breach("robust_list", syscall(SYS_get_robust_list, pids[i], &head, &size));
}

static void schedule_one(pid_t pid) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    const struct sched_param none = {0};
    struct {
        unsigned size, policy;
        unsigned long long flags;
        int nice;
        unsigned priority;
        unsigned long long runtime, deadline, period;
    } attributes = {.size = 48, .policy = SCHED_BATCH, .nice = 10};
    see("nice", setpriority(PRIO_PROCESS, (id_t)pid, 19));
    see("group's nice", setpriority(PRIO_PGRP, (id_t)pid, 19));
    see("affinity", sched_setaffinity(pid, sizeof first, &first));
    see("attributes", syscall(SYS_sched_setattr, pid, &attributes, 0));
    see("idle", sched_setscheduler(pid, SCHED_IDLE, &none));
    see("ioprio", syscall(SYS_ioprio_set, kWhoProcess, pid, kIdle));
}

static void schedule_others(void) {
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i)
        schedule_one(pids[i]);
}

static void regroup_others(void) {
    see("setpgid", setpgid(canary_pid(), getpgid(0)));
    see("setpgid daemon", setpgid(daemon_pid(), daemon_pid()));
    see("join its group", setpgid(0, canary_pid()));
}

/// Creates control groups, and moves the canary into them.
static void control_groups(void) {
    static const char* const kRoots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/pids",
                                         "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/freezer",
                                         "/sys/fs/cgroup/unified"};
    char number[32];
    (void)snprintf(number, sizeof number, "%d", canary_pid());
    for (size_t i = 0; i < sizeof kRoots / sizeof *kRoots; ++i) {
        const char* group = marked(kRoots[i], "");
        see("mkdir", mkdir(group, 0755));
        see("move canary", write_text(path_in(group, "cgroup.procs"), 0, number));
        see("move us", write_text(path_in(kRoots[i], "cgroup.procs"), 0, "0"));
    }
}

// ------------------------------------------------------------------------------------------------
// Processes that do not end.

static _Noreturn void stay(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (const long late = now_ms() + 60000; now_ms() < late;)
        pause_ms(1000);
    _exit(0);
}

void leave_process(void) {
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, 0);
        setsid();
        if (fork() == 0)
            stay();
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
}

static void outlive_as_subreaper(void) {
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, 0);
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        setsid();
        for (int i = 0; i < 20; ++i)
            if (fork() == 0) {
                if (fork() == 0)
                    stay();
                _exit(0);
            }
        stay();
    }
    pause_ms(30);
}

/// Each process forks a successor and ends, so that every list of children is outdated immediately.
static void outlive_by_running(void) {
    if (fork() != 0)
        return;
    for (const long late = now_ms() + 20000; now_ms() < late;)
        if (fork() != 0)
            _exit(0);
    _exit(0);
}

static void outlive_its_killer(void) {
    leave_process();
    (void)raise(SIGKILL);
}

/// Forks as often as possible, and reports a breach if there are more processes than any driver
/// needs.
static void fork_all(void (*child_does)(void)) {
    int count = 0;
    while (count < kForks) {
        const pid_t child = fork();
        if (child == 0)
            child_does();
        if (child < 0)
            break;
        ++count;
    }
    see("forks", count);
    breach("processes", count > kMaxForks ? 0 : -1);
}

static void fork_bomb(void) {
    fork_all(stay);
}

static void spin(void) {
    for (;;)
        sched_yield();
}

/// Creates processes that use all processors while other drivers are loaded.
static void spin_bomb(void) {
    fork_all(spin);
    pause_ms(2000);
}

/// Each child forks the next child and ends, so that only a few children exist at the same time.
static void fork_chain(void) {
    int count = 0;
    int pipes[2];
    if (pipe(pipes) != 0)
        return;
    const pid_t child = fork();
    if (child == 0) {
        for (pid_t next = 0; count < kForks && (next = fork()) >= 0; ++count)
            if (next > 0)
                _exit(0);
        (void)!write(pipes[1], &count, sizeof count);
        _exit(0);
    }
    close(pipes[1]);
    (void)!read(pipes[0], &count, sizeof count);
    breach("processes", count > kMaxForks ? 0 : -1);
}

/// Creates a child whose parent is our parent.
static void sibling(void) {
    const long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
    if (child == 0)
        stay();
    see("clone", child);
}

static void exec_away(void) {
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        const char* const arguments[] = {"sleep", "60", NULL};
        execvp("sleep", (char* const*)arguments);
        _exit(1);
    }
    see("sleep", child);
}

/// Leaves a stopped process, and a process that waits for a child with shared memory. Both must be
/// ended too.
static void outlive_stopped(void) {
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        (void)signal(SIGTERM, SIG_IGN);
        (void)signal(SIGCONT, SIG_IGN);
        (void)raise(SIGSTOP);
        stay();
    }
    if (fork() == 0) {
        if (vfork() == 0)
            stay();
        stay();
    }
    pause_ms(30);
}

static void* stay_in_thread(void* unused) {
    pause_ms(60000);
    return unused;
}

/// Ends the first thread while another thread continues.
static void outlive_as_thread(void) {
    pthread_t thread;
    (void)pthread_create(&thread, NULL, stay_in_thread, NULL);
    (void)syscall(SYS_exit, 0);
}

/// Gives the reaper additional children that end successfully, while the worker itself crashes.
static void impostor(void) {
    for (int i = 0; i < 50; ++i)
        if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0) == 0)
            _exit(0);
    pause_ms(20);
    (void)raise(SIGSEGV);
}

/// Signals all processes that this user may signal.
static void kill_everyone(void) {
    (void)signal(SIGUSR2, SIG_IGN);
    see("all", kill(-1, SIGUSR2));
    see("group", kill(0, SIGUSR2));
    see("group of 1", kill(-1 * 1, SIGUSR2));
    see("all by tgkill", syscall(SYS_tgkill, -1, canary_pid(), SIGUSR2));
    see("all by queue", syscall(SYS_rt_sigqueueinfo, -1, SIGUSR2, NULL));
}

/// Changes priorities by user and by group instead of by process.
static void priority_by_user(void) {
    see("user's nice", setpriority(PRIO_USER, getuid(), 19));
    see("own user's nice", setpriority(PRIO_USER, 0, 19));
    see("group's nice", setpriority(PRIO_PGRP, (id_t)getpgid(canary_pid()), 19));
    see("user's ioprio", syscall(SYS_ioprio_set, 3, getuid(), kIdle));
    see("group's ioprio", syscall(SYS_ioprio_set, 2, getpgid(canary_pid()), kIdle));
}

/// Requests a real-time priority.
static void real_time(void) {
    const struct sched_param first = {.sched_priority = 50};
    const struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    struct {
        unsigned size, policy;
        unsigned long long flags;
        int nice;
        unsigned priority;
        unsigned long long runtime, deadline, period;
    } deadline = {
        .size = 48, .policy = 6, .runtime = 9000000, .deadline = 10000000, .period = 10000000};
    (void)setrlimit(RLIMIT_RTPRIO, &all);
    (void)setrlimit(RLIMIT_NICE, &all);
    breach("fifo", sched_setscheduler(0, SCHED_FIFO, &first));
    breach("round robin", sched_setscheduler(0, SCHED_RR, &first));
    breach("deadline", syscall(SYS_sched_setattr, 0, &deadline, 0));
    breach("nice", setpriority(PRIO_PROCESS, 0, -20));
    breach("ioprio", syscall(SYS_ioprio_set, kWhoProcess, 0, 1 << 13));
}

/// Prevents other processes from running on the same core: prctl(2), PR_SCHED_CORE.
static void core_scheduling(void) {
    enum { kSchedCore = 62, kCreate = 1, kShareTo = 2, kShareFrom = 3 };
    breach("share to", prctl(kSchedCore, kShareTo, canary_pid(), 0, 0));
    breach("create for", prctl(kSchedCore, kCreate, canary_pid(), 0, 0));
    breach("share from", prctl(kSchedCore, kShareFrom, daemon_pid(), 0, 0));
}

/// Makes the kernel end other processes first when memory runs out.
static void oom_score(void) {
    breach("lower", write_text("/proc/self/oom_score_adj", 0, "-500"));
    breach("lower by thread", write_text("/proc/thread-self/oom_score_adj", 0, "-1000"));
}

const struct attack kProcessAttacks[] = {
    {"procmem-daemon", procmem_daemon},
    {"procmem-peers", procmem_peers},
    {"procmem-keeper", procmem_keeper},
    {"procmem-canary", procmem_canary},
    {"fdforge", fdforge},
    {"pidfd-getfd", getfd},
    {"proc-files", write_proc_files},
    {"proc-secrets", read_secrets},
    {"proc-root", proc_root},
    {"vm-writev", vm_writev},
    {"advise-others", advise_others},
    {"kcmp", compare_others},
    {"trace", trace},
    {"trace-race", trace_race},
    {"trace-me", trace_me},
    {"move-pages", move_pages_of_others},
    {"robust-list", robust_list},
    {"schedule", schedule_others},
    {"regroup", regroup_others},
    {"control-groups", control_groups},
    {"outlive", leave_process},
    {"outlive-subreaper", outlive_as_subreaper},
    {"outlive-running", outlive_by_running},
    {"outlive-killed", outlive_its_killer},
    {"fork-bomb", fork_bomb},
    {"spin-bomb", spin_bomb},
    {"fork-chain", fork_chain},
    {"sibling", sibling},
    {"exec-away", exec_away},
    {"outlive-stopped", outlive_stopped},
    {"outlive-as-thread", outlive_as_thread},
    {"impostor", impostor},
    {"kill-everyone", kill_everyone},
    {"priority-by-user", priority_by_user},
    {"real-time", real_time},
    {"core-scheduling", core_scheduling},
    {"oom-score", oom_score},
    {0},
};
