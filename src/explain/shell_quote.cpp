// SPDX-License-Identifier: Apache-2.0
#include "explain/shell_quote.h"

namespace gpuprobe::inline explain {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kDigits = "0123456789";
/// What neither a shell nor systemd treats specially anywhere in a value ("~" is special after "="
/// and ":", so it is not here).
constexpr std::string_view kPunctuation = "%+,-./:=@";

bool is_one_of(char character, std::string_view set) {
    return set.find(character) != std::string_view::npos;
}

bool is_safe(std::string_view text) {
    for (const char character : text)
        if (!is_one_of(character, kLetters) && !is_one_of(character, kDigits) &&
            !is_one_of(character, kPunctuation))
            return false;
    return true;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
    if (is_safe(text))
        return std::string{text};
    std::string quoted = "'";
    for (const char character : text) {
        if (character == '\'')
            quoted += R"('"'"')";
        else
            quoted += character;
    }
    return quoted + "'";
}

}  // namespace gpuprobe::inline explain
