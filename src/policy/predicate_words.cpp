// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "policy/variant_reasons.h"

namespace gpuprobe {
namespace {

template <class T>
Value text_or_null(const Fact<T>& fact) {
    return fact.value ? Value{std::string{text_of(*fact.value)}} : Value{};
}
Value text_or_null(const Fact<std::string>& fact) {
    return to_value(fact.value);
}
Value text_or_null(const Fact<Bytes>& fact) {
    return to_value(fact.value);
}

template <class T>
Value texts(const std::vector<T>& items) {
    Value::Array list;
    for (const auto& item : items)
        list.emplace_back(std::string{text_of(item)});
    return Value{std::move(list)};
}

std::string joined(const std::optional<std::vector<CodeTarget>>& targets) {
    std::string text;
    if (targets)
        for (const auto& target : *targets)
            text += (text.empty() ? "" : " ") + text_of(target);
    return text;
}

/// "sass 7.5 8.0, ptx 9.0"
std::string text_of(const CudaCode& code) {
    std::string text = code.sass ? "sass " + joined(code.sass) : "";
    if (code.ptx && !code.ptx->empty())
        text += (text.empty() ? "ptx " : ", ptx ") + joined(code.ptx);
    return text;
}

/// "13.0 to 13.9", "13.0 or later", "before 14.0"
std::string text_of(const VersionRange& range) {
    std::string text = range.min ? text_of(*range.min) + " or later" : "";
    if (range.max)
        text += (text.empty() ? "" : ", ") + ("up to " + text_of(*range.max));
    if (range.below)
        text += (text.empty() ? "" : ", ") + ("before " + text_of(*range.below));
    return text;
}

Value driver_wanted(const CudaDriverNeed& need, const Rules& rules) {
    const auto floor = need.min_driver ? need.min_driver : rules.cuda_floor(need.toolkit);
    return floor ? Value{text_of(*floor)} : Value{};
}

/// The words of a need that a set lacks.
Value missing_from(const Fact<WordSet>& have, const Predicate& predicate) {
    if (!have.value)
        return {};
    Value::Array missing;
    for (const auto& word : std::get<std::vector<std::string>>(predicate.need))
        if (!have.value->contains(word))
            missing.emplace_back(word);
    return Value{std::move(missing)};
}

/// Those that are known not to hold; null where none is.
Value lacking(const WordFacts& have, const Predicate& predicate) {
    Value::Array words;
    for (const auto& word : std::get<std::vector<std::string>>(predicate.need))
        if (have.holds(word) == Truth::False)
            words.emplace_back(word);
    return words.empty() ? Value{} : Value{std::move(words)};
}

struct NeedText {
    const Rules& rules;

