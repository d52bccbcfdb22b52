// SPDX-License-Identifier: Apache-2.0
#include "policy/gfx.h"

#include <algorithm>

#include "base/text.h"

namespace gpuprobe::inline policy {
namespace {

// Maximum length of a processor name in bytes.
constexpr std::size_t kMaxProcessor = 16;

bool is_hex_or_wild(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == 'X';
}

/// "gfx11-generic": one code object for several processors.
bool is_generic(std::string_view processor) {
    constexpr std::string_view kEnd = "-generic";
    if (!processor.starts_with("gfx") || !processor.ends_with(kEnd))
        return false;
    const auto family = processor.substr(3, processor.size() - 3 - kEnd.size());
    return !family.empty() && family.find_first_not_of("0123456789-") == std::string_view::npos;
}

/// The processor in lower case, except for an X, which matches any digit.
std::optional<std::string> processor_from(std::string_view text) {
    if (is_generic(text) && text.size() <= kMaxProcessor)
        return std::string{text};
    if (text.size() < 6 || text.size() > kMaxProcessor || !text.starts_with("gfx"))
        return std::nullopt;
    std::string processor{text};
    for (auto& c : processor)
        if (c >= 'A' && c <= 'F')
            c = static_cast<char>(c - 'A' + 'a');
    const bool is_valid = std::all_of(processor.begin() + 3, processor.end(), is_hex_or_wild);
    return is_valid ? std::optional{processor} : std::nullopt;
}

/// Whether the processor matches the family digit by digit, where X matches any digit.
bool is_in_family(std::string_view family, std::string_view processor) {
    return family.size() == processor.size() &&
           std::ranges::equal(family, processor, [](char wild, char digit) {
               return wild == digit || (wild == 'X' && digit != 'X');
           });
}

/// Whether the target's processor, family or generic processor includes `processor`.
bool names(const GfxTarget& target, const std::string& processor, const GfxFamilies& families) {
    if (target.processor == processor)
        return true;
    // Only families and generic processors can match other names.
    if (target.processor.find('X') == std::string::npos && !is_generic(target.processor))
        return false;
    const auto listed = families.find(target.processor);
    return listed == families.end()
               ? is_in_family(target.processor, processor)
               : std::ranges::find(listed->second, processor) != listed->second.end();
}

}  // namespace

std::optional<GfxTarget> parse_text(std::string_view text, std::type_identity<GfxTarget>) {
    const auto pieces = split(text, ':');
    auto processor = processor_from(pieces.front());
    if (!processor)
        return std::nullopt;
    GfxTarget target{.processor = std::move(*processor)};
    // The remaining pieces are features with a sign.
    for (std::size_t i = 1; i < pieces.size(); ++i) {
        const auto piece = pieces[i];
        if (piece != "xnack+" && piece != "xnack-" && piece != "sramecc+" && piece != "sramecc-")
            return std::nullopt;
        const bool is_new =
            target.features.emplace(piece.substr(0, piece.size() - 1), piece.back() == '+').second;
        if (!is_new)
            return std::nullopt;
    }
    return target;
}

std::string text_of(const GfxTarget& target) {
    auto text = target.processor;
    for (const auto& [feature, is_on] : target.features)
        text += ":" + feature + (is_on ? "+" : "-");
    return text;
}

Truth runs_on(const GfxTarget& target, const GfxTarget& device, const GfxFamilies& families) {
    if (!names(target, device.processor, families))
        return Truth::False;
    auto result = Truth::True;
    // Code that does not mention a feature runs with either setting.
    for (const auto& [feature, is_on] : target.features) {
        const auto found = device.features.find(feature);
        result = both(result, found == device.features.end() ? Truth::Unknown
                                                             : truth_of(found->second == is_on));
    }
    return result;
}

}  // namespace gpuprobe::inline policy
