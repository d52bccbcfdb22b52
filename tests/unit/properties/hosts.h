// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "knowledge/library.h"
#include "report/machine.h"

/// The places on which fixes depend: distributions, containers and appliances.
namespace gpuprobe::testing_properties {

struct Where {
    std::string name = {};
    Host host = {};
};

inline void add_inside(const Value& engines, const Host& host, std::vector<Where>& found) {
    for (const auto& engine : *engines.as_array()) {
        const auto& id = *engine.at("id").as_string();
        auto inside = host;
        const bool is_sandbox = id == "flatpak" || id == "snap" || id == "toolbox";
        const auto* container = engine.at("container").as_string();
        (is_sandbox ? inside.sandbox : inside.container) = container ? *container : id;
        if (const auto* kernel = engine.at("kernel").as_string())
            inside.kernel = "6.8.12-4" + *kernel;
        found.push_back({*host.os_release->id + " in " + id, inside});
    }
}

/// A kernel release that matches the pattern of an appliance.
inline std::string kernel_like(const std::string& pattern) {
    std::string release;
    for (const char character : pattern)
        release += character == '*' ? std::string{"6.8.12"} : std::string{character};
    return release;
}

/// Each distribution without a container, and two distributions in each kind of container.
inline std::vector<Where> all_places() {
    std::vector<Where> found;
    const auto document = [] {
        for (const auto& builtin : knowledge::builtin_knowledge())
            if (builtin.name == "distributions")
                return parse_json(builtin.json, mib(1)).value();
        return Value{};
    }();
    for (const auto& row : *document.at("distributions").as_array()) {
        Host host;
        const auto* version = row.at("version").as_string();
        host.os_release =
            record_from<OsRelease>(
                Value{Value::Object{{"id", row.at("id")},
                                    {"version_id", version ? row.at("version") : row.at("release")},
                                    {"variant_id", row.at("variant")}}})
                .value();
        if (const auto* kernel = row.at("kernel").as_string())
            host.kernel = kernel_like(*kernel);
        found.push_back(
            {*row.at("name").as_string() + (version ? " " + *version : std::string{}), host});
        if (row.at("version").is_null() &&
            (row.at("id") == Value{"debian"} || row.at("id") == Value{"alpine"}))
            add_inside(document.at("engines"), host, found);
    }
    found.push_back({"nowhere known", {}});
    return found;
}

}  // namespace gpuprobe::testing_properties
