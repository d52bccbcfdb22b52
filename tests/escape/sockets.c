// SPDX-License-Identifier: Apache-2.0
/// Attacks on the sockets of other processes, and on descriptors that were left open.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_alg.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

static const char kGreeting[] = "forged";

/// If `name` starts with '@', the address is abstract.
static socklen_t unix_address(struct sockaddr_un* address, const char* name) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    (void)snprintf(address->sun_path, sizeof address->sun_path, "%s", name);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

static int unix_connected(int type, const char* name) {
    struct sockaddr_un address;
    const socklen_t size = unix_address(&address, name);
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr*)&address, size) == 0)
        return fd;
    const int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

static void greet_unix(const char* stream, const char* datagram) {
    struct sockaddr_un address;
    const int fd = unix_connected(SOCK_STREAM, stream);
    see("connect", fd);
    (void)!write(fd, kGreeting, sizeof kGreeting);
    const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t size = unix_address(&address, datagram);
    see("sendto", sendto(sender, kGreeting, sizeof kGreeting, 0, (struct sockaddr*)&address, size));
}

static void unix_abstract(void) {
    greet_unix(victim("abstract_stream"), victim("abstract_datagram"));
}

static void unix_pathname(void) {
    greet_unix(victim("path_stream"), victim("path_datagram"));
}

/// Sends one of our descriptors to another process's socket.
static void pass_descriptor(void) {
    struct sockaddr_un address;
    char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec text = {.iov_base = (void*)kGreeting, .iov_len = sizeof kGreeting};
    struct msghdr message = {.msg_name = &address,
                             .msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = sizeof room};
    message.msg_namelen = unix_address(&address, victim("path_datagram"));
    struct cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &(int){STDERR_FILENO}, sizeof(int));
    const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    see("sendmsg", sendmsg(sender, &message, 0));
}

static struct sockaddr_in loopback(const char* port) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((unsigned short)victim_number(port)),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return address;
}

static void tcp_connect(void) {
    const struct sockaddr_in address = loopback("tcp");
    const struct sockaddr_in6 mapped = {
        .sin6_family = AF_INET6,
        .sin6_port = address.sin_port,
        .sin6_addr = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    see("connect", connect(fd, (const struct sockaddr*)&address, sizeof address));
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    see("connect mapped", connect(fd, (const struct sockaddr*)&mapped, sizeof mapped));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    see("fast open", sendto(fd, kGreeting, sizeof kGreeting, MSG_FASTOPEN,
                            (const struct sockaddr*)&address, sizeof address));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 262);  // IPPROTO_MPTCP
    see("multipath", connect(fd, (const struct sockaddr*)&address, sizeof address));
}

static void udp_send(void) {
    const struct sockaddr_in address = loopback("udp");
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    see("sendto", sendto(fd, kGreeting, sizeof kGreeting, 0, (const struct sockaddr*)&address,
                         sizeof address));
}

static void ip_listen(void) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    breach("bind tcp", bind(fd, (const struct sockaddr*)&address, sizeof address));
    see("listen", listen(fd, 1));
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    breach("bind udp", bind(fd, (const struct sockaddr*)&address, sizeof address));
}

static void families(void) {
    static const struct {
        const char* name;
        int family, type, protocol;
    } kSockets[] = {{"packet", AF_PACKET, SOCK_RAW, 0},
                    {"raw", AF_INET, SOCK_RAW, IPPROTO_ICMP},
                    {"raw6", AF_INET6, SOCK_RAW, IPPROTO_ICMP},
                    {"alg", AF_ALG, SOCK_SEQPACKET, 0},
                    {"vsock", AF_VSOCK, SOCK_STREAM, 0},
                    {"vsock dgram", AF_VSOCK, SOCK_DGRAM, 0},
                    {"key", AF_KEY, SOCK_RAW, 2},
                    {"bluetooth", AF_BLUETOOTH, SOCK_RAW, 1},
                    {"can", AF_CAN, SOCK_RAW, 1},
                    {"tipc", AF_TIPC, SOCK_RDM, 0},
                    {"rds", AF_RDS, SOCK_SEQPACKET, 0},
                    {"smc", AF_SMC, SOCK_STREAM, 0},
                    {"xdp", AF_XDP, SOCK_RAW, 0},
                    {"qipcrtr", AF_QIPCRTR, SOCK_DGRAM, 0}};
    for (size_t i = 0; i < sizeof kSockets / sizeof *kSockets; ++i)
        breach(kSockets[i].name,
               socket(kSockets[i].family, kSockets[i].type, kSockets[i].protocol));
}

