// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <tuple>

#include "base/parse.h"
#include "export/exported_gpu.h"
#include "export/formats.h"
#include "export/verdicts.h"
#include "policy/fact.h"
#include "report/compute_view.h"

/// Sources: gres.conf(5) and slurm.conf(5) of Slurm 22.05. Their types and features are words of
/// letters, digits and . : - _ (tests/integration/fleet runs jobs on them).
namespace gpuprobe::inline exports {
namespace {

/// More is a burden on the controller, and lines of sinfo.
constexpr std::size_t kMaxFeatures = 2048;

/// One line of gres.conf.
struct Gres {
    std::string name = {};  ///< "gpu"; "igpu" for what beside cards would be counted as one
    std::string type = {};
    std::string file = {};  ///< the option that names it
    std::string vendor = {};
};

/// "nvidia_h200", as Slurm's own detection writes it; for others the architecture, as names of
/// products say less.
std::string type_of(const ExportedGpu& gpu) {
    const auto* unit = unit_of(*gpu.gpu);
    std::string name = gpu.vendor + "_" + gpu.arch.value_or("gpu");
    if (unit && unit->profile && gpu.vendor != "nvidia")
        name += "_" + *unit->profile;
    if (gpu.vendor == "nvidia" && gpu.gpu->name)
        name = *gpu.gpu->name;
    if (const auto mark = name.find(" MIG "); mark != std::string::npos)
        name.erase(mark, 4);  // "nvidia_h100_80gb_hbm3_3g.40gb"
    std::string type;
    for (const char character : lower_case(name)) {
        const bool fits = (character >= 'a' && character <= 'z') ||
                          (character >= '0' && character <= '9') || character == '-' ||
                          character == '.';
        if (fits)
            type += character;
        else if (!type.empty() && type.back() != '_')
            type += '_';
    }
    return type.starts_with("nvidia") || gpu.vendor != "nvidia" ? type : "nvidia_" + type;
}

std::vector<std::string> files_of(const ExportedGpu& gpu) {
    return nodes_of(*gpu.gpu,
                    gpu.gpu->driver.name == "nvidia" ? "/dev/nvidia" : "/dev/dri/renderD");
}

/// A MIG instance is the GPU's node and those of its two capabilities.
/// Source: gres.conf(5) of Slurm 22.05, MultipleFiles.
std::string file_option(const ExportedGpu& gpu) {
    const auto files = files_of(gpu);
    if (!stands_alone(*gpu.gpu))
        return "File=" + files.front();
    auto text = "MultipleFiles=" + files.front();
    for (const auto& capability : unit_of(*gpu.gpu)->nodes)
        text += "," + capability;
    return text;
}

/// Files of one length by name, and shorter ones first: nvidia2 before nvidia10, as CUDA counts.
bool comes_before(const Gres& left, const Gres& right) {
    return std::tuple{left.name, left.file.size(), left.file} <
           std::tuple{right.name, right.file.size(), right.file};
}

/// Why a GPU is not offered; empty when it is.
std::string obstacle(const ExportedGpu& gpu) {
    const auto* unit = unit_of(*gpu.gpu);
    if (unit ? stands_alone(*gpu.gpu) && unit->nodes.size() < 2 : !gpu.gpu->partitions.empty())
        return gpu.place + " is divided: leave it to Slurm's AutoDetect, which knows its parts";
    if (files_of(gpu).empty())
        return gpu.place + " has no device node: slurmd would wait for it and then end";
    return "";
}

std::vector<Gres> gres_of(const std::vector<ExportedGpu>& gpus,
                          std::vector<ExportRemark>& left_out) {
    const bool has_cards = std::ranges::any_of(
        gpus, [](const ExportedGpu& gpu) { return gpu.gpu->kind == GpuKind::Discrete; });
    std::vector<Gres> all;
    for (const auto& gpu : gpus) {
        if (const auto problem = obstacle(gpu); !problem.empty()) {
            left_out.push_back({.code = "no-gres", .text = problem});
            continue;
        }
        const bool is_second = has_cards && gpu.gpu->kind == GpuKind::Integrated;
        all.push_back({.name = is_second ? "igpu" : "gpu",
                       .type = type_of(gpu),
                       .file = file_option(gpu),
                       .vendor = gpu.vendor});
    }
    std::ranges::sort(all, comes_before);
    return all;
}

std::set<std::string> vendors_of_cards(const std::vector<Gres>& all) {
    std::set<std::string> vendors;
    for (const auto& gres : all)
        if (gres.name == "gpu")
            vendors.insert(gres.vendor);
    return vendors;
}

/// Slurm's own words, whatever vendors we know. Source: the manual page of gres.conf, "Flags".
constexpr auto kVendorsOfFlags = std::to_array<std::string_view>({"amd", "intel", "nvidia"});

/// Slurm takes one set of flags for all lines of a name, whatever the manual says of types: with
/// two vendors it ends, or counts one vendor's GPUs for the other. Source: src/interfaces/gres.c.
std::string flags_of(const Gres& gres, const std::set<std::string>& vendors) {
    if (gres.name != "gpu")
        return "";
    const bool has_own = std::ranges::find(kVendorsOfFlags, gres.vendor) != kVendorsOfFlags.end();
    return " Flags=" + (vendors.size() == 1 && has_own ? gres.vendor + "_gpu_env" : "no_gpu_env");
}

/// "gpu:nvidia_h200:2,igpu:amd_gfx1036:1"
std::string gres_counts(const std::vector<Gres>& all) {
    std::map<std::string, int> counts;
    for (const auto& gres : all)
        ++counts[gres.name + ":" + gres.type];
    std::string text;
    for (const auto& [name, count] : counts)
        text += (text.empty() ? "" : ",") + name + ":" + std::to_string(count);
    return text;
}

std::string gres_types(const std::vector<Gres>& all) {
    std::set<std::string> names;
    for (const auto& gres : all)
        names.insert(gres.name);
    std::string text;
    for (const auto& name : names)
        text += (text.empty() ? "" : ",") + name;
    return text;
}

/// "cuda_sm90", "rocm_gfx942": of what works, an API and what it is used on.
std::set<std::string> target_features(const std::vector<ExportedGpu>& gpus) {
    std::set<std::string> features;
    for (const auto& gpu : gpus) {
        const auto api = own_api(gpu.vendor);
        if (!works_with(gpu, api))
            continue;
        features.insert(std::string{api});
        auto target = gpu.target.value_or("");
        std::erase(target, gpu.vendor == "nvidia" ? '_' : ' ');
        if (!target.empty())
            features.insert(std::string{api} + "_" + target);
    }
    return features;
}

void add_host_features(const ExportedHost& host, std::vector<std::string>& features) {
    if (!host.arch.empty())
        features.push_back(host.arch);
    if (host.libc == "musl")
        features.emplace_back("musl");
    if (host.glibc)
        features.push_back("glibc" + std::to_string(host.glibc->parts[0]) + "." +
                           std::to_string(host.glibc->parts[1]));
    if (host.cpu_level)
        features.push_back("x86-64-v" + std::to_string(*host.cpu_level));
}

/// Slurm has no "not": that no other kind of GPU is there, is a word of its own.
void add_kinds(const std::vector<ExportedGpu>& gpus, std::vector<std::string>& features) {
    const auto all_are = [&gpus](std::initializer_list<GpuKind> kinds) {
        return !gpus.empty() && std::ranges::all_of(gpus, [kinds](const ExportedGpu& gpu) {
            return std::ranges::find(kinds, gpu.gpu->kind) != kinds.end();
        });
    };
    if (all_are({GpuKind::Discrete, GpuKind::Integrated}))
        features.emplace_back("gpus-physical");
    if (all_are({GpuKind::Discrete}))
        features.emplace_back("gpus-discrete");
}

/// Booleans are all that Slurm compares: versions become words.
std::vector<std::string> fact_features(const ExportSubject& subject,
                                       const std::vector<ExportedGpu>& gpus) {
    const auto targets = target_features(gpus);
    std::vector<std::string> features{targets.begin(), targets.end()};
    std::set<std::string> branches;
    for (const auto& gpu : gpus)
        if (gpu.vendor == "nvidia" && gpu.facts.version(FactId::Driver).value)
            branches.insert("cuda_drv" +
                            std::to_string(gpu.facts.version(FactId::Driver).value->major()));
    features.insert(features.end(), branches.begin(), branches.end());
    if (std::ranges::any_of(gpus, [](const auto& gpu) { return works_with(gpu, "opencl"); }))
        features.emplace_back("opencl");
    if (std::ranges::any_of(gpus, [](const auto& gpu) { return works_with(gpu, "vulkan"); }))
        features.emplace_back("vulkan");
    if (const auto vulkan = least_version(gpus, Api::Vulkan))
        features.push_back("vulkan" + std::to_string(vulkan->parts[0]) + "." +
                           std::to_string(vulkan->parts[1]));
    add_kinds(gpus, features);
    add_host_features(exported_host(subject.report), features);
    return features;
}

/// Facts, and verdicts as long as there is room. Two verdicts of one word would be one.
struct Features {
    std::vector<std::string> words = {};
    std::optional<ExportRemark> refusal = {};
};

Features features_of(const ExportSubject& subject,
                     const std::vector<ExportedGpu>& gpus,
                     std::vector<ExportRemark>& left_out) {
    Features features{.words = fact_features(subject, gpus)};
    std::size_t length = 0;
    for (const auto& word : features.words)
        length += word.size() + 1;
    std::map<std::string, std::string> meanings;
    std::size_t dropped = 0;
    for (const auto& product : verdicts_of(subject, left_out))
        for (const auto& variant : product.supported) {
            const auto word = slurm_verdict_word(product.product, variant);
            const auto meaning = product.product + " " + variant;
            if (const auto [at, is_new] = meanings.emplace(word, meaning);
                !is_new && at->second != meaning) {
                features.refusal = {.code = "collision",
                                    .text = at->second + " and " + meaning + " are both " + word};
                return features;
            }
            if (length + word.size() + 1 > kMaxFeatures) {
                ++dropped;
                continue;
            }
            length += word.size() + 1;
            features.words.push_back(word);
        }
    if (dropped > 0)
        left_out.push_back({.code = "over-budget",
                            .text = std::to_string(dropped) +
                                    " verdicts are left out: they are over 2 KiB of features"});
    return features;
}

std::string node_line(const ExportSubject& subject,
                      const std::vector<Gres>& all,
                      const std::vector<std::string>& features) {
    auto line = "NodeName=" + subject.node;
    if (!all.empty())
        line += " Gres=" + gres_counts(all);
    if (!features.empty())
        line += " Feature=" + joined(features, ",");
    return line + "\n";
}

/// Both formats from the same parts.
struct SlurmNode {
    std::vector<Gres> gres = {};
    std::string line = {};
};

/// Refused where there is no name, or a collision.
std::optional<SlurmNode> slurm_node(const ExportSubject& subject, Exported& result) {
    const bool has_name =
        !subject.node.empty() && std::ranges::all_of(subject.node, [](char character) {
            return character > ' ' && character < 0x7f &&
                   std::string_view{"=,#\""}.find(character) == std::string_view::npos;
        });
    if (!has_name) {
        result.left_out = {{.code = "unfit-name",
                            .text = "'" + scrubbed(subject.node, 64) + "' is no name of a node"}};
        return std::nullopt;
    }
    const auto gpus = exported_gpus(subject, result.left_out);
    SlurmNode node{.gres = gres_of(gpus, result.left_out)};
    auto features = features_of(subject, gpus, result.left_out);
    if (features.refusal) {
        result.left_out = {*features.refusal};
        return std::nullopt;
    }
    node.line = node_line(subject, node.gres, features.words);
    if (vendors_of_cards(node.gres).size() > 1)
        result.notes.push_back(
            {.code = "mixed-vendors",
             .text = "Slurm sets no variables for GPUs of two vendors: let a TaskProlog set what "
                     "'gpuprobectl env GPU' prints"});
    return node;
}

}  // namespace

std::string slurm_verdict_word(std::string_view product, std::string_view variant) {
    const auto plain = [](std::string_view name) {
        std::string text{name};
        std::erase_if(text, [](char character) { return character == '.' || character == '-'; });
        return text;
    };
    return "var_" + plain(product) + "_" + plain(variant);
}

Exported write_slurm_gres(const ExportSubject& subject) {
    Exported result;
    const auto node = slurm_node(subject, result);
    if (!node)
        return result;
    std::string text = "# Review, then install beside slurm.conf, which wants:\n";
    if (!node->gres.empty())
        text += "#   GresTypes=" + gres_types(node->gres) + "\n";
    text += "#   " + node->line;
    text += "NodeName=" + subject.node + " AutoDetect=off\n";
    const auto vendors = vendors_of_cards(node->gres);
    for (const auto& gres : node->gres)
        text += "NodeName=" + subject.node + " Name=" + gres.name + " Type=" + gres.type + " " +
                gres.file + flags_of(gres, vendors) + "\n";
    result.text = std::move(text);
    return result;
}

Exported write_slurm_node(const ExportSubject& subject) {
    Exported result;
    if (const auto node = slurm_node(subject, result))
        result.text = node->line;
    return result;
}

}  // namespace gpuprobe::inline exports
