// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "export/formats.h"
#include "export/selector.h"
#include "export/subject.h"
#include "policy/fact.h"
#include "report/compute_view.h"

/// Exports the configuration of Slurm nodes. Types and features consist of letters, digits and the
/// characters ". : - _" (tests/integration/fleet runs jobs on nodes with such names). Sources:
/// gres.conf(5) and slurm.conf(5) of Slurm 22.05.

namespace gpuprobe::inline exports {
namespace {

/// The maximum length of the list of features in bytes. A longer list would burden the controller,
/// and people who read the output of sinfo.
constexpr std::size_t kMaxFeatures = 2048;

/// A line of gres.conf.
struct Gres {
    /// "gpu", but "igpu" for integrated GPUs if there are also discrete GPUs.
    std::string name = {};
    std::string type = {};
    std::string file = {};  ///< the option that lists the device files
    std::string vendor = {};
};

/// The type of a GPU. For NVIDIA, the type is the name that Slurm's detection uses, such as
/// "nvidia_h200"; for other vendors, it is the architecture, because their product names are less
/// specific.
std::string type_of(const ExportedGpu& gpu) {
    const auto* partition = partition_of(*gpu.gpu);
    std::string name = gpu.vendor + "_" + gpu.arch.value_or("gpu");
    if (partition && partition->profile && gpu.vendor != "nvidia")
        name += "_" + *partition->profile;
    if (gpu.vendor == "nvidia" && gpu.gpu->name)
        name = *gpu.gpu->name;
    if (const auto mark = name.find(" MIG "); mark != std::string::npos)
        name.erase(mark, 4);  // such as "nvidia_h100_80gb_hbm3_3g.40gb"
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

/// The device files by which Slurm identifies a GPU.
std::vector<std::string> files_of(const ExportedGpu& gpu) {
    return nodes_of(*gpu.gpu,
                    gpu.gpu->driver.name == "nvidia" ? "/dev/nvidia" : "/dev/dri/renderD");
}

/// The option that lists the device files. A MIG instance has the device node of its GPU and the
/// nodes of two capabilities. Source: gres.conf(5) of Slurm 22.05, MultipleFiles.
std::string file_option(const ExportedGpu& gpu) {
    const auto files = files_of(gpu);
    if (!stands_alone(*gpu.gpu))
        return "File=" + files.front();
    auto text = "MultipleFiles=" + files.front();
    for (const auto& capability : partition_of(*gpu.gpu)->nodes)
        text += "," + capability;
    return text;
}

/// The order of lines. Shorter file names come first, so that nvidia2 precedes nvidia10, as in the
/// order in which CUDA numbers GPUs.
bool comes_before(const Gres& left, const Gres& right) {
    return std::tuple{left.name, left.file.size(), left.file} <
           std::tuple{right.name, right.file.size(), right.file};
}

/// The reason why a GPU is left out of the configuration; empty if the GPU can be used.
std::string obstacle(const ExportedGpu& gpu) {
    const auto* partition = partition_of(*gpu.gpu);
    // A MIG instance needs the nodes of two capabilities. A partitioned GPU cannot be offered as a
    // whole GPU.
    if (partition ? stands_alone(*gpu.gpu) && partition->nodes.size() < 2
                  : !gpu.gpu->partitions.empty())
        return gpu.place + " is partitioned: use Slurm's AutoDetect, which detects the partitions";
    if (files_of(gpu).empty())
        return gpu.place + " has no device node: slurmd would wait for the node and then exit";
    return "";
}

/// The lines for all GPUs.
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
        // A job that requests a "gpu" must not get the integrated GPU instead of a discrete GPU.
        const bool is_second = has_cards && gpu.gpu->kind == GpuKind::Integrated;
        all.push_back({.name = is_second ? "igpu" : "gpu",
                       .type = type_of(gpu),
                       .file = file_option(gpu),
                       .vendor = gpu.vendor});
    }
    std::ranges::sort(all, comes_before);
    return all;
}

/// The vendors of the GPUs in lines with the name "gpu".
std::set<std::string> vendors_of_cards(const std::vector<Gres>& all) {
    std::set<std::string> vendors;
    for (const auto& gres : all)
        if (gres.name == "gpu")
            vendors.insert(gres.vendor);
    return vendors;
}

/// The vendors for which Slurm has a flag. Source: the manual page of gres.conf, "Flags".
constexpr auto kVendorsOfFlags = std::to_array<std::string_view>({"amd", "intel", "nvidia"});

/// The flags of a line. According to the manual, a flag applies to one type, but Slurm applies the
/// flag to all lines with the same name: on a node with GPUs from two vendors, Slurm exits or
/// counts the GPUs of one vendor as GPUs of the other vendor. Source: src/interfaces/gres.c.
std::string flags_of(const Gres& gres, const std::set<std::string>& vendors) {
    if (gres.name != "gpu")
        return "";
    const bool has_own = std::ranges::find(kVendorsOfFlags, gres.vendor) != kVendorsOfFlags.end();
    return " Flags=" + (vendors.size() == 1 && has_own ? gres.vendor + "_gpu_env" : "no_gpu_env");
}

/// The value of Gres=, such as "gpu:nvidia_h200:2,igpu:amd_gfx1036:1".
std::string gres_counts(const std::vector<Gres>& all) {
    std::map<std::string, int> counts;
    for (const auto& gres : all)
        ++counts[gres.name + ":" + gres.type];
    std::string text;
    for (const auto& [name, count] : counts)
        text += (text.empty() ? "" : ",") + name + ":" + std::to_string(count);
    return text;
}

/// The value of GresTypes=: "gpu,igpu".
std::string gres_types(const std::vector<Gres>& all) {
    std::set<std::string> names;
    for (const auto& gres : all)
        names.insert(gres.name);
    std::string text;
    for (const auto& name : names)
        text += (text.empty() ? "" : ",") + name;
    return text;
}

/// The features for the vendors' working APIs and their targets, such as "cuda", "cuda_sm90" and
/// "rocm_gfx942".
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

/// Adds the features of the host, such as "x86_64", "glibc2.36" and "x86-64-v3".
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

/// Adds the features "gpus-physical" and "gpus-discrete" to machines that have no other kinds of
/// GPUs. A constraint in Slurm cannot exclude the other kinds of GPUs, because constraints have no
/// "not".
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

/// All features about the hardware and the host. Slurm cannot compare numbers, so each version is a
/// separate feature.
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

/// The features of a node; if two verdicts would have the same feature, the export is refused.
struct Features {
    std::vector<std::string> words = {};
    std::optional<ExportRemark> refusal = {};
};

/// The features for all facts are followed by as many verdicts as fit into kMaxFeatures.
Features features_of(const ExportSubject& subject,
                     const std::vector<ExportedGpu>& gpus,
                     std::vector<ExportRemark>& left_out) {
    Features features{.words = fact_features(subject, gpus)};
    std::size_t length = 0;
    for (const auto& word : features.words)
        length += word.size() + 1;
    std::map<std::string, std::string> meanings;
    std::size_t dropped = 0;
    for (const auto& application : verdicts_of(subject, left_out))
        for (const auto& variant : application.supported) {
            const auto word = slurm_verdict_word(application.application, variant);
            const auto meaning = application.application + " " + variant;
            if (const auto [at, is_new] = meanings.emplace(word, meaning);
                !is_new && at->second != meaning) {
                features.refusal = {.code = "collision",
                                    .text = at->second + " and " + meaning +
                                            " would both become the feature " + word};
                return features;
            }
            // If a feature does not fit, a later, shorter feature may still fit.
            if (length + word.size() + 1 > kMaxFeatures) {
                ++dropped;
                continue;
            }
            length += word.size() + 1;
            features.words.push_back(word);
        }
    if (dropped > 0)
        left_out.push_back(
            {.code = "over-budget",
             .text = std::to_string(dropped) +
                     " verdicts are left out, because the features would be longer than 2 KiB"});
    return features;
}

/// The line for the node in slurm.conf.
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

/// The data for the formats slurm-gres and slurm-node.
struct SlurmNode {
    std::vector<Gres> gres = {};
    std::string line = {};
};

/// The node; nullopt, with the reason in `result`, if the node's name is invalid or two features
/// are equal.
std::optional<SlurmNode> slurm_node(const ExportSubject& subject, Exported& result) {
    const bool has_name =
        !subject.node.empty() && std::ranges::all_of(subject.node, [](char character) {
            return character > ' ' && character < 0x7f &&
                   std::string_view{"=,#\""}.find(character) == std::string_view::npos;
        });
    if (!has_name) {
        result.left_out = {
            {.code = "unfit-name",
             .text = "'" + scrubbed(subject.node, 64) + "' is not a valid node name"}};
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
             .text = "Slurm sets no variables on a node with GPUs from two vendors: in a "
                     "TaskProlog, set the variables that 'gpuprobectl env GPU' prints"});
    return node;
}

}  // namespace

