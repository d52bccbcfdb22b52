// SPDX-License-Identifier: Apache-2.0
#include "policy/build_needs.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/fact.h"
#include "report/api_table.h"
#include "report/gpu_views.h"

namespace gpuprobe::inline policy {
namespace {

/// The compute API whose name the family has. A family can have the name of an API or of the API's
/// backend; nullopt for any other name.
std::optional<Api> api_called(std::string_view family) {
    for (const auto* api : computing_apis())
        if (family == api->word || family == api->backend)
            return api->id;
    return std::nullopt;
}

/// The result of the last verification of a backend; null if the backend wasn't verified.
Value result_on(const Gpu& gpu, Api api) {
    const auto view = gpu.backends.find(std::string{info_of(api).backend});
    if (view == gpu.backends.end() || !view->second.verification)
        return {};
    return to_value(view->second.verification->result);
}

/// The reason `not-verified` for a backend, with the result of the last verification. The backend
/// and the result may be null.
Reason not_verified(const Facts& gpu, Value backend, Value result) {
    return because("not-verified", {{"where", gpu.gpu()->id},
                                    {"predicate", "require-verified"},
                                    {"backend", std::move(backend)},
                                    {"result", std::move(result)}});
}

}  // namespace

std::vector<Api> apis_used(const Variant& variant, const Conjunction& alternative) {
    std::vector<Api> apis;
    for (const auto& term : alternative)
        // Keep the order of the terms, and add each API only once.
        if (const auto api = api_of(term); api && std::ranges::find(apis, *api) == apis.end())
            apis.push_back(*api);
    if (const auto api = api_called(variant.family); apis.empty() && api)
        apis.push_back(*api);
    return apis;
}

std::vector<Reason> closed_nodes(const Variant& variant,
                                 const Conjunction& alternative,
                                 const Facts& gpu) {
    const auto apis = apis_used(variant, alternative);
    const auto works = [&gpu](Api api) { return gpu.usable(api) == true; };
    // If at least one API works, the nodes are accessible.
    if (std::ranges::any_of(apis, works))
        return {};
    const auto backend = apis.empty() ? std::string_view{} : info_of(apis.front()).backend;
    auto reasons = shut_nodes(backend, gpu.report().nodes, *gpu.gpu());
    for (auto& reason : reasons) {
        reason.detail["where"] = gpu.gpu()->id;
        reason.detail["predicate"] = "backend";
    }
    return reasons;
}

bool is_verified(const std::vector<Api>& apis, const Facts& gpu) {
    return !apis.empty() &&
           std::ranges::all_of(apis, [&gpu](Api api) { return gpu.verified(api); });
}

std::vector<Reason> unverified(const Variant& variant,
                               const Conjunction& alternative,
                               const Facts& gpu) {
    std::vector<Reason> reasons;
    const auto apis = apis_used(variant, alternative);
    // If no API is known, nothing can be verified.
    if (apis.empty())
        reasons.push_back(not_verified(gpu, {}, {}));
    for (const auto api : apis)
        // An unusable backend has reasons already. A backend whose state is unknown may still be
        // verified.
        if (!gpu.verified(api) && gpu.usable(api) != false)
            reasons.push_back(
                not_verified(gpu, Value{info_of(api).backend}, result_on(*gpu.gpu(), api)));
    return reasons;
}

namespace {

/// Maximum length of a word about a build, in bytes.
constexpr std::size_t kMaxBuildWord = 256;

bool is_soname(std::string_view word) {
    return word.find(".so") != std::string_view::npos;
}

/// Converts "sm_90a" to "9.0a", and "compute_75@9.1" to "7.5@9.1". The last digit of the number is
/// the minor version.
std::optional<KernelTarget> cuda_target(std::string_view digits) {
    const auto end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    if (end < 2)
        return std::nullopt;
    const auto text =
        std::string{digits.substr(0, end - 1)} + "." + std::string{digits.substr(end - 1)};
    return parse_text(std::string_view{text}, std::type_identity<KernelTarget>{});
}

/// The meaning of one word in the list of a build's kernels.
struct KernelWord {
    std::optional<Api> api = {};  ///< nullopt for an invalid word
    std::optional<KernelTarget> cubin = {};
    std::optional<KernelTarget> ptx = {};
    std::optional<GfxTarget> gfx = {};
};

/// Parses one word of the list of a build's kernels. An invalid target does not belong to an API.
KernelWord kernel_word(std::string_view word) {
    constexpr std::string_view kCubin = "sm_";
    constexpr std::string_view kPtx = "compute_";
    KernelWord kernel;
    if (word.starts_with(kCubin))
        kernel.cubin = cuda_target(word.substr(kCubin.size()));
    else if (word.starts_with(kPtx))
        kernel.ptx = cuda_target(word.substr(kPtx.size()));
    else if (word.starts_with("gfx"))
        kernel.gfx = parse_text(word, std::type_identity<GfxTarget>{});
    else
        kernel.api = api_of_code(word);
    if (kernel.cubin || kernel.ptx || kernel.gfx)
        kernel.api = api_of_code(word);
    return kernel;
}

/// One part of a build, with its words in parsed form.
class Part {
public:
    Part(std::string name, const Rules& rules) : name_{std::move(name)}, rules_{rules} {}

