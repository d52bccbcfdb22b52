// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/text.h"
#include "plan/gguf.h"

namespace gpuprobe::inline plan {
namespace {

constexpr std::string_view kSuffix = ".gguf";
constexpr std::string_view kOf = "-of-";
constexpr std::size_t kDigits = 5;

/// The number with leading zeros, as in file names of parts.
std::string digits(std::uint32_t number) {
    const auto text = std::to_string(number);
    return std::string(kDigits - std::min(kDigits, text.size()), '0') + text;
}

Error mismatch(std::string text) {
    return {ErrorCode::Malformed, std::move(text)};
}

/// Checks each part's own statement of its number and of the number of parts.
Status check_numbers(const std::vector<Gguf>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        // In the metadata, parts are counted from 0.
        const auto count = parts[i].number("split.count").value_or(1);
        const auto number = parts[i].number("split.no").value_or(0);
        if (count != parts.size() || number != i)
            return mismatch("part " + std::to_string(i + 1) + " says that it is part " +
                            std::to_string(number + 1) + " of " + std::to_string(count));
    }
    return Done{};
}

}  // namespace

std::optional<GgufPart> gguf_part(std::string_view file_name) {
    // The ending has a fixed length: "-00002-of-00005.gguf".
    const auto tail = 1 + kDigits + kOf.size() + kDigits + kSuffix.size();
    if (file_name.size() <= tail || !file_name.ends_with(kSuffix))
        return std::nullopt;
    const auto stem = file_name.substr(0, file_name.size() - tail);
    const auto rest = file_name.substr(stem.size());
    const auto number = parse_number<std::uint32_t>(rest.substr(1, kDigits));
    const auto count = parse_number<std::uint32_t>(rest.substr(1 + kDigits + kOf.size(), kDigits));
    if (rest.front() != '-' || rest.substr(1 + kDigits, kOf.size()) != kOf || !number || !count ||
        *number == 0 || *number > *count)
        return std::nullopt;
    return GgufPart{.number = *number, .count = *count, .stem = std::string{stem}};
}

std::string gguf_part_name(const GgufPart& part, std::uint32_t number) {
    return part.stem + "-" + digits(number) + std::string{kOf} + digits(part.count) +
           std::string{kSuffix};
}

Result<Gguf> joined(std::vector<Gguf> parts) {
    if (parts.empty())
        return mismatch("no part");
    TRY(check_numbers(parts));
    // The first part has the metadata of the whole model.
    auto whole = std::move(parts.front());
    std::set<std::string> names;
    for (const auto& tensor : whole.tensors)
        names.insert(tensor.name);
    for (std::size_t i = 1; i < parts.size(); ++i)
        for (auto& tensor : parts[i].tensors) {
            if (!names.insert(tensor.name).second)
                return mismatch("the tensor " + tensor.name + " is in two parts");
            whole.tensors.push_back(std::move(tensor));
        }
    const auto wanted = whole.number("split.tensors.count").value_or(whole.tensors.size());
    if (wanted != whole.tensors.size())
        return mismatch("the parts hold " + std::to_string(whole.tensors.size()) +
                        " tensors, and the first says " + std::to_string(wanted));
    return whole;
}

}  // namespace gpuprobe::inline plan
