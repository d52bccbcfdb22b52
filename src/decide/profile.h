// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"

namespace gpuprobe {

enum class CpuPolicy { Last, Forbid };
constexpr std::array<EnumName<CpuPolicy>, 2> names_of(CpuPolicy) {
    return {{{CpuPolicy::Last, "last"}, {CpuPolicy::Forbid, "forbid"}}};
}

enum class IntegratedPolicy { Fallback, Always, Never };
constexpr std::array<EnumName<IntegratedPolicy>, 3> names_of(IntegratedPolicy) {
    return {{{IntegratedPolicy::Fallback, "fallback"},
             {IntegratedPolicy::Always, "always"},
             {IntegratedPolicy::Never, "never"}}};
}

/// One consumer's policy as data: data/profiles/<name>.json, schema
/// data/schema/profile.schema.json.
struct Profile {
    int schema = 1;
    std::string name = {};
    std::string description = {};
    std::vector<std::string> backends = {};  ///< in order of preference
    std::map<std::string, std::vector<std::string>> vendors =
        {};  ///< vendor → backends it may use, in order
    CpuPolicy cpu = CpuPolicy::Last;
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    bool strict = false;
    std::map<std::string, std::string> translate = {};  ///< our backend name → the consumer's
    /// Backend → variable → template with {uuids}, {vulkan_indices}, {pci} … (docs/profiles.md).
    std::map<std::string, std::map<std::string, std::string>> environment = {};
};
template <class Visitor>
void describe(Visitor& visit, Profile& profile) {
    visit("schema", profile.schema);
    visit("name", profile.name);
    visit("description", profile.description);
    visit("backends", profile.backends);
    visit("vendors", profile.vendors);
    visit("cpu", profile.cpu);
    visit("integrated", profile.integrated);
    visit("strict", profile.strict);
    visit("translate", profile.translate);
    visit("environment", profile.environment);
}

/// Errors: TooLarge, Malformed with the member at fault; an unknown member is an error.
Result<Profile> parse_profile(std::string_view json);

}  // namespace gpuprobe
