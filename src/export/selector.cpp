// SPDX-License-Identifier: Apache-2.0
#include "export/selector.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "export/formats.h"
#include "export/subject.h"
#include "policy/fact.h"
#include "report/api_table.h"

namespace gpuprobe::inline exports {
namespace {

using Words = std::vector<std::string>;

std::string sm_word(const ComputeCapability& capability) {
    return "sm_" + std::to_string(capability.major) + std::to_string(capability.minor);
}

/// Raises a minimum.
template <class T>
void raise(std::optional<T>& floor, const T& value) {
    if (!floor || *floor < value)
        floor = value;
}

/// Restricts the targets to `words`.
void narrow(std::optional<std::set<std::string>>& targets, std::set<std::string> words) {
    if (targets)
        std::erase_if(words, [&](const auto& word) { return !targets->contains(word); });
    targets = std::move(words);
}

/// Whether exports can express the term: only minimums, ranges and lists can be expressed.
bool is_exported(const Term& term) {
    constexpr auto kExported =
        std::to_array({Relation::Is, Relation::AtLeast, Relation::Within, Relation::Runs,
                       Relation::DriverOf, Relation::HasAll});
    const auto* words = std::get_if<Words>(&term.need);
    const bool is_choice = term.relation == Relation::Is && words && words->size() > 1;
    const bool takes_choice = term.fact != FactId::Libc && term.fact != FactId::CpuFeature;
    return std::ranges::find(kExported, term.relation) != kExported.end() &&
           (!is_choice || takes_choice);
}

/// Translates the terms of one alternative.
class GpuReading {
public:
    GpuReading(const Rules& rules, Words& beyond) : rules_{rules}, beyond_{beyond} {}

    /// The alternatives that satisfy all terms. The result has several alternatives if newer
    /// drivers support additional GPUs. Errors: NoMatch.
    Result<std::vector<GpuNeed>> read(const Conjunction& terms) {
        needs_ = {GpuNeed{}};
        for (const auto& term : terms)
            add(term);
        std::erase_if(needs_,
                      [](const GpuNeed& need) { return need.targets && need.targets->empty(); });
        if (needs_.empty())
            return Error{ErrorCode::NoMatch, "the variant has no kernels for any known GPU"};
        return std::move(needs_);
    }

private:
    /// Adds a term to all needs. If no export contains the fact of a term, the term is recorded in
    /// `beyond_`.
    void add(const Term& term) {
        if (!is_exported(term))
            return leave(term.name);
        switch (term.fact) {
            case FactId::Usable:
                return each([&](GpuNeed& need) {
                    need.api = info_of(std::get<Api>(term.need)).fleet_word;
                });
            case FactId::Vendor:
                return add_vendors(std::get<Words>(term.need));
            case FactId::Form:
                return add_forms(std::get<Words>(term.need));
            case FactId::Memory:
                return each([&](GpuNeed& need) {
                    need.memory =
                        std::max(need.memory.value_or(Bytes{}), std::get<Bytes>(term.need));
                });
            case FactId::VulkanLoader:
            case FactId::Vulkan:
                // Exports contain the lower of the loader's version and the driver's version.
                return each(
                    [&](GpuNeed& need) { raise(need.vulkan, std::get<Version>(term.need)); });
            case FactId::VulkanFeature:
                return leave("vulkan.features: " + joined(std::get<Words>(term.need), ", "));
            case FactId::VulkanExtension:
                return leave("vulkan.extensions: " + joined(std::get<Words>(term.need), ", "));
            default:
                return add_code_or_driver(term);
        }
    }

    /// Adds a term about kernels or drivers; the type of its value shows which kind of term it is.
    void add_code_or_driver(const Term& term) {
        if (const auto* driver = std::get_if<CudaDriverNeed>(&term.need))
            return add_cuda_driver(*driver);
        if (const auto* code = std::get_if<CudaKernels>(&term.need))
            return add_cuda_code(*code);
        if (const auto* targets = std::get_if<std::vector<GfxTarget>>(&term.need))
            return add_gfx(*targets);
        if (const auto* ips = std::get_if<std::vector<Version>>(&term.need))
            return add_ips(*ips);
        if (term.fact == FactId::Driver)
            return add_driver(std::get<Version>(term.need), term.name);
        leave(term.name);
    }

