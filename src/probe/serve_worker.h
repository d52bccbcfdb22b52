// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <sys/types.h>

#include "base/files.h"
#include "probe/launcher.h"

/// The parent process of a worker that systemd starts. It does not load a driver, so a driver's
/// crash ends only its child and can be reported as a result.
namespace gpuprobe::inline probe {

/// Serves one connection (worker_message.h): receives the target, starts the worker with
/// `launcher`, reports its start and its end, and returns. If the client shuts down its half of the
/// connection, the worker and its process group are killed. If that worker is stuck in the kernel,
/// this function waits for it until systemd's limit for the unit ends this process.
///
/// Errors: NotAuthorized unless the client is `peer` or root; Malformed for an invalid request;
/// Unavailable if the client leaves before it sends a request.
Status serve_worker(const UniqueFd& connection, SpawnLauncher& launcher, uid_t peer);

/// Implements `gpuprobe-worker --socket`: serves one connection, which systemd passes as
/// descriptor 3 (sd_listen_fds(3)). `options`: the arguments after --socket.
///
/// `--peer USER`: the user who may connect besides root; default: this process's user.
/// `--setenv NAME=VALUE`, repeatable: variables for drivers in unusual places, such as
/// LD_LIBRARY_PATH. Errors: InvalidRequest for invalid options or without a connection; the same as
/// serve_worker().
Status serve_socket(std::span<char*> options);

}  // namespace gpuprobe::inline probe