static void netlink(void) {
    static const struct {
        const char* name;
        int protocol;
    } kFamilies[] = {{"route", NETLINK_ROUTE},
                     {"audit", NETLINK_AUDIT},
                     {"netfilter", NETLINK_NETFILTER},
                     {"sock_diag", NETLINK_SOCK_DIAG},
                     {"connector", NETLINK_CONNECTOR},
                     {"generic", NETLINK_GENERIC},
                     {"xfrm", NETLINK_XFRM}};
    for (size_t i = 0; i < sizeof kFamilies / sizeof *kFamilies; ++i)
        breach(kFamilies[i].name, socket(AF_NETLINK, SOCK_RAW, kFamilies[i].protocol));
}

/// Connects to services of the machine. A connection is already a breach, so nothing is sent.
static void system_services(void) {
    static const char* const kStreams[] = {"/run/systemd/journal/stdout",
                                           "/run/systemd/private",
                                           "/run/dbus/system_bus_socket",
                                           "/run/gpuprobe/worker.sock",
                                           "/run/docker.sock",
                                           "/run/udev/control",
                                           "/tmp/.X11-unix/X0",
                                           "@/tmp/.X11-unix/X0",
                                           "/run/systemd/userdb/io.systemd.DynamicUser"};
    static const char* const kDatagrams[] = {"/run/systemd/journal/socket",
                                             "/run/systemd/journal/dev-log", "/dev/log",
                                             "/run/systemd/notify"};
    for (size_t i = 0; i < sizeof kStreams / sizeof *kStreams; ++i)
        breach(kStreams[i], unix_connected(SOCK_STREAM, kStreams[i]));
    for (size_t i = 0; i < sizeof kDatagrams / sizeof *kDatagrams; ++i)
        breach(kDatagrams[i], unix_connected(SOCK_DGRAM, kDatagrams[i]));
}

static void notify_readiness(void) {
    struct sockaddr_un address;
    static const char kText[] = "STOPPING=1\nSTATUS=forged";
    const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t size = unix_address(&address, victim("notify"));
    see("notify", sendto(sender, kText, sizeof kText, 0, (struct sockaddr*)&address, size));
}

static void set_override(void) {
    char bus[1200];
    if (!victim("bus")[0])
        return;
    (void)snprintf(bus, sizeof bus, "--address=%s", victim("bus"));
    const char* const override[] = {"busctl",
                                    bus,
                                    "--timeout=1",
                                    "call",
                                    "org.gpuprobe.GpuProbe1",
                                    "/org/gpuprobe/GpuProbe1",
                                    "org.gpuprobe.GpuProbe1.Manager",
                                    "SetOverride",
                                    "sa{sv}",
                                    "forged",
                                    "1",
                                    "backend",
                                    "s",
                                    "none",
                                    NULL};
    see("override", run_program(override));
    const char* const clear[] = {"busctl",
                                 bus,
                                 "--timeout=1",
                                 "call",
                                 "org.gpuprobe.GpuProbe1",
                                 "/org/gpuprobe/GpuProbe1",
                                 "org.gpuprobe.GpuProbe1.Manager",
                                 "ClearQuarantine",
                                 "a{sv}",
                                 "1",
                                 "all",
                                 "b",
                                 "true",
                                 NULL};
    see("clear", run_program(clear));
    breach("connect", unix_connected(SOCK_STREAM, victim("bus") + strlen("unix:path=")));
}

