// SPDX-License-Identifier: Apache-2.0
#include "policy/known_words.h"

#include <algorithm>

#include "base/record.h"
#include "base/text.h"
#include "knowledge/chips.h"
#include "knowledge/library.h"
#include "policy/fact.h"
#include "policy/rules.h"
#include "report/video.h"

namespace gpuprobe::inline policy {
namespace {

/// The content of data/rules/words.json.
struct WordTable {
    std::vector<std::string> cpu_features = {};
    std::vector<std::string> gfx = {};
    std::vector<std::string> vulkan_features = {};

    /// Errors: Malformed, TooLarge.
    static Result<WordTable> from(std::string_view json);
};
RECORD_MEMBERS(WordTable, cpu_features, gfx, vulkan_features)

Result<WordTable> WordTable::from(std::string_view json) {
    return record_from<WordTable>(TRY(parse_json(json, knowledge::kMaxDocument)));
}

const WordTable& word_table() {
    return knowledge::made_of_documents([](const knowledge::Library& library) {
        return knowledge::table_of<WordTable>(library, "rules/words");
    });
}

std::vector<std::string> vendors() {
    std::vector<std::string> words;
    for (const auto& vendor : knowledge::Chips::current().vendors())
        words.push_back(vendor.vendor);
    return words;
}

std::vector<std::string> kinds() {
    std::vector<std::string> words;
    for (const auto& kind : names_of(GpuKind{}))
        words.emplace_back(kind.name);
    return words;
}

/// The targets of AMD GPUs, and the families of gfx targets in the rules.
std::vector<std::string> targets() {
    auto words = word_table().gfx;
    for (const auto& [family, processors] : Rules::current().gfx_families())
        words.push_back(family);
    return words;
}

/// Whether the word ends in `wild`, and a known word begins with the part of the word before
/// `wild`.
bool matches_one(std::string_view word, char wild, const std::vector<std::string>& known) {
    if (!word.ends_with(wild))
        return false;
    const auto start = word.substr(0, word.size() - 1);
    // The X in the name of a family represents one digit.
    return std::ranges::any_of(known, [&](const std::string& one) {
        return one.starts_with(start) && (wild == '*' || one.size() == word.size());
    });
}

}  // namespace

std::vector<std::string> known_words(FactId fact) {
    switch (fact) {
        case FactId::Libc:
            return {"glibc", "musl"};
        case FactId::Os:
            return {"linux", "darwin", "windows"};
        case FactId::Arch:
            return {"x86_64", "aarch64", "riscv64", "ppc64le", "s390x", "loongarch64", "armv7l"};
        case FactId::CpuFeature: {
            auto words = word_table().cpu_features;
            // Add the other spellings of words that the rules translate.
            for (const auto& [alias, word] : Rules::current().cpu_aliases())
                words.push_back(alias);
            return words;
        }
        case FactId::Vendor:
        case FactId::Vendors:
        case FactId::VgaVendors:
            return vendors();
        case FactId::Kind:
            return kinds();
        case FactId::Gfx:
            return word_table().gfx;
        case FactId::GfxTarget:
            return targets();
        case FactId::VulkanFeature:
            return word_table().vulkan_features;
        case FactId::VideoDecode:
        case FactId::VideoEncode:
            return all_video_words();
        default:
            return {};
    }
}

bool is_known_word(FactId fact, std::string_view word) {
    const auto known = known_words(fact);
    if (known.empty() || contains(known, word) || matches_one(word, '*', known))
        return true;
    if (fact == FactId::CpuFeature)
        return contains(known, Rules::current().cpu_feature(word));
    return fact == FactId::GfxTarget && matches_one(word, 'X', known);
}

}  // namespace gpuprobe::inline policy
