// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// Texts with facts in braces: "{nvidia_uuids}", "{requested} is not available".
namespace gpuprobe::inline policy {

/// The fact of that name; nullopt when it is not known.
using FactLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// What is wrong with a template: a brace without its pair, or a fact that `exists` denies; nullopt
/// when nothing is.
std::optional<std::string> template_problem(std::string_view text,
                                            const std::function<bool(std::string_view)>& exists);

/// The template with its facts; nullopt when one of them is not known.
std::optional<std::string> filled_template(std::string_view text, const FactLookup& fact);

}  // namespace gpuprobe::inline policy
