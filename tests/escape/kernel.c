// SPDX-License-Identifier: Apache-2.0
/// Attacks on the kernel and the machine. An attack that succeeds does not change the machine:
/// settings are written with their current value, and destructive requests name objects that do not
/// exist.
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

enum { kOpenTreeClone = 1, kUserMode = 1 };

static pid_t canary_pid(void) {
    return (pid_t)victim_number("canary");
}

static void kernel_programs(void) {
    unsigned attributes[32] = {0};
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_CPU_CLOCK};
    attributes[0] = 2;  // an array
    attributes[1] = attributes[2] = 4;
    attributes[3] = 1;
    breach("bpf", syscall(SYS_bpf, 0, attributes, sizeof attributes));
    breach("perf", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
    breach("perf of others", syscall(SYS_perf_event_open, &event, canary_pid(), -1, -1, 0));
}

static void io_uring(void) {
    unsigned char parameters[256] = {0};
    breach("setup", syscall(SYS_io_uring_setup, 4, parameters));
    breach("register", syscall(SYS_io_uring_register, -1, 8, parameters, 1));
}

static void fault_handling(void) {
    breach("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
    breach("user mode only", syscall(SYS_userfaultfd, O_CLOEXEC | kUserMode));
}

static void keys(void) {
    const long key = syscall(SYS_add_key, "user", victim("mark"), "x", 1, KEY_SPEC_PROCESS_KEYRING);
    breach("add_key", key);
    breach("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1, 0, 0));
    breach("request_key",
           syscall(SYS_request_key, "user", victim("mark"), NULL, KEY_SPEC_PROCESS_KEYRING));
}

/// Reports a breach if the call fails with an error that shows that the call itself is allowed. The
/// arguments name objects that do not exist, so no call should succeed.
static void refused_with(const char* what, long result) {
    if (result < 0 && errno != EPERM && errno != ENOSYS && errno != EACCES) {
        const int problem = errno;
        breach(what, 0);
        errno = problem;
    }
    see(what, result);
}

static void machine(void) {
    struct timex clock = {.modes = 0};
    char name[256] = "";
    char domain[256] = "";
    (void)gethostname(name, sizeof name - 1);
    (void)getdomainname(domain, sizeof domain - 1);
    breach("sethostname", sethostname(name, strlen(name)));
    breach("setdomainname", setdomainname(domain, strlen(domain)));
    (void)adjtimex(&clock);
    clock.modes = ADJ_TICK;
    breach("adjtimex", clock.tick ? adjtimex(&clock) : -1);
    breach("reboot", syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
                             LINUX_REBOOT_CMD_CAD_OFF, 0));
    refused_with("swapoff", swapoff("/nonexistent/swap"));
    refused_with("swapon", swapon("/nonexistent/swap", 0));
    refused_with("acct", acct("/nonexistent/acct"));
    refused_with("delete_module", syscall(SYS_delete_module, "gpuprobe_nonexistent", O_NONBLOCK));
    refused_with("finit_module", syscall(SYS_finit_module, -1, "", 0));
    refused_with("kexec", syscall(SYS_kexec_file_load, -1, -1, 0UL, "", 0UL));
    breach("syslog", syscall(SYS_syslog, 10, NULL, 0));
    breach("iopl", syscall(SYS_iopl, 3));
    breach("ioperm", syscall(SYS_ioperm, 0x80UL, 1UL, 1));
}

/// Writes a setting with its current value.
static int rewrite(const char* path) {
    char text[512];
    const int reader = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t count = read(reader, text, sizeof text);
    close(reader);
    const int writer = open(path, O_WRONLY | O_CLOEXEC);
    if (count <= 0 || writer < 0)
        return -1;
    const ssize_t written = write(writer, text, (size_t)count);
    close(writer);
    return written == count ? 0 : -1;
}

static void settings(void) {
    static const char* const kFiles[] = {"/proc/sys/kernel/core_pattern",
                                         "/proc/sys/kernel/randomize_va_space",
                                         "/proc/sys/kernel/hostname",
                                         "/proc/sys/vm/overcommit_memory",
                                         "/proc/sys/fs/suid_dumpable",
                                         "/proc/sys/kernel/modprobe",
                                         "/proc/sys/net/ipv4/ip_forward",
                                         "/proc/sys/fs/pipe-max-size",
                                         "/sys/kernel/mm/transparent_hugepage/enabled"};
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i)
        breach(kFiles[i], rewrite(kFiles[i]));
    const int trigger = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
    breach("sysrq", trigger);
}

