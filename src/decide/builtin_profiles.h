// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace gpuprobe {

struct BuiltinProfile {
    std::string_view name = {};
    std::string_view json = {};
};

/// The files of data/profiles as they were at build time, sorted by name (cmake/embed.cmake).
std::span<const BuiltinProfile> builtin_profiles();

/// The text of one of them; empty when there is none of that name.
std::string_view builtin_profile(std::string_view name);

}  // namespace gpuprobe