static void start_by_bus(void) {
    char bus[1200];
    if (!victim("bus")[0])
        return;
    (void)snprintf(bus, sizeof bus, "--bus=%s", victim("bus"));
    const char* const start[] = {"dbus-send",
                                 bus,
                                 "--print-reply",
                                 "--reply-timeout=300",
                                 "--dest=org.freedesktop.DBus",
                                 "/org/freedesktop/DBus",
                                 "org.freedesktop.DBus.StartServiceByName",
                                 "string:org.gpuprobe.EscapeCanary",
                                 "uint32:0",
                                 NULL};
    see("start", run_program(start));
    const char* const level[] = {"dbus-send",
                                 bus,
                                 "--print-reply",
                                 "--reply-timeout=300",
                                 "--dest=org.gpuprobe.GpuProbe1",
                                 "/org/freedesktop/LogControl1",
                                 "org.freedesktop.DBus.Properties.Set",
                                 "string:org.freedesktop.LogControl1",
                                 "string:LogLevel",
                                 "variant:string:emerg",
                                 NULL};
    see("log level", run_program(level));
}

/// Attaches programs to sockets, which the kernel would run for each message.
static void socket_programs(void) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, 0xffff)};
    const struct sock_fprog program = {.len = 1, .filter = all};
    int ends[2] = {-1, -1};
    (void)socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends);
    breach("filter", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
    breach("choice",
           setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program));
    const int none = -1;
    const int result = setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_BPF, &none, sizeof none);
    breach("bpf", result < 0 && errno == EBADF ? 0 : result);
}

/// Sends descriptors that are not received. They are counted per user, and stay open after the
/// sender has ended.
static void descriptors_in_flight(void) {
    char room[CMSG_SPACE(sizeof(int))] = {0};
    char text[] = "x";
    struct iovec part = {.iov_base = text, .iov_len = 1};
    int ends[2] = {-1, -1};
    (void)socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &ends[1], sizeof(int));
    breach("sendmsg", sendmsg(ends[0], &message, 0));
    struct mmsghdr many = {.msg_hdr = message};
    breach("sendmmsg", sendmmsg(ends[0], &many, 1, 0));
}

static void netlink_events(void) {
    static const struct {
        const char* name;
        int protocol;
    } kFamilies[] = {{"uevent", NETLINK_KOBJECT_UEVENT},
                     {"selinux", NETLINK_SELINUX},
                     {"rdma", NETLINK_RDMA},
                     {"crypto", NETLINK_CRYPTO},
                     {"scsi", NETLINK_SCSITRANSPORT},
                     {"iscsi", NETLINK_ISCSI}};
    for (size_t i = 0; i < sizeof kFamilies / sizeof *kFamilies; ++i)
        for (int type = SOCK_DGRAM; type <= SOCK_RAW; ++type)
            breach(kFamilies[i].name,
                   socket(AF_NETLINK, type | SOCK_CLOEXEC, kFamilies[i].protocol));
}

/// Creates a pipe for kernel notifications about keys and about the mounts of other processes:
/// watch_queue.
static void notification_pipe(void) {
    int ends[2] = {-1, -1};
    const int made = pipe2(ends, O_EXCL);
    see("pipe", made);
    breach("size", made == 0 ? ioctl(ends[0], _IO('W', 0x60), 8) : -1);
}

// ------------------------------------------------------------------------------------------------
// Descriptors.

/// Whether this is the folder of the worker's own threads, which the worker keeps open for a rule
/// of its sandbox (backends/sandbox.cpp). The worker also has its input, its output and the pipe
/// for frames open, and its libraries may have opened files for reading.
static int is_of_own_threads(const struct stat* info) {
    struct stat own;
    return stat("/proc/self/task", &own) == 0 && own.st_ino == info->st_ino &&
           own.st_dev == info->st_dev;
}