    /// Adds a required library or predicate.
    void add_need(const std::string& word) {
        if (!is_soname(word)) {
            if (auto parsed = parse_predicate(word); parsed && parsed->alternatives.size() == 1)
                terms_.push_back(std::move(parsed->alternatives.front()));
            return;
        }
        const auto info = library_info(word);
        add_library(info, word);
        if (!info || !info->is_in_host_reports)
            unlisted_.emplace_back(info ? info->api : std::nullopt, word);
        else if (!info->is_of_driver)  // driver libraries are covered by the backend itself
            libraries_.emplace_back(info->api, word);
    }

    void add_bundled(const std::string& word) { add_library(library_info(word), word); }

    void add_kernel(const std::string& word) {
        const auto kernel = kernel_word(word);
        if (kernel.api)
            apis_.insert(*kernel.api);
        if (kernel.cubin)
            sass_.push_back(*kernel.cubin);
        if (kernel.ptx) {
            ptx_.push_back(*kernel.ptx);
            // PTX needs a driver of the major version of CUDA that introduced the ISA version of
            // the PTX.
            if (const auto made =
                    kernel.ptx->isa ? rules_.cuda_of_ptx(*kernel.ptx->isa) : std::nullopt)
                raise_toolkit(Version{{made->major()}});
        }
        if (kernel.gfx)
            gfx_.push_back(*kernel.gfx);
        // Generic SPIR-V can be compiled for any AMD GPU.
        takes_any_gfx_ = takes_any_gfx_ || word == "amdgcnspirv";
    }

    /// The APIs that the part uses; empty if no word names an API.
    [[nodiscard]] const std::set<Api>& apis() const { return apis_; }
    /// Whether the part has kernels for the API.
    [[nodiscard]] bool has_kernels(Api api) const {
        return api == Api::Cuda ? !sass_.empty() || !ptx_.empty()
                                : api == Api::Hip && (!gfx_.empty() || takes_any_gfx_);
    }

    /// What the part needs for an API; if `api` is nullopt, what it needs for the CPU.
    [[nodiscard]] BuildNeeds needs(std::optional<Api> api) const {
        BuildNeeds needs{.build = name_};
        // If there is no API, only predicates about the host apply.
        std::ranges::copy_if(terms_, std::back_inserter(needs.terms),
                             [api](const Term& term) { return api || is_about_host(term); });
        for (const auto& [owner, soname] : libraries_)
            if (!owner || owner == api)
                needs.terms.push_back({.fact = FactId::Library,
                                       .relation = Relation::HasAll,
                                       .need = std::vector{soname},
                                       .name = "needs"});
        for (const auto& [owner, soname] : unlisted_)
            if (!owner || owner == api)
                needs.unlisted.push_back(soname);
        if (api == Api::Cuda)
            add_cuda(needs.terms);
        if (api == Api::Hip && !gfx_.empty() && !takes_any_gfx_)
            needs.terms.push_back({.fact = FactId::GfxTarget,
                                   .relation = Relation::Runs,
                                   .need = gfx_,
                                   .name = "kernels"});
        return needs;
    }

private:
    /// Increases the version of the toolkit: the driver must support the newest toolkit that the
    /// libraries imply.
    void raise_toolkit(const Version& toolkit) { toolkit_ = std::max(toolkit_, toolkit); }

