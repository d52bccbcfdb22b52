// SPDX-License-Identifier: Apache-2.0
#include "explain/wording.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

#include "base/parse.h"
#include "base/value_json.h"
#include "explain/gpu_words.h"
#include "explain/rates.h"
#include "explain/sizes.h"
#include "explain/wording_table.h"
#include "report/health.h"

namespace gpuprobe {
namespace {

struct SignalName {
    int number;
    std::string_view name;
};
constexpr std::array<SignalName, 13> kSignals = {{{SIGABRT, "SIGABRT"},
                                                  {SIGALRM, "SIGALRM"},
                                                  {SIGBUS, "SIGBUS"},
                                                  {SIGFPE, "SIGFPE"},
                                                  {SIGHUP, "SIGHUP"},
                                                  {SIGILL, "SIGILL"},
                                                  {SIGINT, "SIGINT"},
                                                  {SIGKILL, "SIGKILL"},
                                                  {SIGPIPE, "SIGPIPE"},
                                                  {SIGSEGV, "SIGSEGV"},
                                                  {SIGSYS, "SIGSYS"},
                                                  {SIGTERM, "SIGTERM"},
                                                  {SIGXCPU, "SIGXCPU"}}};

std::string plain(const Value& value) {
    if (const auto* text = value.as_string())
        return scrubbed(*text);
    const auto* items = value.as_array();
    if (!items)
        return json_line(value);
    std::string joined;
    for (const auto& item : *items)
        joined += (joined.empty() ? "" : ", ") + plain(item);
    return joined;
}

/// The member in words, or nullopt when it is unknown.
std::optional<std::string> member_text(const Value& detail, std::string_view placeholder) {
    const auto colon = std::min(placeholder.find(':'), placeholder.size());
    const auto& member = detail.at(placeholder.substr(0, colon));
    const auto format = placeholder.substr(std::min(colon + 1, placeholder.size()));
    if (member.is_null())
        return std::nullopt;
    if (format == "join" && (!member.as_string() || !is_for_joining(*member.as_string())))
        return std::nullopt;
    if (const auto bytes = member.as_unsigned(); bytes && format == "size")
        return size_text(Bytes{*bytes});
    if (const auto rate = member.as_double(); rate && format == "rate")
        return rate_text(*rate);
    if (const auto number = member.as_int(); number && format == "signal")
        return signal_name(static_cast<int>(*number));
    if (const auto number = member.as_int(); number && format == "time")
        return time_text(WallTime{Duration{*number}});
    if (const auto* word = member.as_string(); word && format == "vendor")
        return vendor_title(scrubbed(*word));
    return plain(member);
}

struct Piece {
    std::string text = {};
    bool is_complete = true;
};

/// A pattern without brackets, filled.
Piece filled_piece(std::string_view pattern, const Value& detail) {
    Piece piece;
    while (!pattern.empty()) {
        const auto open = std::min(pattern.find('{'), pattern.size());
        piece.text += pattern.substr(0, open);
        pattern.remove_prefix(open);
        if (pattern.empty())
            break;
        const auto close = std::min(pattern.find('}'), pattern.size() - 1);
        const auto member = member_text(detail, pattern.substr(1, close - 1));
        piece.text += member.value_or("?");
        piece.is_complete = piece.is_complete && member;
        pattern.remove_prefix(close + 1);
    }
    return piece;
}

/// "A|B" filled: A, or B where a member that A names is unknown; empty where neither can be.
std::string first_complete(std::string_view alternatives, const Value& detail) {
    while (true) {
        const auto bar = std::min(alternatives.find('|'), alternatives.size());
        auto piece = filled_piece(alternatives.substr(0, bar), detail);
        if (piece.is_complete)
            return std::move(piece.text);
        if (bar == alternatives.size())
            return {};
        alternatives.remove_prefix(bar + 1);
    }
}

std::string unworded(const Reason& reason) {
    std::string details;
    if (const auto* members = reason.detail.as_object())
        for (const auto& member : *members)
            details += fmt::format("{}{}={}", details.empty() ? "" : ", ", member.key,
                                   plain(member.value));
    return scrubbed(reason.code) + (details.empty() ? "" : " (" + details + ")");
}

const Wording* find_wording(std::string_view code) {
    for (const auto& wording : kWordings)
        if (wording.code == code)
            return &wording;
    return nullptr;
}

}  // namespace

std::string signal_name(int number) {
    for (const auto& signal : kSignals)
        if (signal.number == number)
            return std::string{signal.name};
    return fmt::format("signal {}", number);
}

std::string filled(std::string_view pattern, const Value& detail) {
    std::string text;
    while (!pattern.empty()) {
        const auto open = std::min(pattern.find('['), pattern.size());
        text += filled_piece(pattern.substr(0, open), detail).text;
        pattern.remove_prefix(open);
        if (pattern.empty())
            break;
        const auto close = std::min(pattern.find(']'), pattern.size() - 1);
        text += first_complete(pattern.substr(1, close - 1), detail);
        pattern.remove_prefix(close + 1);
    }
    return text;
}

Explanation explain(const Reason& reason) {
    const auto* wording = find_wording(reason.code);
    if (!wording)
        return {.sentence = unworded(reason)};
    Explanation explanation{.sentence = filled(wording->sentence, reason.detail)};
    if (auto hint = filled(wording->hint, reason.detail); !hint.empty())
        explanation.hint = std::move(hint);
    return explanation;
}

}  // namespace gpuprobe
