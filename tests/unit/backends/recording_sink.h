// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/backend.h"
#include "report/fact_table.h"

namespace gpuprobe::backends {

/// Stores the facts that a backend reports, and expects that report/fact_table.h declares each of
/// them.
class RecordingSink final : public Sink {
public:
    void phase(std::string_view name) override { phases.emplace_back(name); }
    void runtime(const Value& facts) override {
        EXPECT_EQ(undeclared_runtime_fact(facts), std::nullopt);
        if (const auto* members = facts.as_object())
            for (const auto& member : *members)
                runtime_facts[member.key] = member.value;
    }
    void device(const DeviceFacts& facts) override {
        EXPECT_EQ(undeclared_device_fact(value_of(facts)), std::nullopt);
        devices.push_back(facts);
    }

    std::vector<std::string> phases = {};
    Value runtime_facts = Value{Value::Object{}};
    std::vector<DeviceFacts> devices = {};
};

}  // namespace gpuprobe::backends
