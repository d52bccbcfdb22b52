// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// The environment variables that a data file may set. The list is in the code on purpose: a data
/// file that could extend it could also set LD_PRELOAD. docs/knowledge.md, "What a data file can
/// do".
namespace gpuprobe::knowledge {

/// Returns why a data file must not set this variable, or nullopt if it may. Two groups are
/// allowed. First, variables with which drivers and their loaders are restricted to certain GPUs.
/// Second, variables of an application that choose GPUs or backends: they begin with the
/// application's name, and all other words in the name are about GPUs. `owner` is the name of the
/// application that the data file describes, or empty.
std::optional<std::string> variable_problem(std::string_view name, std::string_view owner);

/// Returns why a data file must not give the variable this value (a template), or nullopt if it
/// may. Variables that name files to load only accept values that gpuprobe itself finds on the
/// machine: exactly one fact, or the path that hides everything.
std::optional<std::string> value_problem(std::string_view name, std::string_view text);

}  // namespace gpuprobe::knowledge