    Value operator()(std::monostate) const { return {}; }
    Value operator()(int level) const { return Value{"x86-64-v" + std::to_string(level)}; }
    Value operator()(Bytes bytes) const { return to_value(bytes); }
    Value operator()(const Version& version) const { return Value{text_of(version)}; }
    Value operator()(const VersionRange& range) const { return Value{text_of(range)}; }
    Value operator()(const std::string& text) const { return Value{text}; }
    Value operator()(const std::vector<std::string>& items) const { return to_value(items); }
    Value operator()(const std::vector<Version>& items) const { return texts(items); }
    Value operator()(VariantApi api) const { return Value{name_of(api)}; }
    Value operator()(const std::vector<VariantKind>& items) const { return to_value(items); }
    Value operator()(const std::vector<GfxTarget>& items) const { return texts(items); }
    Value operator()(const CudaDriverNeed& need) const { return driver_wanted(need, rules); }
    Value operator()(const CudaCode& code) const { return Value{text_of(code)}; }
};

}  // namespace

ReasonCode shortfall_code(PredicateKind kind) {
    switch (kind) {
        case PredicateKind::Unsupported:
            return "unsupported-predicate";
        case PredicateKind::Libc:
            return "other-libc";
        case PredicateKind::GlibcMin:
            return "glibc-too-old";
        case PredicateKind::KernelMin:
            return "kernel-too-old";
        case PredicateKind::CpuLevelMin:
            return "cpu-too-old";
        case PredicateKind::CpuFeatures:
            return "cpu-feature-missing";
        case PredicateKind::Libs:
            return "library-missing";
        case PredicateKind::L4t:
            return "other-l4t";
        case PredicateKind::HostMemoryMin:
            return "too-little-host-memory";
        case PredicateKind::Backend:
            return "backend-not-usable";
        case PredicateKind::Vendor:
            return "vendor-mismatch";
        case PredicateKind::Kinds:
            return "other-kind";
        case PredicateKind::DriverMin:
        case PredicateKind::CudaDriver:
            return "driver-too-old";
        case PredicateKind::CudaCode:
        case PredicateKind::Gfx:
        case PredicateKind::LevelZeroIp:
            return "arch-not-in-build";
        case PredicateKind::CudaApi:
            return "cuda-version-unfit";
        case PredicateKind::Rocm:
            return "rocm-version-unfit";
        case PredicateKind::VulkanInstanceMin:
            return "vulkan-loader-too-old";
        case PredicateKind::VulkanApiMin:
            return "vulkan-too-old";
        case PredicateKind::VulkanFeatures:
            return "vulkan-feature-missing";
        case PredicateKind::VulkanExtensions:
            return "vulkan-extension-missing";
        case PredicateKind::DeviceMemoryMin:
            return "too-little-memory";
    }
    return "unsupported-predicate";
}

Value want_of(const Predicate& predicate, const Rules& rules) {
    return std::visit(NeedText{rules}, predicate.need);
}

Value have_of(const Predicate& predicate, const HostFacts& host) {
    switch (predicate.kind) {
        case PredicateKind::Libc:
            return text_or_null(host.libc);
        case PredicateKind::GlibcMin:
            return text_or_null(host.glibc);
        case PredicateKind::KernelMin:
            return text_or_null(host.kernel);
        case PredicateKind::CpuLevelMin:
            return host.cpu_level.value ? Value{"x86-64-v" + std::to_string(*host.cpu_level.value)}
                                        : Value{};
        case PredicateKind::L4t:
            return text_or_null(host.l4t);
        case PredicateKind::HostMemoryMin:
            return text_or_null(host.memory);
        default:
            return {};
    }
}

Value have_of(const Predicate& predicate, const GpuFacts& gpu) {
    switch (predicate.kind) {
        case PredicateKind::Backend:
            return to_value(
                gpu.usable[static_cast<std::size_t>(std::get<VariantApi>(predicate.need))]);
        case PredicateKind::Vendor:
            return text_or_null(gpu.vendor);
        case PredicateKind::Kinds:
            return gpu.kind.value ? Value{name_of(*gpu.kind.value)} : Value{};
        case PredicateKind::DriverMin:
        case PredicateKind::CudaDriver:
            return text_or_null(gpu.driver);
        case PredicateKind::CudaCode:
            return text_or_null(gpu.cuda.capability);
        case PredicateKind::CudaApi:
            return text_or_null(gpu.cuda.cuda);
        case PredicateKind::Gfx:
            return text_or_null(gpu.gfx);
        case PredicateKind::Rocm:
            return text_or_null(gpu.rocm);
        case PredicateKind::VulkanInstanceMin:
            return text_or_null(gpu.vulkan_loader);
        case PredicateKind::VulkanApiMin:
            return text_or_null(gpu.vulkan_api);
        case PredicateKind::LevelZeroIp:
            return text_or_null(gpu.intel_ip);
        case PredicateKind::DeviceMemoryMin:
            return text_or_null(gpu.memory);
        default:
            return {};
    }
}

Value missing_of(const Predicate& predicate, const HostFacts& host, const Rules& rules) {
    if (predicate.kind == PredicateKind::Libs)
        return missing_from(host.libraries, predicate);
    if (predicate.kind != PredicateKind::CpuFeatures)
        return {};
    auto in_linux_words = predicate;
    for (auto& word : std::get<std::vector<std::string>>(in_linux_words.need))
        word = rules.cpu_feature(word);
    return missing_from(host.cpu_features, in_linux_words);
}

Value missing_of(const Predicate& predicate, const GpuFacts& gpu) {
    if (predicate.kind == PredicateKind::VulkanFeatures)
        return lacking(gpu.vulkan_features, predicate);
    if (predicate.kind == PredicateKind::VulkanExtensions)
        return missing_from(gpu.vulkan_extensions, predicate);
    return {};
}

}  // namespace gpuprobe
