// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "cli/context.h"

namespace gpuprobe::inline cli {

/// A form in which another tool takes one answer, as variables or as arguments.
struct ToolForm {
    std::string_view name = {};
    std::string_view summary = {};
};
std::span<const ToolForm> tool_forms();

/// Prints the form that the arguments name. Errors: NoMatch, InvalidRequest; those of the client.
Result<ExitCode> export_to_tool(Context& context);

}  // namespace gpuprobe::inline cli