/// Only opens devices, and writes nothing.
static void devices(void) {
    static const char* const kNodes[] = {"/dev/kmsg",
                                         "/dev/mem",
                                         "/dev/port",
                                         "/dev/vda",
                                         "/dev/sda",
                                         "/dev/nvme0n1",
                                         "/dev/loop0",
                                         "/dev/loop-control",
                                         "/dev/fuse",
                                         "/dev/net/tun",
                                         "/dev/kvm",
                                         "/dev/tty0",
                                         "/dev/tty1",
                                         "/dev/console",
                                         "/dev/tty",
                                         "/dev/hwrng",
                                         "/dev/btrfs-control",
                                         "/dev/uinput",
                                         "/dev/vhost-vsock",
                                         "/dev/vsock",
                                         "/dev/rtc0",
                                         "/dev/cpu_dma_latency",
                                         "/dev/mapper/control",
                                         "/dev/input/event0",
                                         "/dev/snd/seq"};
    for (size_t i = 0; i < sizeof kNodes / sizeof *kNodes; ++i)
        breach(kNodes[i], open(kNodes[i], O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
}

static void typing(void) {
    const int terminal = open(victim("terminal"), O_RDWR | O_NOCTTY | O_CLOEXEC);
    see("open", terminal);
    see("write", write(terminal, "forged", 6));
    see("TIOCSTI", ioctl(terminal, TIOCSTI, "!"));
    setsid();
    see("TIOCSCTTY", ioctl(terminal, TIOCSCTTY, 1));
    see("TIOCSTI", ioctl(terminal, TIOCSTI, "!"));
    see("TIOCSTI high", syscall(SYS_ioctl, terminal, 0x100000000UL | TIOCSTI, "!"));
    char paste = 3;
    breach("TIOCLINUX", ioctl(terminal, TIOCLINUX, &paste));
}

static void mounts(void) {
    unsigned long attributes[4] = {0};
    char folder[4096];
    (void)snprintf(folder, sizeof folder, "%s/mount", victim("outside"));
    breach("mount", mount("none", folder, "tmpfs", 0, NULL));
    breach("private", mount(NULL, folder, NULL, MS_PRIVATE, NULL));
    (void)umount2(folder, MNT_DETACH);
    refused_with("umount", umount2("/nonexistent/mount", MNT_DETACH));
    refused_with("pivot_root", syscall(SYS_pivot_root, "/nonexistent", "/nonexistent"));
    breach("chroot", chroot("/"));
    breach("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    breach("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
    breach("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", O_CLOEXEC));
    breach("open_tree clone", syscall(SYS_open_tree, AT_FDCWD, "/", kOpenTreeClone));
    breach("open_tree_attr", syscall(SYS_open_tree_attr, AT_FDCWD, "/", O_CLOEXEC, attributes, 32));
    breach("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attributes, 32));
    refused_with("move_mount", syscall(SYS_move_mount, -1, "", -1, "", 0));
}

static void namespaces(void) {
    static const struct {
        const char* name;
        int flag;
    } kKinds[] = {{"user", CLONE_NEWUSER},     {"pid", CLONE_NEWPID}, {"mount", CLONE_NEWNS},
                  {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
                  {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80}};
    char path[64];
    for (size_t i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
        breach(kKinds[i].name, unshare(kKinds[i].flag));
        const long child = syscall(SYS_clone, kKinds[i].flag | SIGCHLD, NULL, NULL, NULL, 0);
        if (child == 0)
            _exit(0);
        if (kKinds[i].flag != 0x80)  // for clone(2), these bits are a part of the signal
            breach("clone", child);
    }
    unsigned long long arguments[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
    const long child = syscall(SYS_clone3, arguments, sizeof arguments);
    if (child == 0)
        _exit(0);
    breach("clone3", child);
    (void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", canary_pid());
    const int other = open(path, O_RDONLY | O_CLOEXEC);
    breach("setns", setns(other, 0));
    breach("setns by pidfd", setns((int)syscall(SYS_pidfd_open, canary_pid(), 0), CLONE_NEWNS));
}

static void descriptor_table(void) {
    struct user_desc entry = {.entry_number = 0, .base_addr = 0, .limit = 0xfffff, .seg_32bit = 1};
    breach("modify_ldt", syscall(SYS_modify_ldt, 1, &entry, sizeof entry));
}

static void personalities(void) {
    const int before = personality(0xffffffff);
    breach("no randomisation", personality((unsigned long)before | ADDR_NO_RANDOMIZE));
    breach("of 32 bits", personality(PER_LINUX32));
    breach("read implies exec", personality((unsigned long)before | READ_IMPLIES_EXEC));
    (void)personality((unsigned long)before);
}

/// Uses the superuser's capabilities in the worker's user namespace. Drivers need no capabilities.
static void capabilities(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[2] = {{0}};
    const long result = syscall(SYS_capget, &head, held);
    breach("effective", result == 0 && (held[0].effective || held[1].effective) ? 0 : -1);
    breach("permitted", result == 0 && (held[0].permitted || held[1].permitted) ? 0 : -1);
    held[0].effective = held[0].permitted = held[0].inheritable |= 1U << CAP_KILL;
    breach("capset", syscall(SYS_capset, &head, held));
    breach("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0));
}

static void users(void) {
    const gid_t groups[] = {0, 44};
    const uid_t other = getuid() == 0 ? 12345 : 0;
    breach("setgroups", setgroups(2, groups));
    breach("setgid", setresgid((gid_t)-1, other, (gid_t)-1));
    breach("setuid", setresuid((uid_t)-1, other, (uid_t)-1));
}

static void limits(void) {
    struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    breach("core", setrlimit(RLIMIT_CORE, &all));
    breach("file size", setrlimit(RLIMIT_FSIZE, &all));
    see("nice", setpriority(PRIO_PROCESS, 0, -20));
}

static void core_dump(void) {
    struct rlimit all = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    see("core", setrlimit(RLIMIT_CORE, &all));
    see("dumpable", prctl(PR_SET_DUMPABLE, 1));
    (void)!chdir(victim("outside"));
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
}

static void watch_files(void) {
    breach("fanotify", syscall(SYS_fanotify_init, 0, O_RDONLY));
    breach("unprivileged", syscall(SYS_fanotify_init, 0x200, O_RDONLY));
    breach("quotactl", syscall(SYS_quotactl, 0x80000100, NULL, 0, NULL));
}

/// Runs a program that exists only in memory.
static void program_in_memory(void) {
    char text[1024];
    const int fd = memfd_create("program", 0);
    (void)snprintf(text, sizeof text,
                   "#!/bin/sh\nkill -USR1 %d; echo forged >> '%s/canary'; echo > '%s/%sexec'\n",
                   canary_pid(), victim("outside"), victim("outside"), victim("mark"));
    (void)!write(fd, text, strlen(text));
    const pid_t child = fork();
    if (child == 0) {
        char* const arguments[] = {(char*)"program", NULL};
        char* const environment[] = {(char*)"PATH=/usr/bin:/bin", NULL};
        fexecve(fd, arguments, environment);
        _exit(1);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    see("ran", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1);
}

/// Runs programs that have more privileges than the user who starts them.
static void privileged_programs(void) {
    char script[1024];
    (void)snprintf(script, sizeof script, "echo forged > '%s/%sshell'; kill -USR2 %d",
                   victim("outside"), victim("mark"), canary_pid());
    const char* const own[] = {"sh", "-c", script, NULL};
    const char* const unshared[] = {"unshare", "-U", "-r", "-m",   "-p",
                                    "-f",      "sh", "-c", script, NULL};
    const char* const other[] = {"su", "-s", "/bin/sh", "nobody", "-c", script, NULL};
    see("sh", run_program(own));
    see("unshare", run_program(unshared));
    see("su", run_program(other));
}

/// Tries to remove the worker's own protections.
static void own_protection(void) {
    see("dumpable", prctl(PR_SET_DUMPABLE, 1));
    see("ptracer", prctl(0x59616d61, -1));  // PR_SET_PTRACER
    breach("new privileges", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    breach("no filter", prctl(PR_SET_SECCOMP, 0));
    see("secure bits", prctl(PR_SET_SECUREBITS, 1));
    see("mm", prctl(PR_SET_MM, 11, -1, 0, 0));
}

/// Only opens the files, and writes nothing.
static void device_settings(void) {
    static const char* const kFiles[] = {
        "/sys/bus/pci/rescan",
        "/sys/bus/pci/drivers_probe",
        "/sys/power/state",
        "/sys/kernel/debug",
        "/sys/class/drm/card0/device/remove",
        "/sys/class/drm/card0/device/reset",
        "/sys/class/drm/card0/device/power/control",
        "/sys/class/drm/card0/device/power_dpm_force_performance_level",
        "/sys/module/nvidia/drivers/pci:nvidia/unbind",
        "/proc/bus/pci/00/00.0",
        "/proc/sys/fs/binfmt_misc/register",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/kernel/yama/ptrace_scope",
        "/proc/irq/default_smp_affinity",
        "/proc/mtrr",
        "/proc/driver/nvidia/params",
        "/proc/sys/vm/drop_caches",
        "/sys/firmware/efi/efivars",
        "/sys/kernel/security/apparmor/.load"};
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i)
        breach(kFiles[i], open(kFiles[i], O_WRONLY | O_CLOEXEC));
}

/// Waits for memory pressure, which makes the kernel measure the pressure more often.
static void pressure(void) {
    static const char* const kFiles[] = {"/proc/pressure/memory", "/proc/pressure/cpu",
                                         "/proc/pressure/io"};
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i)
        breach(kFiles[i], write_text(kFiles[i], 0, "some 100000 1000000"));
}

/// Sets timers that wake the machine from sleep.
static void wake_alarm(void) {
    timer_t timer = 0;
    breach("timer", timer_create(CLOCK_BOOTTIME_ALARM, NULL, &timer));
    breach("timerfd", timerfd_create(CLOCK_REALTIME_ALARM, TFD_CLOEXEC));
}

#if defined(__x86_64__)
static long call_of_32_bits(long number, const void* one, long two) {
    long result = number;
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(one), "c"(two), "d"(0777L) : "memory");
    errno = result < 0 ? (int)-result : 0;
    return result < 0 ? -1 : result;
}

/// Makes system calls with the numbers of another architecture, which a filter must handle
/// separately.
static void calls_of_32_bits(void) {
    char* text =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (text == MAP_FAILED)
        return;
    (void)snprintf(text, 4096, "%s/canary", victim("outside"));
    breach("open", call_of_32_bits(5, text, O_WRONLY));
    see("chmod", call_of_32_bits(15, text, 0777));
    see("unlink", call_of_32_bits(10, text, 0));
    breach("unshare", call_of_32_bits(310, (const void*)CLONE_NEWUSER, 0));
    breach("ptrace", call_of_32_bits(26, NULL, 0));
    for (unsigned i = 0; i < 16; ++i)
        breach("x32", syscall(0x40000000 | (512 + (int)i), -1, 0, 0, 0));
}
#else
static void calls_of_32_bits(void) {}
#endif

/// Passes arguments whose upper half the kernel ignores. A filter that compares the whole argument
/// would not match.
static void high_halves(void) {
    const unsigned long high = 0x100000000UL;
    const struct rlimit some = {.rlim_cur = 100, .rlim_max = 100};
    int ends[2] = {-1, -1};
    (void)!pipe(ends);
    breach("owner", syscall(SYS_fcntl, ends[0], high | F_SETOWN, canary_pid()));
    see("kill", syscall(SYS_kill, high | (unsigned long)canary_pid(), SIGUSR1));
    see("tgkill", syscall(SYS_tgkill, high | (unsigned long)canary_pid(), canary_pid(), SIGUSR1));
    see("limit",
        syscall(SYS_prlimit64, high | (unsigned long)canary_pid(), RLIMIT_NOFILE, &some, NULL));
    see("priority", syscall(SYS_setpriority, high | PRIO_PROCESS, canary_pid(), 19));
    breach("inet", syscall(SYS_socket, high | 2, SOCK_DGRAM, 0));
    breach("namespace", syscall(SYS_clone, high | CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0));
    breach("moved",
           syscall(SYS_move_pages, high | (unsigned long)canary_pid(), 0UL, NULL, NULL, NULL, 0));
}

static void refused_call(const char* what, long number) {
    const long result = syscall(number, -1, 0, 0, 0, 0, 0);
    if (result >= 0 || (errno != ENOSYS && errno != EPERM))
        breach(what, 0);
    see(what, -1);
}

/// Makes system calls that are newer than our list, or that no known driver needs.
static void new_calls(void) {
    static const struct {
        const char* name;
        long number;
    } kCalls[] = {{"fchmodat2", 452},    {"quotactl_fd", 443},      {"landlock", 444},
                  {"memfd_secret", 447}, {"process_mrelease", 448}, {"cachestat", 451},
                  {"statmount", 457},    {"listmount", 458},        {"lsm_set_self_attr", 460},
                  {"setxattrat", 463},   {"removexattrat", 466},    {"open_tree_attr", 467},
                  {"file_getattr", 468}, {"file_setattr", 469},     {"listns", 470},
                  {"a later one", 500},  {"pidfd_getfd", 438},      {"process_madvise", 440}};
    for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i)
        refused_call(kCalls[i].name, kCalls[i].number);
}

const struct attack kKernelAttacks[] = {
    {"kernel-programs", kernel_programs},
    {"io-uring", io_uring},
    {"userfaultfd", fault_handling},
    {"keys", keys},
    {"machine", machine},
    {"settings", settings},
    {"devices", devices},
    {"typing", typing},
    {"mounts", mounts},
    {"namespaces", namespaces},
    {"modify-ldt", descriptor_table},
    {"personality", personalities},
    {"capabilities", capabilities},
    {"users", users},
    {"limits", limits},
    {"core-dump", core_dump},
    {"watch-files", watch_files},
    {"program-in-memory", program_in_memory},
    {"privileged-programs", privileged_programs},
    {"own-protection", own_protection},
    {"device-settings", device_settings},
    {"pressure", pressure},
    {"wake-alarm", wake_alarm},
    {"calls-of-32-bits", calls_of_32_bits},
    {"high-halves", high_halves},
    {"new-calls", new_calls},
    {0},
};