    template <class Change>
    void each(Change change) {
        std::ranges::for_each(needs_, change);
    }

    /// Records a requirement that no export can check.
    void leave(std::string text) {
        if (std::ranges::find(beyond_, text) == beyond_.end())
            beyond_.push_back(std::move(text));
    }

    /// Adds the vendors. Exports use the word "other" for all vendors that do not have an API of
    /// their own.
    void add_vendors(const Words& names) {
        Words vendors;
        for (const auto& name : names) {
            const bool has_own_word = own_api_of(name) != nullptr;
            if (!has_own_word && name != "other")
                leave("vendor: " + name + " is not distinguished from other vendors");
            const std::string word = has_own_word ? name : "other";
            if (std::ranges::find(vendors, word) == vendors.end())
                vendors.push_back(word);
        }
        each([&](GpuNeed& need) { need.vendors = vendors; });
    }

    /// Adds the kinds of GPUs. Exports do not distinguish Tegra GPUs from other integrated GPUs.
    void add_forms(const Words& forms) {
        const auto has = [&](std::string_view form) {
            return std::ranges::find(forms, form) != forms.end();
        };
        std::set<GpuKind> words;
        if (has("discrete"))
            words.insert(GpuKind::Discrete);
        if (has("virtual"))
            words.insert(GpuKind::Virtual);
        if (has("integrated") || has("tegra"))
            words.insert(GpuKind::Integrated);
        if (has("integrated") != has("tegra"))
            leave(has("tegra") ? "kinds: only Tegra among the integrated GPUs"
                               : "kinds: integrated GPUs except Tegra");
        each([&](GpuNeed& need) { need.kinds = words; });
    }

    /// Adds the minimum version of the driver. Exports contain comparable versions only for
    /// NVIDIA's driver.
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

