// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include <fmt/format.h>

#include "base/parse.h"
#include "cli/verb.h"

namespace gpuprobe::inline cli {
namespace {

/// What Markdown would take for emphasis.
std::string plain(std::string_view text) {
    std::string escaped;
    for (const char character : text) {
        if (character == '*' || character == '_' || character == '\\' || character == '<')
            escaped += '\\';
        escaped += character == '\n' ? ' ' : character;
    }
    return escaped;
}

std::string option_names(const Option& option) {
    std::string text;
    for (const auto name : split(option.names, ','))
        text += fmt::format("{}**{}**", text.empty() ? "" : ", ", name);
    return option.value.name.empty() ? text : fmt::format("{}=*{}*", text, option.value.name);
}

std::string entries(const std::vector<Option>& options) {
    std::string text;
    for (const auto& option : options)
        text += fmt::format("{}\n: {}\n\n", option_names(option), plain(option.help));
    return text;
}

/// Examples are indented by two, and Markdown wants four.
std::string paragraphs(std::string_view about) {
    std::string text;
    for (const auto line : split(about, '\n'))
        text += (line.starts_with("  ") ? "  " + std::string{line} : plain(line)) + "\n";
    return text;
}

std::string section_on(const Verb& verb) {
    std::string text = fmt::format("## {}\n\n", verb.name);
    for (const auto usage : verb.usage)
        text += fmt::format("    gpuprobectl {}\n", usage);
    return text + paragraphs(verb.about) + "\n" + entries(verb.options);
}

}  // namespace

std::string manual() {
    std::string text = "# VERBS\n\n";
    for (const auto& verb : verbs())
        text += section_on(verb);
    text += "# OPTIONS\n\n";
    for (const auto& group : global_options())
        text += fmt::format("## {}\n\n", group.title) + entries(group.options);
    return text;
}

}  // namespace gpuprobe::inline cli
