// SPDX-License-Identifier: Apache-2.0
#include "engine/context.h"

#include <algorithm>

#include "engine/live_memory.h"
#include "inventory/linker_cache.h"
#include "store/probe_cache.h"

namespace gpuprobe {

bool ProbedMachine::offers(const ProbeTarget& target) const {
    return std::ranges::find(search.targets, target) != search.targets.end();
}

void ProbedMachine::scan(const TargetFolders& folders) {
    hardware =
        scan_machine(files(), *source.nodes, source.host ? *source.host : detect_host(files()));
    if (is_replay()) {
        for (const auto& probe : *source.recorded)
            results.put(probe);
        return;
    }
    search = find_targets(files(), folders);
    results.keep_only(search);
}

void ProbedMachine::refresh_power() {
    gpuprobe::refresh_power(files(), hardware);
}

std::string ProbedMachine::fingerprint() const {
    std::vector<std::string> watched{std::string{kLinkerCache}};
    for (const auto& target : search.targets)
        if (!target.driver.empty())
            watched.push_back(target.driver);
    return fingerprint_of(hardware, files(), watched);
}

}  // namespace gpuprobe
