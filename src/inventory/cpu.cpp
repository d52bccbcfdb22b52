// SPDX-License-Identifier: Apache-2.0
#include "inventory/cpu.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/text.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxFeatures = 1024;
constexpr std::size_t kMaxFeatureName = 32;
constexpr std::uint32_t kMaxProcessors = 65536;

// The features that each level adds to the one before, by the kernel's names.
constexpr std::array<std::string_view, 9> kLevel1{"cmov", "cx8", "fpu",  "fxsr",   "lm",
                                                  "mmx",  "sse", "sse2", "syscall"};
constexpr std::array<std::string_view, 7> kLevel2{"cx16",   "lahf_lm", "pni",  "popcnt",
                                                  "sse4_1", "sse4_2",  "ssse3"};
constexpr std::array<std::string_view, 9> kLevel3{"abm",  "avx", "avx2",  "bmi1", "bmi2",
                                                  "f16c", "fma", "movbe", "xsave"};
constexpr std::array<std::string_view, 5> kLevel4{"avx512bw", "avx512cd", "avx512dq", "avx512f",
                                                  "avx512vl"};

/// Arm's cpuinfo has numbers and no names: implementer and part of MIDR_EL1. Source:
/// arch/arm64/include/asm/cputype.h.
struct ArmPart {
    std::uint32_t implementer;
    std::uint32_t part;
    const char* name;
};
constexpr std::array<ArmPart, 16> kArmParts{{
    {0x41, 0xd03, "Cortex-A53"},
    {0x41, 0xd05, "Cortex-A55"},
    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},
    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd42, "Cortex-A78AE"},
    {0x41, 0xd49, "Neoverse-N2"},
    {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd85, "Cortex-X925"},
    {0x41, 0xd87, "Cortex-A725"},
    {0x4e, 0x004, "Carmel"},
    {0x51, 0x001, "Oryon"},
    {0xc0, 0xac3, "Ampere-1"},
    {0xc0, 0xac4, "Ampere-1A"},
}};

using Fields = std::map<std::string, std::string, std::less<>>;

std::optional<std::string> field(const Fields& fields, std::string_view key) {
    const auto found = fields.find(key);
    return found == fields.end() || found->second.empty() ? std::nullopt
                                                          : std::optional{found->second};
}

/// The name of an Arm core; nullopt if it is unknown.
std::optional<std::string> arm_model(const Fields& fields) {
    const auto implementer =
        parse_hex<std::uint32_t>(field(fields, "CPU implementer").value_or(""));
    const auto part = parse_hex<std::uint32_t>(field(fields, "CPU part").value_or(""));
    for (const auto& row : kArmParts)
        if (implementer == row.implementer && part == row.part)
            return row.name;
    return std::nullopt;
}

/// The processor's name: "model name" on x86 and s390, "cpu" on POWER, "cpu model" on MIPS, numbers
/// on Arm.
std::optional<std::string> model_of(const Fields& fields) {
    for (const auto* key : {"model name", "cpu model", "cpu", "uarch"})
        if (const auto name = field(fields, key))
            return scrubbed(*name);
    return arm_model(fields);
}

/// The sorted features. The key is "flags" on x86, "Features" on Arm and "features" on s390.
std::vector<std::string> features_of(const Fields& fields) {
    std::vector<std::string> features;
    for (const auto* key : {"flags", "Features", "features"}) {
        const auto list = field(fields, key).value_or("");
        for (const auto word : words(list))
            if (features.size() < kMaxFeatures)
                features.push_back(scrubbed(word, kMaxFeatureName));
    }
    std::ranges::sort(features);
    features.erase(std::unique(features.begin(), features.end()), features.end());
    return features;
}

bool has_all(const std::vector<std::string>& features, std::span<const std::string_view> wanted) {
    return std::ranges::all_of(wanted, [&features](std::string_view feature) {
        return std::ranges::binary_search(features, feature, std::less<>{});
    });
}

}  // namespace

Cpu parse_cpuinfo(std::string_view text) {
    Fields first;  // emplace() keeps the first processor's values
    std::uint32_t processors = 0;
    for (const auto line : split(text, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        const auto key = trimmed(line.substr(0, colon));
        if (key == "processor" && processors < kMaxProcessors)
            ++processors;
        first.emplace(key, trimmed(line.substr(colon + 1)));
    }
    Cpu cpu{.model = model_of(first), .features = features_of(first)};
    if (processors > 0)
        cpu.cores = processors;
    cpu.level = x86_level(cpu.features);
    return cpu;
}

std::optional<std::string> x86_level(const std::vector<std::string>& features) {
    if (!has_all(features, kLevel1))
        return std::nullopt;
    if (!has_all(features, kLevel2))
        return "x86-64-v1";
    if (!has_all(features, kLevel3))
        return "x86-64-v2";
    return has_all(features, kLevel4) ? "x86-64-v4" : "x86-64-v3";
}

std::optional<std::uint32_t> processors_in(std::string_view list) {
    std::uint32_t count = 0;
    for (const auto range : split(trimmed(list), ',')) {
        const auto dash = range.find('-');
        const auto first = parse_number<std::uint32_t>(range.substr(0, dash));
        const auto last = dash == std::string_view::npos
                              ? first
                              : parse_number<std::uint32_t>(range.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= kMaxProcessors)
            return std::nullopt;
        count += *last - *first + 1;
        if (count > kMaxProcessors)
            return std::nullopt;
    }
    return count;
}

}  // namespace gpuprobe::inline inventory
