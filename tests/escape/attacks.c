// SPDX-License-Identifier: Apache-2.0
/// A libcuda.so.1 that attacks the system when it is loaded. The name of its folder selects the
/// attack, which runs in the library's constructor. Afterwards, cuInit fails, and the name of the
/// error contains the observations of the attack.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

#ifndef VICTIMS
#error "VICTIMS is the path of the file in which the test describes its victims"
#endif

static char description[8192];
static char told[2048];
static char breached[1024];
static char answer[4096];

/// Appends an item, unless the text already contains it.
static void add(char* text, size_t size, const char* what, int problem) {
    char item[256];
    const size_t used = strlen(text);
    if (problem)
        (void)snprintf(item, sizeof item, " %s(%s)", what, strerrorname_np(problem));
    else
        (void)snprintf(item, sizeof item, " %s,", what);
    if (!strstr(text, item))
        (void)snprintf(text + used, size - used, "%s", item);
}

void see(const char* what, long result) {
    const int problem = errno;
    add(told, sizeof told, what, result < 0 ? problem : 0);
    (void)fprintf(stderr, "%s: %s\n", what, result < 0 ? strerror(problem) : "ok");
}

void breach(const char* what, long result) {
    const int problem = errno;
    if (result >= 0)
        add(breached, sizeof breached, what, 0);
    errno = problem;
    see(what, result);
}

long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void pause_ms(long milliseconds) {
    const struct timespec time = {.tv_sec = milliseconds / 1000,
                                  .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static int read_text(const char* path, char* text, size_t size) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const ssize_t count = read(fd, text, size - 1);
    close(fd);
    text[count > 0 ? count : 0] = '\0';
    return count > 0 ? 0 : -1;
}

int write_text(const char* path, int flags, const char* text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
    if (fd < 0)
        return -1;
    const ssize_t count = write(fd, text, strlen(text));
    const int problem = errno;
    close(fd);
    errno = problem;
    return count == (ssize_t)strlen(text) ? 0 : -1;
}

extern char** environ;

int run_program(const char* const* arguments) {
    pid_t child = 0;
    int status = 0;
    errno = posix_spawnp(&child, arguments[0], NULL, NULL, (char* const*)arguments, environ);
    if (errno != 0 || waitpid(child, &status, 0) != child)
        return -1;
    errno = EACCES;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

const char* victim(const char* key) {
    static char values[8][1024];
    static unsigned turn;
    const size_t length = strlen(key);
    for (const char* line = description; *line; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, key, length) != 0 || line[length] != '=')
            continue;
        const char* value = line + length + 1;
        char* copy = values[turn++ % 8];
        (void)snprintf(copy, sizeof values[0], "%.*s", (int)strcspn(value, "\n"), value);
        return copy;
    }
    return "";
}

long victim_number(const char* key) {
    return strtol(victim(key), NULL, 0);
}

static const char* joined(const char* folder, const char* mark, const char* name) {
    static char paths[8][4096];
    static unsigned turn;
    char* path = paths[turn++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s%s", folder, mark, name);
    return path;
}

const char* marked(const char* folder, const char* name) {
    return joined(folder, victim("mark"), name);
}

const char* path_in(const char* folder, const char* name) {
    return joined(folder, "", name);
}

const char* own_home(void) {
    const char* home = getenv("HOME");
    return home ? home : "/nonexistent";
}

int peers(pid_t* pids) {
    char text[8192];
    int count = 0;
    if (read_text(VICTIMS ".peers", text, sizeof text) != 0)
        return 0;
    for (char* word = strtok(text, " \n"); word && count < kMostPids - 2;
         word = strtok(NULL, " \n")) {
        const pid_t pid = (pid_t)strtol(word, NULL, 10);
        if (pid > 1 && pid != getpid() && pid != getppid())
            pids[count++] = pid;
    }
    return count;
}

int all_victims(pid_t* pids) {
    pids[0] = (pid_t)victim_number("daemon");
    pids[1] = (pid_t)victim_number("canary");
    return 2 + peers(pids + 2);
}

/// Waits until the test has described the victims of this attack.
static int learn_victims(const char* name) {
    for (const long late = now_ms() + 2000; now_ms() < late; pause_ms(5))
        if (read_text(VICTIMS, description, sizeof description) == 0 &&
            strcmp(victim("attack"), name) == 0 && victim_number("daemon") > 1 &&
            victim_number("canary") > 1)
            return 0;
    return -1;
}

static const struct attack* const kTables[] = {
    kSignalAttacks, kProcessAttacks, kFileAttacks,    kHomeAttacks,  kSocketAttacks,
    kKernelAttacks, kDoorAttacks,    kExhaustAttacks, kNewerAttacks, kSecretAttacks};

/// The name of an attack by its number; NULL after the last. The test compares these names with its
/// own table.
const char* attack_name(unsigned index) {
    for (size_t table = 0; table < sizeof kTables / sizeof *kTables; ++table)
        for (const struct attack* row = kTables[table]; row->name; ++row)
            if (index-- == 0)
                return row->name;
    return NULL;
}

static const struct attack* attack_named(const char* name) {
    for (size_t table = 0; table < sizeof kTables / sizeof *kTables; ++table)
        for (const struct attack* row = kTables[table]; row->name; ++row)
            if (strcmp(row->name, name) == 0)
                return row;
    return NULL;
}

/// The last folder in the resolved path of the loaded library.
static void name_of_folder(char* name, size_t size) {
    Dl_info self;
    char path[4096];
    if (!dladdr((void*)name_of_folder, &self) || !self.dli_fname)
        return;
    if (!realpath(self.dli_fname, path))
        return;
    char* slash = strrchr(path, '/');
    if (!slash)
        return;
    *slash = '\0';
    slash = strrchr(path, '/');
    (void)snprintf(name, size, "%s", slash ? slash + 1 : path);
}

/// Whether a worker of another API has loaded this library. If so, an earlier attack has planted
/// the library there.
static int is_planted(void) {
    char line[4096] = "";
    if (read_text("/proc/self/cmdline", line, sizeof line) != 0)
        return 0;
    return strstr(line, "gpuprobe-worker") && strcmp(line + strlen(line) + 1, "cuda") != 0;
}

__attribute__((constructor)) static void on_load(void) {
    char name[256] = "";
    if (is_planted())
        abort();
    name_of_folder(name, sizeof name);
    const struct attack* attack = attack_named(name);
    if (!attack || getenv("ESCAPE_AUDITED") || learn_victims(name) != 0)
        return;
    attack->run();
    (void)snprintf(answer, sizeof answer, "attack=%s; breach:%s; told:%s", name, breached, told);
}

// The functions that a libcuda.so.1 must have.

int cuInit(unsigned flags) {
    (void)flags;
    return 999;
}
int cuGetErrorName(int code, const char** name) {
    (void)code;
    *name = answer[0] ? answer : "no attack";
    return 0;
}
int cuGetErrorString(int code, const char** text) {
    return cuGetErrorName(code, text);
}
#define REFUSES(function) \
    int function(void) {  \
        return 1;         \
    }
REFUSES(cuDriverGetVersion)
REFUSES(cuDeviceGetCount)
REFUSES(cuDeviceGet)
REFUSES(cuDeviceGetName)
REFUSES(cuDeviceGetUuid_v2)
REFUSES(cuDeviceTotalMem_v2)
REFUSES(cuDeviceGetAttribute)
REFUSES(cuDeviceGetPCIBusId)
