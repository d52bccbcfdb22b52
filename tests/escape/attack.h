// SPDX-License-Identifier: Apache-2.0
/// What the attacks share. Each attack is one function without arguments; it tries to reach beyond
/// its worker and then returns, so that the driver gives a normal refusal.
#ifndef GPUPROBE_ESCAPE_ATTACK_H
#define GPUPROBE_ESCAPE_ATTACK_H

#include <stddef.h>
#include <sys/types.h>

struct attack {
    const char* name;
    void (*run)(void);
};

/// Each ends with a row of zeros.
extern const struct attack kSignalAttacks[];
extern const struct attack kProcessAttacks[];
extern const struct attack kFileAttacks[];
extern const struct attack kHomeAttacks[];
extern const struct attack kSocketAttacks[];
extern const struct attack kKernelAttacks[];
extern const struct attack kDoorAttacks[];
extern const struct attack kExhaustAttacks[];
extern const struct attack kNewerAttacks[];
extern const struct attack kSecretAttacks[];

enum { kMostPids = 256 };

/// What the test wrote about its victims: one "key=value" per line. "" where there is none.
const char* victim(const char* key);
long victim_number(const char* key);

/// "<folder>/<mark><name>" in one of eight buffers that are used in turn. The test looks for names
/// that hold the mark.
const char* marked(const char* folder, const char* name);
/// "<folder>/<name>", in the same buffers.
const char* path_in(const char* folder, const char* name);

/// The folder that the worker was given.
const char* own_home(void);

/// The daemon's other children and grandchildren, as the test sees them now. Neither this process
/// nor its keeper is among them.
int peers(pid_t* pids);
/// The daemon, the canary, and the peers: all started by the test.
int all_victims(pid_t* pids);

/// Keeps what a call returned, for whoever reads the driver's error. The test does not judge by it.
void see(const char* what, long result);
/// The same where the success cannot be seen from outside the worker: the test believes it.
void breach(const char* what, long result);

/// Starts a process that nobody waits for, in a session of its own; it ends after a minute.
void leave_process(void);
void pause_ms(long milliseconds);
/// Milliseconds of the monotonic clock.
long now_ms(void);
/// A file with this text: 0, or -1 with errno. Opened with O_WRONLY and `flags`.
int write_text(const char* path, int flags, const char* text);
/// Runs a program and waits for it: its exit status, or -1.
int run_program(const char* const* arguments);

#endif