static void guess_descriptors(void) {
    for (int fd = 0; fd < 70000; ++fd) {
        struct stat info;
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fstat(fd, &info) != 0)
            continue;
        if (S_ISSOCK(info.st_mode))
            breach("socket", fd);
        if (S_ISDIR(info.st_mode) && !is_of_own_threads(&info) && fchdir(fd) == 0)
            breach("folder", fd);
        if (fd > 3 && S_ISFIFO(info.st_mode) && (flags & O_ACCMODE) != O_WRONLY)
            breach("pipe", fd);
        if (S_ISREG(info.st_mode) && (flags & O_ACCMODE) != O_RDONLY)
            breach("file", fd);
        (void)!chdir("/");
    }
}

static void close_descriptors(void) {
    see("close", (long)syscall(SYS_close_range, 0U, ~0U, 0U));
}

static void put_frame(int fd, unsigned type, const char* text) {
    const unsigned head[2] = {(unsigned)strlen(text), type};
    (void)!write(fd, head, sizeof head);
    (void)!write(fd, text, strlen(text));
}

/// Writes complete frames like a worker of another API. tests/fakes/fault.h describes the header.
static void forge_frames(void) {
    for (int fd = 3; fd < 70000; ++fd) {
        struct stat info;
        if (fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode))
            continue;
        put_frame(fd, 1, "{\"name\":\"forged\"}");
        for (unsigned type = 2; type < 8; ++type)
            put_frame(
                fd, type,
                "{\"api\":\"opencl\",\"outcome\":\"absent\",\"driver\":\"\",\"stage\":\"query\"}");
    }
}

enum { kMostPipes = 4000 };

static void exhaust_descriptors(void) {
    static int pipes[kMostPipes][2];
    struct rlimit most = {0};
    int count = 0;
    (void)getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    see("limit", setrlimit(RLIMIT_NOFILE, &most));
    for (; count < kMostPipes && pipe2(pipes[count], O_CLOEXEC) == 0; ++count)
        (void)fcntl(pipes[count][0], F_SETPIPE_SZ, 1 << 20);
    see("pipes", count);
    pause_ms(200);
    while (count-- > 0)
        for (int end = 0; end < 2; ++end)
            close(pipes[count][end]);
}

/// Changes the settings of the output instead of writing text.
static void output_as_control(void) {
    const int empty = 0;
    see("nonblock", fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK));
    see("pipe size", fcntl(STDERR_FILENO, F_SETPIPE_SZ, 4096));
    see("nonblock ioctl", ioctl(STDOUT_FILENO, FIONBIO, &empty));
    for (int fd = 3; fd < 70000; ++fd)
        if (fcntl(fd, F_SETPIPE_SZ, 4096) > 0)
            see("frames' size", fcntl(fd, F_SETFL, O_NONBLOCK));
    see("truncate", ftruncate(STDERR_FILENO, 0));
}

const struct attack kSocketAttacks[] = {
    {"unix-abstract", unix_abstract},
    {"unix-pathname", unix_pathname},
    {"pass-descriptor", pass_descriptor},
    {"tcp-connect", tcp_connect},
    {"udp-send", udp_send},
    {"ip-listen", ip_listen},
    {"families", families},
    {"netlink", netlink},
    {"system-services", system_services},
    {"notify-readiness", notify_readiness},
    {"set-override", set_override},
    {"start-by-bus", start_by_bus},
    {"socket-programs", socket_programs},
    {"descriptors-in-flight", descriptors_in_flight},
    {"netlink-events", netlink_events},
    {"notification-pipe", notification_pipe},
    {"guess-descriptors", guess_descriptors},
    {"close-descriptors", close_descriptors},
    {"forge-frames", forge_frames},
    {"exhaust-descriptors", exhaust_descriptors},
    {"output-as-control", output_as_control},
    {0},
};
