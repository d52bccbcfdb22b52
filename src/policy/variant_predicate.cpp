// SPDX-License-Identifier: Apache-2.0
#include "policy/variant_predicate.h"

#include <algorithm>

#include "report/libraries.h"

namespace gpuprobe {
namespace {

using Words = std::vector<std::string>;

Truth at_least(const Fact<Version>& fact, const Predicate& predicate) {
    const auto& need = std::get<Version>(predicate.need);
    return test(fact, [&need](const Version& have) { return have >= need; });
}

Truth at_least(const Fact<Bytes>& fact, const Predicate& predicate) {
    const auto need = std::get<Bytes>(predicate.need);
    return test(fact, [need](Bytes have) { return have.count >= need.count; });
}

Truth in_range(const Fact<Version>& fact, const Predicate& predicate) {
    const auto& range = std::get<VersionRange>(predicate.need);
    return test(fact, [&range](const Version& have) { return range.contains(have); });
}

Truth has_all(const Fact<WordSet>& fact, const Predicate& predicate) {
    const auto& need = std::get<Words>(predicate.need);
    return test(fact, [&need](const WordSet& have) {
        return std::ranges::all_of(need, [&have](const auto& word) { return have.contains(word); });
    });
}

Truth has_features(const WordFacts& facts, const Predicate& predicate) {
    auto result = Truth::True;
    for (const auto& word : std::get<Words>(predicate.need))
        result = both(result, facts.holds(word));
    return result;
}

Truth cpu_has_all(const Predicate& predicate, const HostFacts& host, const Rules& rules) {
    const auto& need = std::get<Words>(predicate.need);
    return test(host.cpu_features, [&](const WordSet& have) {
        return std::ranges::all_of(
            need, [&](const auto& word) { return have.contains(rules.cpu_feature(word)); });
    });
}

template <class T>
Truth is_one_of(const Fact<T>& fact, const std::vector<T>& need) {
    return test(fact,
                [&need](const T& have) { return std::ranges::find(need, have) != need.end(); });
}

/// Everything runs with static linking.
Truth libc_fits(const Predicate& predicate, const HostFacts& host) {
    const auto& need = std::get<std::string>(predicate.need);
    if (need == "static")
        return Truth::True;
    return test(host.libc, [&need](const std::string& have) { return have == need; });
}

/// A library that no scan looks for may be there.
Truth libraries_resolve(const Predicate& predicate, const HostFacts& host) {
    auto result = Truth::True;
    for (const auto& soname : std::get<Words>(predicate.need)) {
        const auto found =
            test(host.libraries, [&soname](const WordSet& have) { return have.contains(soname); });
        const bool may_be_there = found == Truth::False && !is_listed_library(soname);
        result = both(result, may_be_there ? Truth::Unknown : found);
    }
    return result;
}

Truth is_usable(const Predicate& predicate, const GpuFacts& gpu) {
    const auto usable = gpu.usable[place_of(std::get<Api>(predicate.need))];
    return usable ? truth_of(*usable) : Truth::Unknown;
}

Truth vendor_fits(const Predicate& predicate, const GpuFacts& gpu) {
    const auto& need = std::get<Words>(predicate.need);
    return test(gpu.vendor, [&need](const std::string& have) {
        const bool is_named = std::ranges::find(kVariantVendors, have) != kVariantVendors.end();
        const std::string_view word = is_named ? std::string_view{have} : "other";
        return std::ranges::find(need, word) != need.end();
    });
}

/// A compatibility package, or a driver of the toolkit's major version or later, where the table
/// does not know the toolkit.
Truth cuda_reaches(const Fact<Version>& cuda, std::uint32_t major) {
    return test(cuda, [major](const Version& have) { return have.major() >= major; });
}

Truth cuda_driver_fits(const CudaDriverNeed& need, const GpuFacts& gpu, const Rules& rules) {
    if (gpu.forward_compatible && gpu.forward_compatible->major() >= need.toolkit.major())
        return Truth::True;
    const auto floor = need.min_driver ? need.min_driver : rules.cuda_floor(need.toolkit);
    if (!floor)
        return cuda_reaches(gpu.cuda.cuda, need.toolkit.major());
    return test(gpu.driver, [&floor](const Version& have) { return have >= *floor; });
}

Truth gfx_fits(const Predicate& predicate, const GpuFacts& gpu, const Rules& rules) {
    if (!gpu.gfx.value)
        return gpu.gfx.is_probed ? Truth::False : Truth::Unknown;
    auto result = Truth::False;
    for (const auto& target : std::get<std::vector<GfxTarget>>(predicate.need))
        result = either(result, runs_on(target, *gpu.gfx.value, rules.gfx_families()));
    return result;
}

Truth ip_fits(const Predicate& predicate, const GpuFacts& gpu, const Rules& rules) {
    const auto& need = std::get<std::vector<Version>>(predicate.need);
    return test(gpu.intel_ip, [&](const Version& have) {
        const auto base = rules.intel_base(have);
        return std::ranges::any_of(
            need, [&](const Version& ip) { return ip == have || (base && ip == *base); });
    });
}

}  // namespace

Truth holds(const Predicate& predicate, const HostFacts& host, const Rules& rules) {
    switch (predicate.kind) {
        case PredicateKind::Libc:
            return libc_fits(predicate, host);
        case PredicateKind::GlibcMin:
            return at_least(host.glibc, predicate);
        case PredicateKind::KernelMin:
            return at_least(host.kernel, predicate);
        case PredicateKind::CpuLevelMin: {
            const int need = std::get<int>(predicate.need);
            return test(host.cpu_level, [need](int have) { return have >= need; });
        }
        case PredicateKind::CpuFeatures:
            return cpu_has_all(predicate, host, rules);
        case PredicateKind::Libs:
            return libraries_resolve(predicate, host);
        case PredicateKind::L4t: {
            const auto& need = std::get<std::string>(predicate.need);
            return test(host.l4t, [&need](const std::string& have) { return have == need; });
        }
        case PredicateKind::HostMemoryMin:
            return at_least(host.memory, predicate);
        default:
            return Truth::False;
    }
}

Truth holds(const Predicate& predicate, const GpuFacts& gpu, const Rules& rules) {
    switch (predicate.kind) {
        case PredicateKind::Backend:
            return is_usable(predicate, gpu);
        case PredicateKind::Vendor:
            return vendor_fits(predicate, gpu);
        case PredicateKind::Kinds:
            return is_one_of(gpu.kind, std::get<std::vector<VariantKind>>(predicate.need));
        case PredicateKind::DriverMin:
            return at_least(gpu.driver, predicate);
        case PredicateKind::CudaDriver:
            return cuda_driver_fits(std::get<CudaDriverNeed>(predicate.need), gpu, rules);
        case PredicateKind::CudaCode:
            return truth_of(fit_of(std::get<CudaCode>(predicate.need), gpu.cuda));
        case PredicateKind::CudaApi:
            return in_range(gpu.cuda.cuda, predicate);
        case PredicateKind::Gfx:
            return gfx_fits(predicate, gpu, rules);
        case PredicateKind::Rocm:
            return in_range(gpu.rocm, predicate);
        case PredicateKind::VulkanInstanceMin:
            return at_least(gpu.vulkan_loader, predicate);
        case PredicateKind::VulkanApiMin:
            return at_least(gpu.vulkan_api, predicate);
        case PredicateKind::VulkanFeatures:
            return has_features(gpu.vulkan_features, predicate);
        case PredicateKind::VulkanExtensions:
            return has_all(gpu.vulkan_extensions, predicate);
        case PredicateKind::LevelZeroIp:
            return ip_fits(predicate, gpu, rules);
        case PredicateKind::DeviceMemoryMin:
            return at_least(gpu.memory, predicate);
        default:
            return Truth::False;
    }
}

Truth all_hold(const Conjunction& predicates, const HostFacts& host, const Rules& rules) {
    auto result = Truth::True;
    for (const auto& predicate : predicates) {
        result = both(result, holds(predicate, host, rules));
        if (result == Truth::False)
            break;
    }
    return result;
}

Truth all_hold(const Conjunction& predicates, const GpuFacts& gpu, const Rules& rules) {
    auto result = Truth::True;
    for (const auto& predicate : predicates) {
        result = both(result, holds(predicate, gpu, rules));
        if (result == Truth::False)
            break;
    }
    return result;
}

}  // namespace gpuprobe