std::string slurm_verdict_word(std::string_view application, std::string_view variant) {
    const auto plain = [](std::string_view name) {
        std::string text{name};
        std::erase_if(text, [](char character) { return character == '.' || character == '-'; });
        return text;
    };
    return "var_" + plain(application) + "_" + plain(variant);
}

Exported write_slurm_gres(const ExportSubject& subject) {
    Exported result;
    const auto node = slurm_node(subject, result);
    if (!node)
        return result;
    std::string text = "# Review this file, then install it next to slurm.conf, which needs:\n";
    if (!node->gres.empty())
        text += "#   GresTypes=" + gres_types(node->gres) + "\n";
    text += "#   " + node->line;
    // The following lines name all GPUs, so Slurm must not detect GPUs itself.
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

// A constraint for Slurm consists of features joined by & and |, with one level of parentheses.
// Slurm rejects a constraint that contains a feature that no node has, so only features of the
// cluster's nodes are used. Source: srun(1), --constraint.

namespace {

using Words = std::vector<std::string>;

constexpr std::uint32_t kLastGlibc =
    50;  ///< the last minor version to list if the cluster's features are unknown
constexpr std::uint32_t kLastVulkan = 9;
constexpr int kLastCpuLevel = 4;

/// The features of the cluster's nodes; if they are unknown, all possible features.
class Vocabulary {
public:
    explicit Vocabulary(const Words& known) : known_{known} {}

    /// Returns the given features that at least one node of the cluster has.
    [[nodiscard]] Words among(Words words) const {
        if (!known_.empty())
            std::erase_if(words, [this](const auto& word) {
                return std::ranges::find(known_, word) == known_.end();
            });
        return words;
    }
    /// Returns the cluster's features that begin with `start` and have a version >= `floor`; if the
    /// cluster's features are unknown, returns `otherwise`.
    [[nodiscard]] Words from(std::string_view start, const Version& floor, Words otherwise) const {
        if (known_.empty())
            return otherwise;
        Words words;
        for (const auto& word : known_) {
            if (!word.starts_with(start))
                continue;
            const auto version = parse_text(std::string_view{word}.substr(start.size()),
                                            std::type_identity<Version>{});
            if (version && *version >= floor)
                words.push_back(word);
        }
        return words;
    }

private:
    const Words& known_;
};

/// Groups of alternative features; the groups are joined by &. If a group is empty, no node can
/// match.
class Constraint {
public:
    /// Adds a group of features. A node must have at least one feature of each group.
    void any_of(Words words) {
        is_possible_ = is_possible_ && !words.empty();
        std::string group;
        for (const auto& word : words)
            group += (group.empty() ? "" : "|") + word;
        text_ += (text_.empty() ? "" : "&") + (words.size() > 1 ? "(" + group + ")" : group);
    }
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] bool is_possible() const { return is_possible_; }

private:
    std::string text_ = {};
    bool is_possible_ = true;
};

/// The features for a range of minor versions, such as "vulkan1.2" and "vulkan1.3".
Words versions(const std::string& start, std::uint32_t first, std::uint32_t last) {
    Words words;
    for (auto minor = first; minor <= last; ++minor)
        words.push_back(start + std::to_string(minor));
    return words;
}

/// Adds the requirements for the host.
void add_host(const HostNeed& host, const Vocabulary& there, Constraint& constraint) {
    constraint.any_of(there.among({host.arch}));
    if (host.glibc)
        constraint.any_of(there.from("glibc", *host.glibc,
                                     versions("glibc2.", host.glibc->parts[1], kLastGlibc)));
    else if (host.libc == "musl")
        constraint.any_of(there.among({"musl"}));
    else if (host.libc)
        // Any version of glibc. If the cluster's features are unknown, list all versions from
        // 2.17.
        constraint.any_of(there.from("glibc", {}, versions("glibc2.", 17, kLastGlibc)));
    Words levels;
    for (auto level = host.cpu_level.value_or(kLastCpuLevel + 1); level <= kLastCpuLevel; ++level)
        levels.push_back("x86-64-v" + std::to_string(level));
    if (host.cpu_level)
        constraint.any_of(there.among(levels));
}

/// The features for the targets of a GPU, such as "cuda_sm90" for the target "sm_90".
Words target_words(const GpuNeed& gpu) {
    Words words;
    for (auto target : *gpu.targets) {
        if (gpu.api == "cuda")
            std::erase(target, '_');
        words.push_back(*gpu.api + "_" + target);
    }
    return words;
}

/// The features for drivers of at least a minimum version. Each feature is a whole driver branch,
/// so a version such as 550.54 is rounded up to the next branch.
Words driver_words(const Version& floor,
                   const Vocabulary& there,
                   const Rules& rules,
                   FleetQuery& query) {
    const bool is_whole = floor == Version{{floor.major()}};
    const Version branch{{floor.major() + (is_whole ? 0 : 1)}};
    if (!is_whole)
        query.stronger.push_back(
            asked_more("drivers of branch " + std::to_string(floor.major()) +
                       ", because a feature names only the number of the branch"));
    Words known;
    for (const auto number : rules.driver_branches())
        if (number >= branch.major())
            known.push_back("cuda_drv" + std::to_string(number));
    return there.from("cuda_drv", branch, std::move(known));
}

/// The word for machines that have only GPUs of the given kinds; empty if Slurm nodes have no such
/// word.
std::string kind_word(const std::set<GpuKind>& kinds) {
    if (kinds == std::set{GpuKind::Discrete, GpuKind::Integrated})
        return "gpus-physical";
    return kinds == std::set{GpuKind::Discrete} ? "gpus-discrete" : "";
}

/// Records the requirements that no feature represents.
void add_weaker(const GpuNeed& gpu, FleetQuery& query) {
    const bool is_implied = gpu.vendors.size() == 1 && gpu.api == own_api(gpu.vendors.front());
    if (!gpu.vendors.empty() && !is_implied)
        query.weaker.push_back(not_asked("vendor"));
    if (gpu.kinds && kind_word(*gpu.kinds).empty())
        query.weaker.push_back(not_asked("kinds"));
    if (gpu.memory)
        query.weaker.push_back(
            not_asked("vram_min_mib: " + std::to_string(gpu.memory->count / mib(1).count)));
}

/// The options for one alternative of the requirements; empty if no node can match. Each
/// alternative is on a separate line, because parentheses cannot be nested.
std::string line_for(const FleetNeed& need,
                     const GpuNeed* gpu,
                     const Vocabulary& there,
                     const Rules& rules,
                     FleetQuery& query) {
    Constraint constraint;
    if (gpu && gpu->targets)
        constraint.any_of(there.among(target_words(*gpu)));
    else if (gpu && gpu->api)
        constraint.any_of(there.among({*gpu->api}));
    if (gpu && gpu->driver)
        constraint.any_of(driver_words(*gpu->driver, there, rules, query));
    if (gpu && gpu->kinds && !kind_word(*gpu->kinds).empty()) {
        constraint.any_of(there.among({kind_word(*gpu->kinds)}));
        query.stronger.push_back(asked_more("machines that also have another kind of GPU"));
    }
    if (gpu && gpu->vulkan)
        constraint.any_of(there.from("vulkan", *gpu->vulkan,
                                     versions("vulkan1.", gpu->vulkan->parts[1], kLastVulkan)));
    add_host(need.host, there, constraint);
    if (!constraint.is_possible())
        return "";
    return "--constraint='" + constraint.text() + "'" + (gpu ? " --gres=gpu:1" : "") + "\n";
}

}  // namespace

Result<FleetQuery> slurm_query(const FleetNeed& need, const Rules& rules, const Words& known) {
    auto query = query_for(need);
    const Vocabulary there{known};
    for (const auto& gpu : need.gpus) {
        add_weaker(gpu, query);
        query.text += line_for(need, &gpu, there, rules, query);
    }
    if (need.gpus.empty())
        query.text = line_for(need, nullptr, there, rules, query);
    if (need.host.kernel)
        query.weaker.push_back(not_asked("kernel_min: " + text_of(*need.host.kernel)));
    for (const auto& feature : need.host.cpu_features)
        query.weaker.push_back(not_asked("cpu_features: " + feature));
    if (query.text.empty())
        return Error{ErrorCode::NoMatch, "no node of this cluster has the required features"};
    if (known.empty())
        query.stronger.push_back(
            asked_more("all machines if any of the features exists on no node, because Slurm then "
                       "rejects the query: pass the existing features with --features=\"$(sinfo "
                       "-h -o %f | paste -sd,)\""));
    unite(query.weaker);
    unite(query.stronger);
    return query;
}

}  // namespace gpuprobe::inline exports