    /// Records the API of a library, and the toolkit that the version of the library implies.
    void add_library(const std::optional<LibraryInfo>& info, std::string_view soname) {
        if (!info || !info->api)
            return;
        apis_.insert(*info->api);
        const auto version = soname.substr(soname.find(".so") + 3);
        if (info->has_toolkit_version && version.starts_with('.'))
            if (const auto release = leading_version(version.substr(1)))
                raise_toolkit(Version{{release->major()}});
    }

    /// Adds the terms about CUDA's driver and kernels.
    void add_cuda(Conjunction& terms) const {
        if (toolkit_.major() > 0)
            terms.push_back({.fact = FactId::Driver,
                             .relation = Relation::DriverOf,
                             .need = CudaDriverNeed{.toolkit = toolkit_},
                             .name = "needs"});
        if (has_kernels(Api::Cuda))
            terms.push_back({.fact = FactId::ComputeCapability,
                             .relation = Relation::Runs,
                             .need = CudaKernels{.sass = sass_, .ptx = ptx_},
                             .name = "kernels"});
    }

    std::string name_;
    const Rules& rules_;
    std::set<Api> apis_ = {};
    std::vector<Term> terms_ = {};
    std::vector<std::pair<std::optional<Api>, std::string>> libraries_ = {};  ///< API and soname
    std::vector<std::pair<std::optional<Api>, std::string>> unlisted_ = {};
    std::vector<KernelTarget> sass_ = {};
    std::vector<KernelTarget> ptx_ = {};
    std::vector<GfxTarget> gfx_ = {};
    bool takes_any_gfx_ = false;
    /// The newest CUDA toolkit that a library or PTX implies, by major version.
    Version toolkit_ = {};
};

/// Splits the description of a build into parts.
std::vector<Part> parts_of(const DescribedBuild& build,
                           const std::vector<std::string>& bundles,
                           const Rules& rules) {
    std::set<std::string> names;
    for (const auto* words : {&build.needs, &build.bundles, &build.kernels})
        for (const auto& [name, list] : *words)
            names.insert(name);
    std::vector<Part> parts;
    const auto each = [](const PartWords& words, const std::string& name, auto add) {
        if (const auto found = words.find(name); found != words.end())
            std::ranges::for_each(found->second, add);
    };
    for (const auto& name : names) {
        auto& part = parts.emplace_back(name.empty() ? "the build" : name, rules);
        each(build.needs, name, [&](const auto& word) {
            // If the application bundles a needed library, the library counts as bundled.
            if (is_bundled(bundles, std::string_view{word}))
                part.add_bundled(word);
            else
                part.add_need(word);
        });
        each(build.bundles, name, [&part](const auto& word) { part.add_bundled(word); });
        each(build.kernels, name, [&part](const auto& word) { part.add_kernel(word); });
    }
    return parts;
}

/// Adds an alternative for each backend that uses the API; if there is no API, an alternative for
/// the CPU.
void add(const std::optional<Api>& api, const BuildNeeds& needs, InstalledNeeds& out) {
    if (!api)
        out[std::string{kCpu}].push_back(needs);
    for (const auto& backend : gpu_backends())
        if (api == backend.api)
            out[std::string{backend.name}].push_back(needs);
}

/// The compute APIs that an alternative of a variant uses; if they are unknown, all APIs.
std::vector<Api> apis_of(const Variant& variant, const Conjunction& alternative) {
    auto apis = apis_used(variant, alternative);
    if (apis.empty())
        for (const auto* api : computing_apis())
            apis.push_back(api->id);
    return apis;
}

/// Adds the alternatives of a variant.
void add_variant(const Variant& variant, InstalledNeeds& out) {
    BuildNeeds needs{.build = variant.name, .terms = variant.needs.host};
    for (const auto& word : variant.needs.unsupported)
        needs.terms.push_back({.relation = Relation::Never, .name = word});
    if (variant.needs.devices.empty())
        add(std::nullopt, needs, out);
    for (const auto& alternative : variant.needs.devices)
        for (const auto api : apis_of(variant, alternative)) {
            auto on_device = needs;
            // Whether the API is usable is tested for every candidate, so the needs here do not
            // contain that term.
            std::ranges::copy_if(alternative, std::back_inserter(on_device.terms),
                                 [](const Term& term) { return term.fact != FactId::Usable; });
            add(api, on_device, out);
        }
}

}  // namespace

bool can_be_bundled(std::string_view word) {
    const auto* api = find_api_of_backend(word);
    const auto library = library_info(std::string{word} + ".so");
    return (api && computes(*api)) || find_accelerator_backend(word) ||
           (library && library->api && !library->is_of_driver);
}

bool is_bundled(const std::vector<std::string>& words, std::string_view soname) {
    const auto library = library_info(soname);
    return library && library->api && !library->is_of_driver &&
           std::ranges::any_of(words, [&library](const std::string& word) {
               return word == library->stem || word == info_of(*library->api).backend;
           });
}

bool is_bundled(const std::vector<std::string>& words, Api api) {
    const auto& info = info_of(api);
    const auto loader = gpuprobe::words(info.libraries);
    // For Mesa, both the drivers and a loader must be bundled; for other APIs, only the libraries.
    return std::ranges::find(words, info.backend) != words.end() && !loader.empty() &&
           (!info.bundled_drivers.empty() || is_bundled(words, loader.front()));
}

std::string_view kernel_drivers_for(Api api) {
    const auto& info = info_of(api);
    return info.bundled_drivers.empty() ? info.kernel_drivers : info.bundled_drivers;
}

std::optional<std::string> need_problem(std::string_view word) {
    if (!is_soname(word)) {
        if (auto problem = predicate_problem(word))
            return problem;
        // A need must consist of a single term.
        const auto parsed = parse_predicate(word);
        return parsed && parsed->alternatives.size() == 1 && !parsed->takes_doubt
                   ? std::nullopt
                   : std::optional<std::string>{"a requirement cannot have alternatives"};
    }
    const bool is_plain = word.size() <= kMaxBuildWord && word.find('/') == std::string_view::npos;
    return is_plain ? std::nullopt : std::optional<std::string>{"not the name of a library"};
}

std::optional<std::string> kernels_problem(std::string_view word) {
    if (word.size() <= kMaxBuildWord && kernel_word(word).api)
        return std::nullopt;
    return "expected a name such as sm_90, compute_90@9.1, gfx1100 or spirv, or the name of an API";
}

InstalledNeeds needs_of(const DescribedBuild& build,
                        const std::vector<std::string>& bundles,
                        const Rules& rules) {
    const auto parts = parts_of(build, bundles, rules);
    InstalledNeeds needs;
    for (const auto& part : parts) {
        // A part that does not name an API concerns the whole program.
        if (part.apis().empty()) {
            add(std::nullopt, part.needs(std::nullopt), needs);
            for (const auto* api : computing_apis())
                add(api->id, part.needs(api->id), needs);
        }
        for (const auto api : part.apis()) {
            // If another part has kernels, a part without kernels is only a helper library for the
            // other part.
            const bool is_helper =
                !part.has_kernels(api) && std::ranges::any_of(parts, [api](const Part& other) {
                    return other.has_kernels(api);
                });
            if (!is_helper)
                add(api, part.needs(api), needs);
        }
    }
    return needs;
}

Result<InstalledNeeds> needs_of(const std::vector<std::string>& variants,
                                const Manifest& manifest,
                                const Facts& host) {
    const auto* platform = platform_for(manifest, host);
    std::vector<std::string> known;
    if (platform)
        for (const auto& variant : platform->variants)
            known.push_back(variant.name);
    InstalledNeeds needs;
    for (const auto& name : variants) {
        const auto* variant = platform ? find_variant(*platform, name) : nullptr;
        if (!variant)
            return Error{ErrorCode::InvalidRequest, "request: variant: " + scrubbed(name, 64) +
                                                        ": no variant of " + manifest.name +
                                                        " here" + suggestion(name, known)};
        add_variant(*variant, needs);
    }
    return needs;
}

}  // namespace gpuprobe::inline policy
