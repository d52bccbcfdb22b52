// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"

namespace gpuprobe::backends {

/// Keeps what a backend tells.
class RecordingSink final : public Sink {
public:
    void phase(std::string_view name) override { phases.emplace_back(name); }
    void runtime(const Value& facts) override {
        if (const auto* members = facts.as_object())
            for (const auto& member : *members)
                told[member.key] = member.value;
    }
    void device(const DeviceFacts& facts) override { devices.push_back(facts); }

    std::vector<std::string> phases = {};
    Value told = Value{Value::Object{}};
    std::vector<DeviceFacts> devices = {};
};

}  // namespace gpuprobe::backends
