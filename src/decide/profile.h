// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
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

/// Variable → template. Applies whole or not at all: when every fact that its templates name is
/// known (decide/selector_facts.h) and no earlier rule has set one of its variables.
using EnvironmentRule = std::map<std::string, std::string>;

/// The key of `Profile::vendors` for every vendor that has none of its own.
constexpr std::string_view kAnyVendor = "*";

/// One consumer's policy as data: data/profiles/<name>.json, schema
/// data/schema/profile.schema.json, meaning docs/profiles.md.
struct Profile {
    int schema = 1;
    std::string name = {};
    std::string description = {};
    std::vector<std::string> backends = {};  ///< in order of preference; cpu, if any, is last
    /// Vendor → backends it may use, in order for one GPU; empty: every vendor, every backend.
    std::map<std::string, std::vector<std::string>> vendors = {};
    CpuPolicy cpu = CpuPolicy::Last;
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    bool strict = false;
    std::map<std::string, std::string> translate = {};  ///< our backend name → the consumer's
    std::map<std::string, std::vector<EnvironmentRule>> environment = {};  ///< by our backend name
    bool operator==(const Profile&) const = default;
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

constexpr Bytes kMaxProfileText = kib(64);

/// A profile from its JSON. Errors: TooLarge; Malformed with the member at fault, for a member,
/// backend or fact that is not known, for a limit of docs/profiles.md, and for a contradiction.
Result<Profile> parse_profile(std::string_view json);

}  // namespace gpuprobe
