// SPDX-License-Identifier: Apache-2.0
#include "explain/shell_quote.h"

#include "base/text.h"

namespace gpuprobe::inline explain {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kDigits = "0123456789";
/// Characters that neither a shell nor systemd treats specially at any position in a value. "~" is
/// missing because it is special after "=" and ":".
constexpr std::string_view kPunctuation = "%+,-./:=@";

/// Characters that are easier to read in quotes, and harmless if the word is pasted into other
/// text.
constexpr std::string_view kQuotable = " !";

bool is_one_of(char character, std::string_view set) {
    return set.find(character) != std::string_view::npos;
}

bool is_safe(char character) {
    return is_one_of(character, kLetters) || is_one_of(character, kDigits) ||
           is_one_of(character, kPunctuation);
}

/// True if zsh would expand the "=" at that position to the path of a program.
bool is_expanded(std::string_view text, std::size_t at) {
    return text[at] == '=' && (at == 0 || text[at - 1] == ':');
}

bool is_safe_at(std::string_view text, std::size_t at) {
    return is_safe(text[at]) && !is_expanded(text, at);
}

bool is_safe(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at)
        if (!is_safe_at(text, at))
            return false;
    return true;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
    if (is_safe(text))
        return std::string{text};
    std::string quoted = "'";
    for (const char character : text) {
        // Leave the single quotes, write the character in double quotes, and enter single quotes
        // again.
        if (character == '\'')
            quoted += R"('"'"')";
        else if (character == '\\')
            quoted += R"('"\\"')";
        else
            quoted += character;
    }
    return quoted + "'";
}

std::optional<std::string> command_word(std::string_view text) {
    constexpr std::size_t kMaxWord = 4096;  // PATH_MAX
    if (text.empty() || text.front() == '-' || scrubbed(text, kMaxWord) != text)
        return std::nullopt;
    std::string word;
    bool may_be_quoted = true;
    for (std::size_t at = 0; at < text.size(); ++at) {
        // No shell treats the bytes of UTF-8 sequences specially.
        const bool is_ascii = static_cast<signed char>(text[at]) >= 0;
        if (is_ascii && !is_safe_at(text, at)) {
            may_be_quoted = may_be_quoted && is_one_of(text[at], kQuotable);
            word += '\\';
        }
        word += text[at];
    }
    const bool has_escapes = word.size() > text.size();
    return has_escapes && may_be_quoted ? shell_quoted(text) : word;
}

}  // namespace gpuprobe::inline explain
