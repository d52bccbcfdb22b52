// SPDX-License-Identifier: Apache-2.0
/// Files that no driver needs and that only their owner or root may read.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

/// Reads a file, or lists a folder. Success is a breach.
static void read_secret(const char* path) {
    char text[64];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        see(path, -1);
        return;
    }
    if (S_ISDIR(info.st_mode)) {
        DIR* folder = fdopendir(fd);
        breach(path, folder && readdir(folder) ? 0 : -1);
        if (folder)
            closedir(folder);
        return;
    }
    // For a device, opening it is enough to be able to use it.
    breach(path, S_ISREG(info.st_mode) ? (read(fd, text, sizeof text) > 0 ? 0 : -1) : 0);
    close(fd);
}

static void read_secrets_in(const char* const* patterns) {
    for (; *patterns; ++patterns) {
        glob_t found = {0};
        if (glob(*patterns, GLOB_NOCHECK, NULL, &found) != 0)
            continue;
        for (size_t i = 0; i < found.gl_pathc && i < 16; ++i)
            read_secret(found.gl_pathv[i]);
        globfree(&found);
    }
}

static void read_accounts(void) {
    static const char* const kPaths[] = {"/etc/shadow",
                                         "/etc/shadow-",
                                         "/etc/gshadow",
                                         "/etc/sudoers",
                                         "/etc/sudoers.d",
                                         "/etc/ssl/private",
                                         "/etc/ssh",
                                         "/etc/ssh/ssh_host_rsa_key",
                                         "/etc/machine-id",
                                         "/etc/hostname",
                                         "/etc/fstab",
                                         "/etc/crypttab",
                                         "/etc/NetworkManager/system-connections",
                                         "/etc/netplan",
                                         "/etc/wpa_supplicant",
                                         "/etc/cron.d",
                                         "/etc/nvidia/ClientConfigToken",
                                         "/run/host/etc/shadow",
                                         "/var/lib/dbus/machine-id",
                                         "/etc",
                                         NULL};
    read_secrets_in(kPaths);
}

static void read_homes(void) {
    static const char* const kPaths[] = {
        "/root",          "/root/.ssh",     "/root/.ssh/*",  "/root/.bashrc", "/root/.bash_history",
        "/root/.gnupg",   "/root/.config",  "/home",         "/home/*",       "/home/*/.bashrc",
        "/home/*/.ssh",   "/home/*/.ssh/*", "/var/roothome", "/var/home",     "/run/host/root",
        "/run/host/home", "/mnt",           "/media",        "/srv",          NULL};
    read_secrets_in(kPaths);
    read_secret(victim("secret_at_home"));
    read_secret(victim("secret_of_root"));
}

static void read_system(void) {
    static const char* const kPaths[] = {"/",
                                         "/boot",
                                         "/boot/*",
                                         "/var/log",
                                         "/var/log/*",
                                         "/var/spool",
                                         "/var/spool/cron",
                                         "/var/mail",
                                         "/var/lib",
                                         "/var/lib/dpkg/status",
                                         "/var/lib/private",
                                         "/var/lib/gpuprobe",
                                         "/var/cache/gpuprobe",
                                         "/var/cache",
                                         "/var/tmp",
                                         "/var/backups",
                                         "/sys/firmware/dmi/tables/DMI",
                                         "/sys/class/dmi/id/product_serial",
                                         "/sys/class/dmi/id/product_uuid",
                                         "/sys/firmware/acpi/tables/MSDM",
                                         "/sys/kernel/debug",
                                         "/sys/kernel/tracing",
                                         "/sys/fs/pstore",
                                         "/proc/kcore",
                                         "/proc/kmsg",
                                         NULL};
    read_secrets_in(kPaths);
    read_secret(victim("canary_in_tmp"));
}

static void read_run(void) {
    static const char* const kPaths[] = {
        "/run",      "/run/user",    "/run/user/*", "/run/systemd", "/run/credentials",
        "/run/utmp", "/run/secrets", "/tmp",        "/dev/shm",     "/dev/mqueue",
        NULL};
    read_secrets_in(kPaths);
}

static void read_devices(void) {
    static const char* const kPaths[] = {
        "/dev",        "/dev/mem",         "/dev/port",    "/dev/kmsg",    "/dev/vd*",
        "/dev/sd*",    "/dev/nvme*",       "/dev/loop*",   "/dev/dm-*",    "/dev/disk",
        "/dev/mapper", "/dev/input",       "/dev/input/*", "/dev/hidraw*", "/dev/video*",
        "/dev/snd",    "/dev/snd/*",       "/dev/uinput",  "/dev/vcs*",    "/dev/fb0",
        "/dev/tpm*",   "/dev/bus/usb/*/*", "/dev/net/tun", "/dev/kvm",     NULL};
    read_secrets_in(kPaths);
}

/// Reads the kernel's information about other processes. A PID namespace has its own process 1.
static void read_processes(void) {
    static const char* const kFiles[] = {"environ", "cmdline",         "cgroup", "status",
                                         "maps",    "root/etc/shadow", "cwd"};
    char path[64];
    pid_t pids[kMostPids];
    const int count = all_victims(pids);
    read_secret("/proc/1/environ");
    read_secret("/proc/1/root/etc/shadow");
    for (int i = 0; i < count && i < 4; ++i)
        for (size_t file = 0; file < sizeof kFiles / sizeof *kFiles; ++file) {
            (void)snprintf(path, sizeof path, "/proc/%d/%s", pids[i], kFiles[file]);
            read_secret(path);
        }
}

const struct attack kSecretAttacks[] = {
    {"read-accounts", read_accounts},
    {"read-homes", read_homes},
    {"read-system", read_system},
    {"read-run", read_run},
    {"read-devices", read_devices},
    {"read-processes", read_processes},
    {0},
};
