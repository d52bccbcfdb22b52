// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "export/exported_gpu.h"
#include "export/selector.h"

/// Queries for Slurm: words joined by & and |, with one level of parentheses. Slurm rejects a query
/// with a word that no node of the cluster has, so the cluster's words matter. Source: srun(1),
/// --constraint.
namespace gpuprobe::inline exports {
namespace {

using Words = std::vector<std::string>;

constexpr std::uint32_t kLastGlibc = 50;  ///< last one to list if the cluster's words are unknown
constexpr std::uint32_t kLastVulkan = 9;
constexpr int kLastCpuLevel = 4;

/// The cluster's words; if they are unknown, all possible words.
class Vocabulary {
public:
    explicit Vocabulary(const Words& known) : known_{known} {}

    /// The words that the cluster has.
    [[nodiscard]] Words among(Words words) const {
        if (!known_.empty())
            std::erase_if(words, [this](const auto& word) {
                return std::ranges::find(known_, word) == known_.end();
            });
        return words;
    }
    /// The cluster's words that begin with `start` and have a version >= `floor`; `otherwise` if
    /// the cluster's words are unknown.
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

/// Alternatives joined by &. The constraint is impossible if any alternative has no words.
class Constraint {
public:
    /// Adds a group of words, of which a node must have one.
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

/// "vulkan1.2", "vulkan1.3" …
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
        // Any version of glibc. The list for an unknown cluster begins with 2.17.
        constraint.any_of(there.from("glibc", {}, versions("glibc2.", 17, kLastGlibc)));
    Words levels;
    for (auto level = host.cpu_level.value_or(kLastCpuLevel + 1); level <= kLastCpuLevel; ++level)
        levels.push_back("x86-64-v" + std::to_string(level));
    if (host.cpu_level)
        constraint.any_of(there.among(levels));
}

/// "cuda_sm90" for the target "sm_90".
Words target_words(const GpuNeed& gpu) {
    Words words;
    for (auto target : *gpu.targets) {
        if (gpu.api == "cuda")
            std::erase(target, '_');
        words.push_back(*gpu.api + "_" + target);
    }
    return words;
}

/// The words for drivers of that version or newer. Only whole branches have a word, so a minor
/// version rounds up.
Words driver_words(const Version& floor,
                   const Vocabulary& there,
                   const Rules& rules,
                   FleetQuery& query) {
    const bool is_whole = floor == Version{{floor.major()}};
    const Version branch{{floor.major() + (is_whole ? 0 : 1)}};
    if (!is_whole)
        query.stronger.push_back(asked_more("drivers of branch " + std::to_string(floor.major()) +
                                            ": only whole branches have a word"));
    Words known;
    for (const auto number : rules.driver_branches())
        if (number >= branch.major())
            known.push_back("cuda_drv" + std::to_string(number));
    return there.from("cuda_drv", branch, std::move(known));
}

/// The word for machines with GPUs of these kinds only; empty if Slurm nodes have no such word.
std::string kind_word(const std::set<GpuKind>& kinds) {
    if (kinds == std::set{GpuKind::Discrete, GpuKind::Integrated})
        return "gpus-physical";
    return kinds == std::set{GpuKind::Discrete} ? "gpus-discrete" : "";
}

/// Notes the requirements that no word expresses.
void add_weaker(const GpuNeed& gpu, FleetQuery& query) {
    const bool is_said = gpu.vendors.size() == 1 && gpu.api == own_api(gpu.vendors.front());
    if (!gpu.vendors.empty() && !is_said)
        query.weaker.push_back(not_asked("vendor"));
    if (gpu.kinds && kind_word(*gpu.kinds).empty())
        query.weaker.push_back(not_asked("kinds"));
    if (gpu.memory)
        query.weaker.push_back(
            not_asked("vram_min_mib: " + std::to_string(gpu.memory->count / mib(1).count)));
}

/// The options for one alternative; "" if no node can match. Each alternative needs its own line,
/// because parentheses can't be nested.
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
        query.stronger.push_back(asked_more("machines that have another kind of GPU as well"));
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
        return Error{ErrorCode::NoMatch, "no node of this cluster has the features for it"};
    if (known.empty())
        query.stronger.push_back(
            asked_more("Slurm refuses words that no node has: give those there are, "
                       "--features=\"$(sinfo -h -o %f | paste -sd,)\""));
    unite(query.weaker);
    unite(query.stronger);
    return query;
}

}  // namespace gpuprobe::inline exports