    /// Adds the targets of CUDA kernels as two alternatives: cubins run with any driver that is new
    /// enough for the toolkit's major version, but PTX needs a driver that is at least as new as
    /// the toolkit.
    void add_cuda_code(const CudaKernels& code) {
        if (!code.sass && !code.ptx && !rules_.oldest_capability(code.toolkit))
            return;
        std::set<std::string> by_cubin;
        std::set<std::string> by_ptx;
        for (const auto& capability : rules_.capabilities()) {
            CudaDevice device{.capability = Fact<ComputeCapability>::known(capability),
                              .is_tegra = rules_.is_tegra(capability)};
            // Test whether the kernels run with an older driver first, then with a driver as new as
            // the toolkit.
            const auto old_driver = fit_of(code, device, rules_);
            device.cuda = Fact<Version>::known(code.toolkit);
            if (old_driver == KernelFit::Runs)
                by_cubin.insert(sm_word(capability));
            else if (fit_of(code, device, rules_) == KernelFit::Runs)
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

    /// Adds AMD's targets. A target can be a single AMD processor, or a family of processors.
    void add_gfx(const std::vector<GfxTarget>& wanted) {
        std::set<std::string> words;
        for (const auto& target : wanted) {
            if (!target.features.empty())
                leave("gfx: " + text_of(target));
            const auto family = rules_.gfx_families().find(target.processor);
            if (family != rules_.gfx_families().end())
                words.insert(family->second.begin(), family->second.end());
            // An unknown family ("gfx11X") matches nothing.
            else if (target.processor.find('X') == std::string::npos)
                words.insert(target.processor);
        }
        each([&](GpuNeed& need) { narrow(need.targets, words); });
    }

    /// Adds Intel's targets: all IP versions that can run kernels for one of the wanted IP
    /// versions.
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

/// Describes a term for the list `beyond`.
std::string described(const Term& term) {
    const auto* words = std::get_if<Words>(&term.need);
    return words ? term.name + ": " + joined(*words, ", ") : term.name;
}

/// Adds a term about the host.
void add_host(const Term& term, FleetNeed& need) {
    if (!is_exported(term))
        return need.beyond.push_back(described(term));
    switch (term.fact) {
        case FactId::Libc:
            need.host.libc = std::get<Words>(term.need).front();
            return;
        case FactId::Glibc:
            return raise(need.host.glibc, std::get<Version>(term.need));
        case FactId::Kernel:
            return raise(need.host.kernel, std::get<Version>(term.need));
        case FactId::CpuLevel:
            return raise(need.host.cpu_level,
                         static_cast<int>(std::get<Version>(term.need).major()));
        case FactId::CpuFeature:
            need.host.cpu_features = std::get<Words>(term.need);
            return;
        default:
            need.beyond.push_back(described(term));
    }
}

/// If the kernels are for the GPUs of one vendor, and the variant names no API, adds the vendor's
/// API.
void complete(GpuNeed& need) {
    if (!need.targets || need.api || need.targets->empty())
        return;
    const auto api = api_of_code(*need.targets->begin());
    need.api = info_of(api.value_or(*row_of(FactId::IntelIp).api))
                   .fleet_word;  // only Intel's targets are plain versions, such as "20.1.0"
}

}  // namespace

Result<FleetNeed> fleet_need_of(const VariantPlatform& platform,
                                const Variant& variant,
                                const Rules& rules) {
    if (!variant.needs.unsupported.empty())
        return Error{ErrorCode::NoMatch, "the variant has unknown requirements: " +
                                             joined(variant.needs.unsupported, ", ")};
    FleetNeed need{.host = {.arch = platform.arch, .libc = platform.libc}};
    for (const auto& term : variant.needs.host)
        add_host(term, need);
    for (const auto& alternative : variant.needs.devices) {
        auto gpus = GpuReading{rules, need.beyond}.read(alternative);
        // An alternative that fails is skipped if another alternative remains.
        if (!gpus && variant.needs.devices.size() == 1)
            return std::move(gpus).error();
        if (gpus)
            need.gpus.insert(need.gpus.end(), gpus->begin(), gpus->end());
    }
    std::ranges::for_each(need.gpus, complete);
    // Queries can find machines on which at least one GPU fits, but not machines on which all GPUs
    // fit.
    if (variant.needs.scope == VariantScope::All)
        need.beyond.emplace_back("scope: all GPUs");
    return need;
}

namespace {

std::string nfd_verdict(std::string_view application, std::string_view variant) {
    return "gpuprobe.feature.node.kubernetes.io/variant." + std::string{application} + "." +
           std::string{variant} + "=true\n";
}

std::string slurm_verdict(std::string_view application, std::string_view variant) {
    return "--constraint='" + slurm_verdict_word(application, variant) + "'\n";
}

std::string promql_verdict(std::string_view application, std::string_view variant) {
    return "gpuprobe_variant_supported{application=\"" + std::string{application} +
           "\",variant=\"" + std::string{variant} + "\"} == 1\n";
}

constexpr Orchestrator kEngines[] = {
    {.name = "nfd",
     .summary = "nodeSelectorTerms for a pod's nodeAffinity, with the labels from export nfd",
     .ask = nfd_query,
     .ask_verdict = nfd_verdict},
    {.name = "slurm",
     .summary = "options for srun and sbatch, with the features from export slurm-node",
     .ask = slurm_query,
     .ask_verdict = slurm_verdict},
    {.name = "promql",
     .summary = "one line per machine, with the same metrics as 'export prometheus'",
     .ask_verdict = promql_verdict},
};

}  // namespace

std::span<const Orchestrator> orchestrators() {
    return kEngines;
}

const Orchestrator* orchestrator(std::string_view name) {
    const auto* found = std::ranges::find(kEngines, name, &Orchestrator::name);
    return found == std::end(kEngines) ? nullptr : found;
}

ExportRemark not_asked(std::string_view what) {
    return {.code = "weaker", .text = std::string{what}};
}

ExportRemark asked_more(std::string_view what) {
    return {.code = "stronger", .text = std::string{what}};
}

void unite(std::vector<ExportRemark>& remarks) {
    std::vector<ExportRemark> once;
    for (const auto& remark : remarks)
        if (std::ranges::find(once, remark) == once.end())
            once.push_back(remark);
    remarks = std::move(once);
}

FleetQuery query_for(const FleetNeed& need) {
    FleetQuery query;
    for (const auto& what : need.beyond)
        query.weaker.push_back(not_asked(what));
    return query;
}

}  // namespace gpuprobe::inline exports
