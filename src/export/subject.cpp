// SPDX-License-Identifier: Apache-2.0
#include "export/subject.h"

#include <algorithm>

#include "base/text.h"
#include "policy/fact.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/hardware.h"
#include "report/identity.h"

namespace gpuprobe::inline exports {

std::string instant_text(WallTime instant) {
    const auto day = std::chrono::floor<std::chrono::days>(instant);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss time{std::chrono::floor<std::chrono::seconds>(instant - day)};
    return zero_padded(int{date.year()}, 4) + "-" + zero_padded(unsigned{date.month()}, 2) + "-" +
           zero_padded(unsigned{date.day()}, 2) + "T" + zero_padded(time.hours().count(), 2) + ":" +
           zero_padded(time.minutes().count(), 2) + ":" + zero_padded(time.seconds().count(), 2) +
           "Z";
}

namespace {

/// A family of Intel's graphics IP versions.
struct IntelFamily {
    VersionRange graphics;
    const char* word;
};

std::optional<std::string> intel_word(const std::string& text) {
    // The graphics IP versions of each family. Source: drivers/gpu/drm/xe/xe_pci.c, graphics_ips.
    static const IntelFamily families[] = {
        {{.min = Version{{12, 0}}, .below = Version{{12, 50}}}, "xe_lp"},
        {{.min = Version{{12, 50}}, .below = Version{{12, 60}}}, "xe_hpg"},
        {{.min = Version{{12, 60}}, .below = Version{{12, 70}}}, "xe_hpc"},
        {{.min = Version{{12, 70}}, .below = Version{{13, 0}}}, "xe_lpg"},
        {{.min = Version{{20, 0}}, .below = Version{{21, 0}}}, "xe2"},
        {{.min = Version{{30, 0}}, .below = Version{{35, 0}}}, "xe3"},
        {{.min = Version{{35, 0}}, .below = Version{{36, 0}}}, "xe3p"},
    };
    const auto ip = leading_version(text);
    for (const auto& family : families)
        if (ip && family.graphics.contains(*ip))
            return family.word;
    return std::nullopt;
}

std::optional<std::string> cuda_word(const std::string& text) {
    const auto capability = parse_text(text, std::type_identity<ComputeCapability>{});
    if (!capability)
        return std::nullopt;
    return "sm_" + std::to_string(capability->major) + std::to_string(capability->minor);
}

std::optional<std::string> gfx_word(const std::string& text) {
    const auto target = parse_text(text, std::type_identity<GfxTarget>{});
    return target ? std::optional{target->processor} : std::nullopt;
}

/// The target of kernels. Only NVIDIA, AMD and Intel provide compilers that can build for a single
/// target.
std::optional<std::string> target_of(const ExportedGpu& gpu) {
    if (const auto& ip = gpu.facts.version(FactId::IntelIp).value; gpu.vendor == "intel" && ip)
        return text_of(*ip);
    return gpu.vendor == "nvidia" || gpu.vendor == "amd" ? gpu.arch : std::nullopt;
}

/// The vendor's name; "other" for any vendor that does not have its own API.
std::string closed_vendor(const std::optional<std::string>& vendor) {
    return vendor && own_api_of(*vendor) ? *vendor : "other";
}

/// False if the API is from another vendor and therefore cannot work on the GPU.
bool is_meant(const ApiInfo& api, const std::string& vendor) {
    return api.vendor.empty() || vendor == api.vendor;
}

std::map<std::string, bool> apis_of(const ExportedGpu& gpu) {
    std::map<std::string, bool> apis;
    for (const auto* api : computing_apis())
        if (const auto works = gpu.facts.usable(api->id); works && is_meant(*api, gpu.vendor))
            apis.emplace(api->fleet_word, *works);
    return apis;
}

std::optional<std::string> card_of(const Gpu& gpu) {
    constexpr std::string_view kFolder = "/dev/dri/";
    const auto cards = nodes_of(gpu, "/dev/dri/card");
    return cards.empty() ? std::nullopt : std::optional{cards.front().substr(kFolder.size())};
}

/// The place of a GPU. The place of a partition consists of the place of the GPU, a slash and the
/// name of the partition.
std::string place_of(const Gpu& gpu) {
    if (!gpu.pci || !gpu.pci->address)
        return gpu.id;
    const auto* partition = partition_of(gpu);
    return text_of(*gpu.pci->address) + (partition ? "/" + partition->name : "");
}

}  // namespace

std::string_view own_api(std::string_view vendor) {
    const auto* api = own_api_of(vendor);
    return api ? api->fleet_word : "";
}

std::optional<std::string> arch_word(const Architecture& architecture) {
    if (architecture.cuda_compute_capability)
        return cuda_word(*architecture.cuda_compute_capability);
    if (architecture.gfx_target)
        return gfx_word(*architecture.gfx_target);
    return architecture.intel_ip ? intel_word(*architecture.intel_ip) : std::nullopt;
}

std::vector<ExportedGpu> exported_gpus(const ExportSubject& subject,
                                       std::vector<ExportRemark>& left_out) {
    const auto machine = machine_facts(subject.report, subject.rules);
    if (machine.left_out > 0)
        left_out.push_back(
            {.code = "over-budget",
             .text = std::to_string(machine.left_out) + " GPUs are left out, because at most " +
                     std::to_string(kMaxVariantGpus) + " GPUs of a machine are supported"});
    // Sort the facts, so that two exports of the same state are equal.
    std::vector<const Facts*> sorted;
    for (const auto& facts : machine.gpus)
        sorted.push_back(&facts);
    std::ranges::sort(sorted, {}, [](const Facts* facts) { return facts->gpu()->id; });
    std::vector<ExportedGpu> gpus;
    for (const auto* facts : sorted) {
        const auto* found = facts->gpu();
        ExportedGpu gpu{.gpu = found, .facts = *facts};
        gpu.place = place_of(*found);
        gpu.model = title_of(*found);
        if (!gpu.model)
            gpu.model = found->name;
        gpu.vendor = closed_vendor(found->vendor);
        gpu.arch = arch_word(found->architecture);
        gpu.card = card_of(*found);
        gpu.apis = apis_of(gpu);
        gpu.target = target_of(gpu);
        gpus.push_back(std::move(gpu));
    }
    return gpus;
}

ExportedHost exported_host(const Report& report) {
    const Facts facts{{.report = report}};
    const auto& level = facts.version(FactId::CpuLevel).value;
    return {.arch = report.host.arch.value_or(""),
            .libc = facts.get<std::string>(FactId::Libc).value,
            .glibc = facts.version(FactId::Glibc).value,
            .cpu_level = level ? std::optional{level->major()} : std::nullopt};
}

std::optional<std::string> partition_word(const ExportedGpu& gpu) {
    const auto* partition = partition_of(*gpu.gpu);
    if (!partition || !partition->profile)
        return std::nullopt;
    // Profiles may contain "+" and ",", which aren't allowed in names of resources.
    auto word = (stands_alone(*gpu.gpu) ? "mig-" : "") + *partition->profile;
    std::ranges::replace_if(
        word, [](char character) { return character == '+' || character == ','; }, '.');
    return word;
}

std::optional<Bytes> memory_of(const ExportedGpu& gpu) {
    return memory_for_use(*gpu.gpu).value;
}

bool works_with(const ExportedGpu& gpu, std::string_view api) {
    const auto found = gpu.apis.find(std::string{api});
    return found != gpu.apis.end() && found->second;
}

std::optional<Version> usable_vulkan(const ExportedGpu& gpu) {
    const auto& device = gpu.facts.version(FactId::Vulkan).value;
    const auto& loader = gpu.facts.version(FactId::VulkanLoader).value;
    return device && loader ? std::min(*device, *loader) : device;
}

std::optional<Version> least_version(const std::vector<ExportedGpu>& gpus, Api api) {
    std::optional<Version> least;
    for (const auto& gpu : gpus) {
        const auto version = api == Api::Cuda  ? gpu.facts.version(FactId::Cuda).value
                             : api == Api::Hip ? gpu.facts.version(FactId::Rocm).value
                                               : usable_vulkan(gpu);
        if (works_with(gpu, info_of(api).fleet_word) && version)
            least = least ? std::min(*least, *version) : *version;
    }
    return least;
}

std::vector<std::string> nodes_of(const Gpu& gpu, std::string_view start) {
    std::vector<std::string> paths;
    for (const auto& node : gpu.nodes)
        if (node.path.starts_with(start) && node.reason != "missing")
            paths.push_back(node.path);
    return paths;
}

namespace {

bool is_letter_or_digit(char character) {
    return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9');
}

/// Makes the remark about a name that is invalid.
ExportRemark unfit(const std::string& what) {
    return {.code = "unfit-name",
            .text = what + " left out: a label can have at most " + std::to_string(kMaxFleetName) +
                    " characters, and only a-z, 0-9, '.', '_' and '-'"};
}

/// The variant that should be installed, even if its name is invalid; nullopt if no variant can
/// run.
std::optional<std::string> best_of(const Recommendation& answer) {
    const auto& all = answer.candidates;
    const bool is_any = !all.empty() && all.front().verdict != Verdict::Rejected;
    return is_any ? std::optional{all.front().variant} : std::nullopt;
}

/// Sorts the candidates into supported and unsupported variants. Returns the number of invalid
/// names.
std::size_t sort_out(const Recommendation& answer, Verdicts& verdicts) {
    std::size_t unfit_names = 0;
    for (const auto& candidate : answer.candidates) {
        const bool is_rejected = candidate.verdict == Verdict::Rejected;
        if (is_fleet_name(candidate.variant))
            (is_rejected ? verdicts.unsupported : verdicts.supported).push_back(candidate.variant);
        else
            ++unfit_names;
    }
    return unfit_names;
}

}  // namespace

bool is_fleet_name(std::string_view name) {
    if (name.empty() || name.size() > kMaxFleetName)
        return false;
    const bool is_made_of_them = std::ranges::all_of(name, [](char character) {
        return is_letter_or_digit(character) ||
               std::string_view{"._-"}.find(character) != std::string_view::npos;
    });
    return is_made_of_them && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back());
}

std::string identifier_of(std::string_view name) {
    std::string text{name};
    std::ranges::replace_if(
        text,
        [](char character) {
            const bool is_capital = character >= 'A' && character <= 'Z';
            return !is_letter_or_digit(character) && !is_capital && character != '_';
        },
        '_');
    return text;
}

std::vector<Verdicts> verdicts_of(const ExportSubject& subject,
                                  std::vector<ExportRemark>& left_out) {
    std::vector<Verdicts> all;
    for (const auto& answer : subject.answers) {
        if (!is_fleet_name(answer.application)) {
            left_out.push_back(
                unfit("the application '" + scrubbed(answer.application, 64) + "' is"));
            continue;
        }
        Verdicts verdicts{.application = answer.application};
        if (const auto count = sort_out(answer, verdicts); count > 0)
            left_out.push_back(
                unfit(std::to_string(count) + " variants of " + answer.application + " are"));
        // Supported variants stay in the order in which they should be tried.
        std::ranges::sort(verdicts.unsupported);
        if (const auto best = best_of(answer); best && is_fleet_name(*best))
            verdicts.best = best;
        all.push_back(std::move(verdicts));
    }
    return all;
}

}  // namespace gpuprobe::inline exports
