// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <sys/types.h>

#include "base/files.h"
#include "probe/launcher.h"

/// The driver-free parent of a worker that systemd starts. It loads no driver, so that a crash hits
/// its child alone and can be reported as an answer.
namespace gpuprobe::inline probe {

/// Serves one connection (worker_message.h): takes its target, starts the worker with `launcher`,
/// tells its start and its end, and returns. The worker is killed, with its process group, when the
/// other side ends its half of the connection; a worker that is stuck in the kernel then is waited
/// for, until systemd's limit for the unit.
///
/// Errors: NotAuthorized for another user than `peer` and root; Malformed for what is no request;
/// Unavailable when the other side has gone before it asked.
Status serve_worker(const UniqueFd& connection, SpawnLauncher& launcher, uid_t peer);

/// `gpuprobe-worker --socket`, with the options after it: one connection, which systemd hands over
/// as descriptor 3 (sd_listen_fds(3)).
///
/// `--peer USER`: who may ask besides root; ourselves without it. `--setenv NAME=VALUE`,
/// repeatable: what drivers in unusual places need, such as LD_LIBRARY_PATH. Errors: InvalidRequest
/// for its options and without a connection, and those of serve_worker.
Status serve_socket(std::span<char*> options);

}  // namespace gpuprobe::inline probe
