// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "base/units.h"

namespace gpuprobe::inline cli {

const Verb* find_verb(std::string_view name) {
    const auto found = std::ranges::find(verbs(), name, &Verb::name);
    return found == verbs().end() ? nullptr : &*found;
}

std::string_view long_name(const Option& option) {
    const auto dashes = option.names.find("--");
    return dashes == std::string_view::npos ? option.names : option.names.substr(dashes);
}

std::vector<std::string> comma_list(std::string_view text) {
    std::vector<std::string> items;
    for (const auto item : split(text, ','))
        if (!trimmed(item).empty())
            items.emplace_back(trimmed(item));
    return items;
}

Status assign(bool& flag, const std::string& /*word*/) {
    flag = true;
    return Done{};
}

Status assign(std::string& text, const std::string& word) {
    text = word;
    return Done{};
}

Status assign(std::optional<std::string>& text, const std::string& word) {
    text = word;
    return Done{};
}

Status assign(std::vector<std::string>& items, const std::string& word) {
    items = comma_list(word);
    return Done{};
}

Status assign(std::optional<std::vector<std::string>>& items, const std::string& word) {
    items = comma_list(word);
    return Done{};
}

Status assign(std::optional<std::uint64_t>& number, const std::string& word) {
    number = parse_number<std::uint64_t>(word);
    if (!number)
        return refusal(fmt::format("'{}' is no number", scrubbed(word, 32)));
    return Done{};
}

// The second line of the text becomes the hint.
Status assign(std::optional<Bytes>& size, const std::string& word) {
    size = parse_size(word);
    if (!size)
        return refusal(fmt::format(
            "'{}' is not a size\nWrite it like 8GiB, 8192MiB, 8GB or a number of bytes.",
            scrubbed(word, 32)));
    return Done{};
}

namespace {

/// The word as a list. nullopt for an empty list if the key does not distinguish it from a missing
/// one.
std::optional<Value> names_from(const RequestKey& key, const std::string& word) {
    const auto names = comma_list(word);
    return names.empty() && !key.keeps_empty ? std::nullopt : std::optional{to_value(names)};
}

/// The value for a request key. Numbers such as "32k" stay text; the reader of the request converts
/// them.
Result<std::optional<Value>> value_of(const RequestKey& key, const std::string& word) {
    std::optional<Bytes> size;
    std::optional<std::uint64_t> count;
    switch (key.type) {
        case RequestType::Names:
            return names_from(key, word);
        case RequestType::Flag:
            return std::optional<Value>{key.option_sets};
        case RequestType::Word:
        case RequestType::Pairs:  // never reached: such keys have no option
        case RequestType::Number:
            break;
        case RequestType::Size:
            TRY(assign(size, word));
            return std::optional{to_value(*size)};
        case RequestType::Mebibytes:
            TRY(assign(count, word));
            return std::optional{to_value(*count)};
    }
    return std::optional<Value>{word};
}

}  // namespace

Status Option::accept(Arguments& arguments, const std::string& word) const {
    // An option without a request key stores its word itself.
    if (!key)
        return take(arguments, word);
    if (auto meant = TRY(value_of(*key, word)))
        request(arguments)[key->key] = std::move(*meant);
    return Done{};
}

Error refusal(std::string text) {
    return {ErrorCode::InvalidRequest, std::move(text)};
}

std::vector<Option> joined(std::vector<Option> options, const std::vector<Option>& more) {
    options.insert(options.end(), more.begin(), more.end());
    return options;
}

}  // namespace gpuprobe::inline cli
