// SPDX-License-Identifier: Apache-2.0
#include "export/fleet_need.h"

#include <algorithm>

#include "base/parse.h"
#include "export/exported_gpu.h"

namespace gpuprobe {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
    std::string text;
    for (const auto& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string sm_word(const ComputeCapability& capability) {
    return "sm_" + std::to_string(capability.major) + std::to_string(capability.minor);
}

/// The stricter of two minima.
template <class T>
void raise(std::optional<T>& floor, const T& value) {
    if (!floor || *floor < value)
        floor = value;
}

void narrow(std::optional<std::set<std::string>>& targets, std::set<std::string> words) {
    if (targets)
        std::erase_if(words, [&](const auto& word) { return !targets->contains(word); });
    targets = std::move(words);
}

/// Turns the predicates of one alternative into needs.
class GpuReading {
public:
    GpuReading(const Rules& rules, Words& beyond) : rules_{rules}, beyond_{beyond} {}

    /// More than one where newer drivers run on GPUs that others do not. Errors: NoMatch.
    Result<std::vector<GpuNeed>> read(const Conjunction& predicates) {
        needs_ = {GpuNeed{}};
        for (const auto& predicate : predicates)
            add(predicate);
        std::erase_if(needs_,
                      [](const GpuNeed& need) { return need.targets && need.targets->empty(); });
        if (needs_.empty())
            return Error{ErrorCode::NoMatch, "it has code for no GPU that is known here"};
        return std::move(needs_);
    }

private:
    void add(const Predicate& predicate) {
        switch (predicate.kind) {
            case PredicateKind::Backend:
                return each([&](GpuNeed& need) {
                    need.api = info_of(std::get<Api>(predicate.need)).fleet_word;
                });
            case PredicateKind::Vendor:
                return add_vendors(std::get<Words>(predicate.need));
            case PredicateKind::Kinds:
                return add_kinds(std::get<std::vector<VariantKind>>(predicate.need));
            case PredicateKind::DeviceMemoryMin:
                return each([&](GpuNeed& need) {
                    need.memory =
                        std::max(need.memory.value_or(Bytes{}), std::get<Bytes>(predicate.need));
                });
            case PredicateKind::VulkanInstanceMin:
            case PredicateKind::VulkanApiMin:
                // What is exported is the lesser of both.
                return each(
                    [&](GpuNeed& need) { raise(need.vulkan, std::get<Version>(predicate.need)); });
            default:
                return add_code_or_driver(predicate);
        }
    }

    void add_code_or_driver(const Predicate& predicate) {
        switch (predicate.kind) {
            case PredicateKind::DriverMin:
                return add_driver(std::get<Version>(predicate.need), predicate.name);
            case PredicateKind::CudaDriver:
                return add_cuda_driver(std::get<CudaDriverNeed>(predicate.need));
            case PredicateKind::CudaCode:
                return add_cuda_code(std::get<CudaCode>(predicate.need));
            case PredicateKind::Gfx:
                return add_gfx(std::get<std::vector<GfxTarget>>(predicate.need));
            case PredicateKind::LevelZeroIp:
                return add_ips(std::get<std::vector<Version>>(predicate.need));
            case PredicateKind::VulkanFeatures:
                return leave("vulkan.features: " + joined(std::get<Words>(predicate.need)));
            case PredicateKind::VulkanExtensions:
                return leave("vulkan.extensions: " + joined(std::get<Words>(predicate.need)));
            default:
                return leave(predicate.name);
        }
    }

    template <class Change>
    void each(Change change) {
        std::ranges::for_each(needs_, change);
    }

    void leave(std::string text) {
        if (std::ranges::find(beyond_, text) == beyond_.end())
            beyond_.push_back(std::move(text));
    }

    /// Of vendors beyond the closed words, "other" is all that is told.
    void add_vendors(const Words& names) {
        Words vendors;
        for (const auto& name : names) {
            const bool is_told = name == "nvidia" || name == "amd" || name == "intel";
            if (!is_told && name != "other")
                leave("vendor: " + name + " among other vendors");
            const std::string word = is_told ? name : "other";
            if (std::ranges::find(vendors, word) == vendors.end())
                vendors.push_back(word);
        }
        each([&](GpuNeed& need) { need.vendors = vendors; });
    }

    /// A system on a chip is exported as integrated.
    void add_kinds(const std::vector<VariantKind>& kinds) {
        const auto has = [&](VariantKind kind) {
            return std::ranges::find(kinds, kind) != kinds.end();
        };
        std::set<GpuKind> words;
        if (has(VariantKind::Discrete))
            words.insert(GpuKind::Discrete);
        if (has(VariantKind::Virtual))
            words.insert(GpuKind::Virtual);
        if (has(VariantKind::Integrated) || has(VariantKind::Tegra))
            words.insert(GpuKind::Integrated);
        if (has(VariantKind::Integrated) != has(VariantKind::Tegra))
            leave(has(VariantKind::Tegra) ? "kinds: tegra among integrated GPUs"
                                          : "kinds: integrated GPUs that are no Tegra");
        each([&](GpuNeed& need) { need.kinds = words; });
    }

    void add_driver(const Version& floor, const std::string& name) {
        const bool is_nvidia = std::ranges::all_of(needs_, [](const GpuNeed& need) {
            return need.api == "cuda" || need.vendors == Words{"nvidia"};
        });
        if (!is_nvidia)
            return leave(name + ": " + text_of(floor));
        each([&](GpuNeed& need) { raise(need.driver, floor); });
    }

    void add_cuda_driver(const CudaDriverNeed& need) {
        const auto floor = need.min_driver ? need.min_driver : rules_.cuda_floor(need.toolkit);
        if (!floor)
            return leave("cuda.toolkit: " + text_of(need.toolkit));
        each([&](GpuNeed& gpu) { raise(gpu.driver, *floor); });
    }

    /// Cubins run with any driver that is new enough for the toolkit's major version, PTX only with
    /// one that is not older than the toolkit: two alternatives.
    void add_cuda_code(const CudaCode& code) {
        if (!code.sass && !code.ptx)
            return;
        std::set<std::string> by_cubin;
        std::set<std::string> by_ptx;
        for (const auto& capability : rules_.capabilities()) {
            CudaDevice device{.capability = Fact<ComputeCapability>::known(capability),
                              .is_tegra = rules_.is_tegra(capability)};
            const auto old_driver = fit_of(code, device);
            device.cuda = Fact<Version>::known(code.toolkit);
            if (old_driver == CodeFit::Runs)
                by_cubin.insert(sm_word(capability));
            else if (fit_of(code, device) == CodeFit::Runs)
                by_ptx.insert(sm_word(capability));
        }
        auto newer = needs_;
        each([&](GpuNeed& need) { narrow(need.targets, by_cubin); });
        const auto branch = rules_.branch_of_cuda(code.toolkit);
        if (by_ptx.empty() || !branch)
            return;
        for (auto& need : newer) {
            narrow(need.targets, by_ptx);
            raise(need.driver, Version{{*branch}});
        }
        needs_.insert(needs_.end(), newer.begin(), newer.end());
    }

    void add_gfx(const std::vector<GfxTarget>& wanted) {
        std::set<std::string> words;
        for (const auto& target : wanted) {
            if (!target.features.empty())
                leave("gfx: " + text_of(target));
            const auto family = rules_.gfx_families().find(target.processor);
            if (family != rules_.gfx_families().end())
                words.insert(family->second.begin(), family->second.end());
            else if (target.processor.find('X') == std::string::npos)
                words.insert(target.processor);
        }
        each([&](GpuNeed& need) { narrow(need.targets, words); });
    }

    void add_ips(const std::vector<Version>& wanted) {
        std::set<std::string> words;
        for (const auto& ip : wanted)
            for (const auto& runs : rules_.intel_ips_of(ip))
                words.insert(text_of(runs));
        each([&](GpuNeed& need) { narrow(need.targets, words); });
    }

    const Rules& rules_;
    Words& beyond_;
    std::vector<GpuNeed> needs_ = {};
};

std::string described(const Predicate& predicate) {
    if (const auto* words = std::get_if<Words>(&predicate.need))
        return predicate.name + ": " + joined(*words);
    if (const auto* text = std::get_if<std::string>(&predicate.need))
        return predicate.name + ": " + *text;
    return predicate.name;
}

void add_host(const Predicate& predicate, FleetNeed& need) {
    switch (predicate.kind) {
        case PredicateKind::Libc:
            if (const auto& libc = std::get<std::string>(predicate.need); libc != "static")
                need.host.libc = libc;
            return;
        case PredicateKind::GlibcMin:
            return raise(need.host.glibc, std::get<Version>(predicate.need));
        case PredicateKind::KernelMin:
            return raise(need.host.kernel, std::get<Version>(predicate.need));
        case PredicateKind::CpuLevelMin:
            return raise(need.host.cpu_level, std::get<int>(predicate.need));
        case PredicateKind::CpuFeatures:
            need.host.cpu_features = std::get<Words>(predicate.need);
            return;
        default:
            need.beyond.push_back(described(predicate));
    }
}

/// The vendor and the API of code for one vendor's GPUs, where the variant does not say.
void complete(GpuNeed& need) {
    if (need.targets && !need.api && !need.targets->empty())
        need.api = need.targets->begin()->starts_with("sm_")   ? "cuda"
                   : need.targets->begin()->starts_with("gfx") ? "rocm"
                                                               : "level-zero";
}

}  // namespace

Result<FleetNeed> fleet_need_of(const VariantPlatform& platform,
                                const Variant& variant,
                                const Rules& rules) {
    if (!variant.needs.unsupported.empty())
        return Error{ErrorCode::NoMatch,
                     "it needs what is not known here: " + joined(variant.needs.unsupported)};
    FleetNeed need{.host = {.arch = platform.arch, .libc = platform.libc}};
    for (const auto& predicate : variant.needs.host)
        add_host(predicate, need);
    for (const auto& alternative : variant.needs.devices) {
        auto gpus = GpuReading{rules, need.beyond}.read(alternative);
        if (!gpus && variant.needs.devices.size() == 1)
            return std::move(gpus).error();
        if (gpus)
            need.gpus.insert(need.gpus.end(), gpus->begin(), gpus->end());
    }
    std::ranges::for_each(need.gpus, complete);
    if (variant.needs.scope == VariantScope::All)
        need.beyond.emplace_back("scope: all GPUs");
    return need;
}

}  // namespace gpuprobe
