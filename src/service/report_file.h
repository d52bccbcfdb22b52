// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "engine/engine.h"
#include "policy/rules.h"
#include "service/log.h"

namespace gpuprobe::inline service {

/// A file with the report in the form that all users may read (`gpuprobectl export json`). systemd
/// units that keep a fleet's files up to date wait for it, and systemd-report sends it. It is
/// written only after the drivers were probed, and only if something other than dates has changed.
class ReportFile {
public:
    ReportFile(std::string path, const engine::Engine& engine, Log& log);

    /// Call this when the report has changed. A failure to write is logged.
    void update();

private:
    std::string path_;
    const engine::Engine& engine_;
    Log& log_;
    Rules rules_ = {};
    std::string written_ = {};
};

/// An in-memory file with `content` that can no longer be changed, positioned at its start.
/// Sources: memfd_create(2); fcntl(2), F_ADD_SEALS. Errors: Io.
Result<UniqueFd> sealed_file(const char* name, std::string_view content);

}  // namespace gpuprobe::inline service
