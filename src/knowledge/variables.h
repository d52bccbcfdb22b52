// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// The environment variables that a data file may name. The list is code, because a data file that
/// could extend it could also set LD_PRELOAD. docs/knowledge.md, "What a data file can do".
namespace gpuprobe::knowledge {

/// Why a data file must not name this variable; nullopt if it may. Allowed are the variables by
/// which drivers and their loaders are told which GPUs to use, and variables of an application that
/// choose GPUs or backends: they begin with the application's name, and every other word in them is
/// about GPUs. `owner` is the name of the application that the file describes; empty: none.
std::optional<std::string> variable_problem(std::string_view name, std::string_view owner);

/// Why a data file must not give the variable this value, a template; nullopt if it may. Variables
/// that name files to load take only a value that gpuprobe finds on the machine: one fact and
/// nothing else, or the path that hides everything.
std::optional<std::string> value_problem(std::string_view name, std::string_view text);

}  // namespace gpuprobe::knowledge
