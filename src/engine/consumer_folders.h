// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/consumer_set.h"
#include "report/outcome.h"

namespace gpuprobe::engine {

/// Where an administrator's documents of consumers are, and `more` behind them. Each folder may
/// have whole documents, profiles and manifests.
std::vector<std::string> consumer_folders(const std::vector<std::string>& more = {});

/// The consumers that are compiled in and those of each `*.json` in the folders, later ones over
/// earlier ones. A missing folder adds nothing. One note in `ignored`, if given, for each file that
/// could not be added.
ConsumerSet consumers_in(const std::vector<std::string>& folders,
                         std::vector<Reason>* ignored = nullptr);

}  // namespace gpuprobe::engine
