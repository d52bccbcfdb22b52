// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/engine.h"
#include "policy/rules.h"
#include "service/log.h"

namespace gpuprobe {

/// The report as everybody may read it (`gpuprobectl export json`), in a file: what units wait for
/// that keep a fleet's files current, and what systemd-report sends. Written when something other
/// than dates differs, and not before drivers were asked.
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

}  // namespace gpuprobe
