// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// Texts with placeholders in braces: "{requested} is not available". An unpaired brace is ordinary
/// text, and so are the braces around another placeholder.
///
/// A sentence also has optional parts. Text in "[" and "]" is left out if a placeholder in it is
/// unknown; "[A|B]" uses the first alternative whose placeholders are all known. Outside brackets,
/// an unknown placeholder is replaced by kNothingKnown. An optional part whose bracket is not
/// closed ends at the end of the sentence.

namespace gpuprobe::inline policy {

/// Returns the text for a placeholder, which is passed without its braces; nullopt if the text is
/// unknown.
using WordLookup = std::function<std::optional<std::string>(std::string_view placeholder)>;

/// The text for a placeholder whose value is unknown.
constexpr std::string_view kNothingKnown = "?";

/// The error in a template: an unpaired brace or a placeholder for which `exists` is false; nullopt
/// if the template is valid.
std::optional<std::string> template_problem(std::string_view text,
                                            const std::function<bool(std::string_view)>& exists);

/// The template, which has no optional parts, with all placeholders filled in; nullopt if a
/// placeholder's value is unknown, or if a brace is unpaired.
std::optional<std::string> filled_template(std::string_view text, const WordLookup& lookup);

/// The sentence with its placeholders and optional parts filled in.
std::string filled_sentence(std::string_view sentence, const WordLookup& lookup);

}  // namespace gpuprobe::inline policy
