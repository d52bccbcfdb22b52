// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// Text templates with facts in braces: "{nvidia_uuids}", "{requested} is not available".
namespace gpuprobe::inline policy {

/// Returns the value of the named fact; nullopt if it is unknown.
using FactLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// The error in a template: an unpaired brace or a fact for which `exists` is false; nullopt if the
/// template is valid.
std::optional<std::string> template_problem(std::string_view text,
                                            const std::function<bool(std::string_view)>& exists);

/// The template with its facts filled in; nullopt if one of them is unknown.
std::optional<std::string> filled_template(std::string_view text, const FactLookup& fact);

}  // namespace gpuprobe::inline policy
