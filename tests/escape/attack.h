// SPDX-License-Identifier: Apache-2.0
/// Declares what the attacks share. Each attack is a function without arguments. It tries to affect
/// something outside its worker, and then returns, so that the driver reports a normal error.
#ifndef GPUPROBE_ESCAPE_ATTACK_H
#define GPUPROBE_ESCAPE_ATTACK_H

#include <stddef.h>
#include <sys/types.h>

struct attack {
    const char* name;
    void (*run)(void);
};

/// The last row of each table is all zeros.
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

/// The value of a key in the test's description of the victims ("key=value" lines), otherwise "".
const char* victim(const char* key);
long victim_number(const char* key);

/// "<folder>/<mark><name>". The next eight calls do not overwrite the result. The test looks for
/// names that contain the mark.
const char* marked(const char* folder, const char* name);
/// "<folder>/<name>". Uses the same buffers as marked().
const char* path_in(const char* folder, const char* name);

/// The home folder of the worker.
const char* own_home(void);

/// The daemon's current children and grandchildren, which the test lists in a file, without this
/// process and its parent.
int peers(pid_t* pids);
/// The daemon, the canary and the peers. The test started all of them.
int all_victims(pid_t* pids);

/// Adds the result of a call to the driver's error, for readers. The test ignores it.
void see(const char* what, long result);
/// Also adds a result, but the test treats success as a breach. For calls whose effect is visible
/// only in the worker.
void breach(const char* what, long result);

/// Starts a process in a new session that no process waits for. The process ends after a minute.
void leave_process(void);
void pause_ms(long milliseconds);
/// The time of the monotonic clock in milliseconds.
long now_ms(void);
/// Opens a file with O_WRONLY and `flags`, and writes the text: 0, or -1 with errno.
int write_text(const char* path, int flags, const char* text);
/// Runs a program and waits for its end: 0 if the program succeeded, otherwise -1.
int run_program(const char* const* arguments);

#endif
