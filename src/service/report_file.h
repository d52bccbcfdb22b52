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

/// A file with the report as everybody may read it (`gpuprobectl export json`). Units that keep a
/// fleet's files current wait for it, and systemd-report sends it. It is written when anything but
/// dates has changed, and only after the drivers were asked.
class ReportFile {
public:
    ReportFile(std::string path, const engine::Engine& engine, Log& log);

    void update();

private:
    std::string path_;
    const engine::Engine& engine_;
    Log& log_;
    Rules rules_ = {};
    std::string written_ = {};
};

/// A file in memory that holds `content` and can't be changed any more, positioned at its start.
/// Source: memfd_create(2), fcntl(2) F_ADD_SEALS. Errors: Io.
Result<UniqueFd> sealed_file(const char* name, std::string_view content);

}  // namespace gpuprobe::inline service
