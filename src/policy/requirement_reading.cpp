// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "policy/fact.h"
#include "policy/known_words.h"
#include "policy/manifest_reading.h"

namespace gpuprobe::inline policy {
namespace {

constexpr std::size_t kMaxWord = 128;
constexpr std::uint64_t kMaxMib = 1ULL << 40;
constexpr std::string_view kRequirementMembers = "host device scope gpus_min";

/// Marks the problem as one that a word of a newer manifest may have caused.
ReadProblem newer_word(ReadProblem problem) {
    problem.may_be_newer = true;
    return problem;
}

/// The first word that isn't in the list of known words for the fact, if the fact has such a list.
/// A report may still contain the unknown word, so the problem is only shown to authors of
/// manifests.
ReadProblem unlisted_word(FactId fact, const std::vector<std::string>& need) {
    for (std::size_t i = 0; i < need.size(); ++i)
        if (!is_known_word(fact, need[i]))
            return newer_word(unknown_word("unknown word", known_words(fact)))
                .in("[" + std::to_string(i) + "]");
    return {};
}

/// The problem with the first target that no known AMD GPU has.
ReadProblem unlisted_target(const std::vector<GfxTarget>& need) {
    std::vector<std::string> targets;
    for (const auto& target : need)
        targets.push_back(target.processor);
    return unlisted_word(FactId::GfxTarget, targets);
}

/// The terms to which the predicates of an object are converted.
struct Predicates {
    Conjunction& terms;
    UnknownWords unknown = UnknownWords::Lose;
};

/// A predicate's key and its reader, which adds terms to `out`.
struct PredicateReader {
    std::string_view key;
    ReadProblem (*read)(const Value& value, Predicates& out);
};

/// Replaces a general reason with a more specific reason.
ReadProblem named(ReadProblem problem, const char* reason) {
    if (problem.reason == "malformed" || problem.reason == "unknown word")
        problem.reason = reason;
    return problem;
}

/// For an unknown predicate, adds a term that is always false. Ignoring the predicate would accept
/// variants of a newer manifest whose requirements aren't met.
void add_unsupported(const std::string& name, Predicates& out) {
    out.terms.push_back({.relation = Relation::Never, .name = scrubbed(name, kMaxWord)});
}

/// For an unknown member, adds a term that is always false, or refuses the member. `known` contains
/// the known members of the object.
ReadProblem add_unknown_member(std::string_view object,
                               const std::string& key,
                               std::vector<std::string> known,
                               Predicates& out) {
    if (out.unknown == UnknownWords::Refuse)
        return newer_word(unknown_member(key, std::move(known)));
    add_unsupported(std::string{object} + key, out);
    return {};
}

/// For an unknown word in a predicate, adds a term that is always false, or refuses the word. A
/// word that isn't a label is an error. `rule` describes the known words.
ReadProblem lose_for(std::string_view key,
                     const std::string& word,
                     const std::string& rule,
                     std::vector<std::string> known,
                     Predicates& out) {
    if (!is_label(word))
        return unknown_word(rule, std::move(known));
    if (out.unknown == UnknownWords::Refuse)
        return newer_word(unknown_word(rule, std::move(known)));
    add_unsupported(std::string{key} + "=" + word, out);
    return {};
}

/// Reads an object of predicates; unknown predicates reject the variant.
template <std::size_t N>
ReadProblem read_predicates(const Value& object,
                            const PredicateReader (&readers)[N],
                            std::string_view prefix,
                            Predicates& out) {
    return read_members(object, [&](const std::string& key, const Value& value) -> ReadProblem {
        for (const auto& reader : readers)
            if (reader.key == key)
                return reader.read(value, out);
        return add_unknown_member(prefix, key, keys_of(readers), out);
    });
}

/// Adds a term.
void add(std::string_view name, FactId fact, Relation relation, TermNeed need, Predicates& out) {
    out.terms.push_back(
        {.fact = fact, .relation = relation, .need = std::move(need), .name = std::string{name}});
}

ReadProblem read_version(const Value& value, Version& out) {
    return named(read_value(value, out), "expected a version of one to four numbers");
}

/// Reads a list of short strings.
ReadProblem read_words(const Value& value, std::vector<std::string>& out) {
    const auto* items = value.as_array();
    if (!items)
        return wrong_type(value, "array");
    if (items->size() > kMaxList)
        return "more than 256 items";
    for (const auto& item : *items) {
        std::string word;
        auto problem = read_plain_text(item, word, kMaxWord);
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(out.size()) + "]");
        out.push_back(std::move(word));
    }
    return {};
}

ReadProblem read_mib(const Value& value, Bytes& out) {
    std::uint64_t count = 0;
    auto problem = read_value(value, count);
    if (problem.empty() && count > kMaxMib)
        problem = "number out of range";
    if (problem.empty())
        out = mib(count);
    return problem;
}

/// Reads a minimum version. The two templates below differ from this template only in the type of
/// `need`.
template <FactId fact>
ReadProblem version_need(const char* name, const Value& value, Predicates& out) {
    Version need;
    auto problem = read_version(value, need);
    add(name, fact, Relation::AtLeast, need, out);
    return problem;
}

template <FactId fact>
ReadProblem words_need(const char* name, const Value& value, Predicates& out) {
    std::vector<std::string> need;
    auto problem = read_words(value, need);
    if (problem.empty() && out.unknown == UnknownWords::Refuse)
        problem = unlisted_word(fact, need);
    add(name, fact, Relation::HasAll, std::move(need), out);
    return problem;
}

template <FactId fact>
ReadProblem mib_need(const char* name, const Value& value, Predicates& out) {
    Bytes need;
    auto problem = read_mib(value, need);
    add(name, fact, Relation::AtLeast, need, out);
    return problem;
}

/// The reason why a predicate cannot be a requirement of a variant. A variant may have several
/// backends, so it cannot require a fact about one backend on a GPU.
ReadProblem where_problem(const Predicate& predicate, FactScope scope) {
    if (scope == FactScope::Host && !is_about_host(predicate))
        return "expected a requirement about the host";
    const bool is_of_backend = std::ranges::any_of(predicate.alternatives, [](const Term& term) {
        return row_of(term.fact).scope == FactScope::Backend;
    });
    return is_of_backend ? "this requirement is about one backend on a GPU, but a variant can have "
                           "several backends"
                         : ReadProblem{};
}

/// Adds a predicate. A newer manifest can name facts that this version does not know.
ReadProblem add_where(const std::string& text, FactScope scope, Predicates& out) {
    auto predicate = parse_predicate(text);
    if (!predicate) {
        if (out.unknown == UnknownWords::Refuse)
            return newer_word(ReadProblem{std::move(predicate).error().text});
        add_unsupported(text, out);
        return {};
    }
    auto problem = where_problem(*predicate, scope);
    if (problem.empty() && out.unknown == UnknownWords::Refuse)
        problem = unlisted_word(*predicate);
    if (problem.empty())
        out.terms.push_back(term_of(std::move(predicate).value()));
    return problem;
}

/// Reads predicates in the form that requests and selections use: "driver<=580.95 or unknown".
template <FactScope scope>
ReadProblem read_where(const Value& value, Predicates& out) {
    std::vector<std::string> texts;
    if (auto problem = read_value(value, texts); !problem.empty())
        return problem;
    if (texts.size() > kMaxPredicates)
        return "more than 32 predicates";
    for (std::size_t at = 0; at < texts.size(); ++at)
        if (auto problem = add_where(texts[at], scope, out); !problem.empty())
            return std::move(problem).in("[" + std::to_string(at) + "]");
    return {};
}

// Predicates about the host -----------------------------------------------------------------------

ReadProblem read_libc(const Value& value, Predicates& out) {
    std::string need;
    auto problem = read_value(value, need);
    if (problem.empty() && need != "glibc" && need != "musl" && need != "static")
        return lose_for("libc", need, "expected glibc, musl or static", {"glibc", "musl", "static"},
                        out);
    if (need != "static")  // a static build runs with any C library
        add("libc", FactId::Libc, Relation::Is, std::vector{std::move(need)}, out);
    return problem;
}

/// Reads an x86-64 level, which is stored as a version from 1 to 4.
ReadProblem read_cpu_level(const Value& value, Predicates& out) {
    constexpr std::string_view kPrefix = "x86-64-v";
    std::string need;
    auto problem = read_value(value, need);
    if (!problem.empty())
        return problem;
    const bool is_level = need.size() == kPrefix.size() + 1 && need.starts_with(kPrefix) &&
                          need.back() >= '1' && need.back() <= '4';
    if (!is_level)
        return lose_for("cpu_level_min", need, "expected x86-64-v1 to x86-64-v4",
                        {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"}, out);
    add("cpu_level_min", FactId::CpuLevel, Relation::AtLeast,
        Version{{static_cast<std::uint32_t>(need.back() - '0')}}, out);
    return {};
}

/// Reads a release of NVIDIA's Linux for Tegra: "R36".
ReadProblem read_l4t(const Value& value, Predicates& out) {
    std::string need;
    auto problem = read_value(value, need);
    if (!problem.empty())
        return problem;
    if (need.size() < 2 || need.size() > 4 || need.front() != 'R' ||
        !parse_number<unsigned>(std::string_view{need}.substr(1)))
        return "expected a release of Jetson Linux such as R36";
    add("l4t", FactId::L4t, Relation::Is, std::vector{std::move(need)}, out);
    return {};
}

/// Reads the oldest or the newest version of Python with which the packages can be installed.
/// Wheels depend only on the first two numbers.
ReadProblem read_python(const char* name, Relation relation, const Value& value, Predicates& out) {
    std::string need;
    auto problem = read_value(value, need);
    if (problem.empty() && !is_python_version(need))
        problem = "expected a Python version such as 3.12";
    if (problem.empty())
        add(name, FactId::Python, relation, *parse_text(need, std::type_identity<Version>{}), out);
    return problem;
}

constexpr PredicateReader kHostReaders[] = {
    {"libc", read_libc},
    {"glibc_min",
     [](const Value& value, Predicates& out) {
         return version_need<FactId::Glibc>("glibc_min", value, out);
     }},
    {"kernel_min",
     [](const Value& value, Predicates& out) {
         return version_need<FactId::Kernel>("kernel_min", value, out);
     }},
    {"cpu_level_min", read_cpu_level},
    {"cpu_features",
     [](const Value& value, Predicates& out) {
         return words_need<FactId::CpuFeature>("cpu_features", value, out);
     }},
    {"libs", [](const Value& value,
                Predicates& out) { return words_need<FactId::Library>("libs", value, out); }},
    {"python_min",
     [](const Value& value, Predicates& out) {
         return read_python("python_min", Relation::AtLeast, value, out);
     }},
    {"python_max",
     [](const Value& value, Predicates& out) {
         return read_python("python_max", Relation::AtMost, value, out);
     }},
    {"l4t", read_l4t},
    {"memory_min_mib",
     [](const Value& value, Predicates& out) {
         return mib_need<FactId::HostMemory>("memory_min_mib", value, out);
     }},
    {"where", read_where<FactScope::Host>},
};

// Predicates about a device -----------------------------------------------------------------------

/// The APIs with which a manifest can require a device to compute.
std::vector<std::string> backend_words() {
    std::vector<std::string> words;
    for (const auto* api : computing_apis())
        words.emplace_back(api->word);
    return words;
}

ReadProblem read_backend(const Value& value, Predicates& out) {
    std::string word;
    if (auto problem = read_value(value, word); !problem.empty())
        return problem;
    const auto* api = find_api(word);
    const auto rule = "expected one of " + joined(backend_words(), ", ");
    if (!api)
        return lose_for("backend", word, rule, backend_words(), out);
    // A known API without a compute backend is an error and isn't treated as a word of a newer
    // manifest.
    if (!computes(*api))
        return unknown_word(rule, backend_words());
    add("backend", FactId::Usable, Relation::Is, api->id, out);
    return {};
}

/// Reads a list of words; the fact must equal one of the words. Unknown words match no GPU on this
/// machine.
template <std::size_t N>
ReadProblem read_one_of(const Value& value,
                        const char* key,
                        FactId fact,
                        const std::array<std::string_view, N>& known,
                        Predicates& out) {
    std::vector<std::string> need;
    if (auto problem = read_words(value, need); !problem.empty())
        return problem;
    for (std::size_t i = 0; i < need.size(); ++i)
        if (!is_label(need[i]))
            return unknown_word("unknown word", {known.begin(), known.end()})
                .in("[" + std::to_string(i) + "]");
    std::string unknown;
    const auto is_unknown = [&known](const std::string& word) {
        return std::ranges::find(known, word) == known.end();
    };
    const auto first = std::ranges::find_if(need, is_unknown);
    if (first != need.end() && out.unknown == UnknownWords::Refuse)
        return newer_word(unknown_word("unknown word", {known.begin(), known.end()}))
            .in("[" + std::to_string(first - need.begin()) + "]");
    for (const auto& word : need)
        if (is_unknown(word))
            unknown += (unknown.empty() ? "" : ",") + word;
    std::erase_if(need, is_unknown);
    if (need.empty() && !unknown.empty())
        add_unsupported(std::string{key} + "=" + unknown, out);
    // Add the term even if no known word is left in its list, because a variant for unknown kinds
    // would otherwise fit all GPUs.
    add(key, fact, Relation::Is, std::move(need), out);
    return {};
}

ReadProblem read_vendor(const Value& value, Predicates& out) {
    return read_one_of(value, "vendor", FactId::Vendor, kVariantVendors, out);
}

ReadProblem read_kinds(const Value& value, Predicates& out) {
    return read_one_of(value, "kinds", FactId::Form, kVariantForms, out);
}

/// Reads a list of PCI classes, each of four hexadecimal digits.
ReadProblem read_class(const Value& value, Predicates& out) {
    std::vector<std::string> need;
    if (auto problem = read_words(value, need); !problem.empty())
        return problem;
    for (std::size_t i = 0; i < need.size(); ++i)
        if (need[i].size() != 4 ||
            need[i].find_first_not_of("0123456789abcdef") != std::string::npos)
            return ReadProblem{"expected a PCI class such as 0300"}.in("[" + std::to_string(i) +
                                                                       "]");
    add("class", FactId::Class, Relation::Is, std::move(need), out);
    return {};
}

/// The members of the `cuda` predicate.
struct CudaNeed {
    std::optional<Version> toolkit = {};
    CudaKernels code = {};
    std::optional<Version> min_driver = {};
    Conjunction others = {};  ///< terms for unknown members
    UnknownWords unknown = UnknownWords::Lose;
};

ReadProblem read_targets(const Value& value, std::optional<std::vector<KernelTarget>>& out) {
    out.emplace();
    return named(read_list(value, *out, kMaxList), "expected a compute capability such as 9.0");
}

constexpr std::string_view kCudaMembers = "toolkit min_driver sass ptx exact";

/// Reads one member of the `cuda` predicate.
ReadProblem read_cuda_member(const std::string& key, const Value& value, CudaNeed& need) {
    if (key == "toolkit")
        return read_version(value, need.toolkit.emplace());
    if (key == "min_driver")
        return read_version(value, need.min_driver.emplace());
    if (key == "sass") {
        auto problem = read_targets(value, need.code.sass);
        // "9.0@9.1" includes a PTX ISA version, which is only valid for PTX.
        const bool is_ptx = std::ranges::any_of(
            *need.code.sass, [](const KernelTarget& target) { return target.isa.has_value(); });
        return is_ptx && problem.empty() ? ReadProblem{"a cubin has no PTX version"} : problem;
    }
    if (key == "ptx")
        return read_targets(value, need.code.ptx);
    if (key == "exact")
        return read_value(value, need.code.exact);
    Predicates others{.terms = need.others, .unknown = need.unknown};
    return add_unknown_member("cuda.", key, word_list(kCudaMembers), others);
}

ReadProblem read_cuda(const Value& value, Predicates& out) {
    CudaNeed need{.unknown = out.unknown};
    auto problem = read_members(value, [&need](const std::string& key, const Value& member) {
        return read_cuda_member(key, member, need);
    });
    if (!problem.empty())
        return problem;
    if (!need.toolkit)
        return ReadProblem{"missing"}.in("toolkit");
    need.code.toolkit = *need.toolkit;
    // The predicate is converted to a term about the driver and a term about the kernels.
    add("cuda.driver", FactId::Driver, Relation::DriverOf,
        CudaDriverNeed{.toolkit = *need.toolkit, .min_driver = need.min_driver}, out);
    add("cuda.code", FactId::ComputeCapability, Relation::Runs, std::move(need.code), out);
    std::ranges::move(need.others, std::back_inserter(out.terms));
    return {};
}

/// Reads a range with `min` and an upper bound. The key of the upper bound determines whether the
/// bound is inclusive.
ReadProblem read_range(const Value& value,
                       const std::string& name,
                       const std::string& upper_key,
                       std::optional<Version>& upper,
                       std::optional<Version>& min,
                       Predicates& out) {
    return read_members(value, [&](const std::string& key, const Value& member) -> ReadProblem {
        if (key == "min")
            return read_version(member, min.emplace());
        if (key == upper_key)
            return read_version(member, upper.emplace());
        return add_unknown_member(name + ".", key, {"min", upper_key}, out);
    });
}

// CUDA's upper bound is exclusive ("below"), and ROCm's is inclusive ("max").
ReadProblem read_cuda_api(const Value& value, Predicates& out) {
    VersionRange range;
    auto problem = read_range(value, "cuda_api", "below", range.below, range.min, out);
    add("cuda_api", FactId::Cuda, Relation::Within, range, out);
    return problem;
}

ReadProblem read_rocm(const Value& value, Predicates& out) {
    VersionRange range;
    auto problem = read_range(value, "rocm", "max", range.max, range.min, out);
    add("rocm", FactId::Rocm, Relation::Within, range, out);
    return problem;
}

ReadProblem read_gfx(const Value& value, Predicates& out) {
    std::vector<GfxTarget> need;
    auto problem = named(read_list(value, need, kMaxList), "expected a gfx target such as gfx1100");
    if (problem.empty() && out.unknown == UnknownWords::Refuse)
        problem = unlisted_target(need);
    add("gfx", FactId::GfxTarget, Relation::Runs, std::move(need), out);
    return problem;
}

constexpr PredicateReader kVulkanReaders[] = {
    {"instance_min",
     [](const Value& value, Predicates& out) {
         return version_need<FactId::VulkanLoader>("vulkan", value, out);
     }},
    {"api_min", [](const Value& value,
                   Predicates& out) { return version_need<FactId::Vulkan>("vulkan", value, out); }},
    {"features",
     [](const Value& value, Predicates& out) {
         return words_need<FactId::VulkanFeature>("vulkan", value, out);
     }},
    {"extensions",
     [](const Value& value, Predicates& out) {
         return words_need<FactId::VulkanExtension>("vulkan", value, out);
     }},
};

constexpr std::string_view kIntelApi = info_of(api_of_architecture("intel_ip")).word;

constexpr PredicateReader kIntelReaders[] = {
    {"ip",
     [](const Value& value, Predicates& out) {
         std::vector<Version> need;
         auto problem =
             named(read_list(value, need, kMaxList), "expected a version such as 20.1.0");
         add(kIntelApi, FactId::IntelIp, Relation::Runs, std::move(need), out);
         return problem;
     }},
};

constexpr PredicateReader kDeviceReaders[] = {
    {"backend", read_backend},
    {"vendor", read_vendor},
    {"kinds", read_kinds},
    {"class", read_class},
    {"driver_min",
     [](const Value& value, Predicates& out) {
         return version_need<FactId::Driver>("driver_min", value, out);
     }},
    {"cuda", read_cuda},
    {"cuda_api", read_cuda_api},
    {"gfx", read_gfx},
    {"rocm", read_rocm},
    {"vulkan",
     [](const Value& value, Predicates& out) {
         return read_predicates(value, kVulkanReaders, "vulkan.", out);
     }},
    {kIntelApi,
     [](const Value& value, Predicates& out) {
         return read_predicates(value, kIntelReaders, std::string{kIntelApi} + ".", out);
     }},
    {"vram_min_mib",
     [](const Value& value, Predicates& out) {
         return mib_need<FactId::Memory>("vram_min_mib", value, out);
     }},
    {"where", read_where<FactScope::Gpu>},
};

/// Sorts terms so that neither the verdict nor the reasons depend on the order of keys. Unknown
/// predicates come first.
void sort_terms(Conjunction& terms) {
    std::ranges::stable_sort(terms, {}, [](const Term& term) {
        return std::tuple{term.relation != Relation::Never, term.fact, term.relation,
                          std::string_view{term.name}};
    });
}

/// Separates `advises` from the predicates of a device. `advises` applies only to this alternative,
/// so it cannot contain alternatives.
ReadProblem split_advice(const Value& value,
                         Value& predicates,
                         Requirements& advice,
                         UnknownWords unknown) {
    const auto* own = value.find("advises");
    if (!own)
        return {};
    predicates = value;
    std::erase_if(*predicates.as_object(),
                  [](const auto& member) { return member.key == "advises"; });
    if (own->at("device").as_array() || !own->at("device").at("advises").is_null())
        return ReadProblem{"alternatives are not allowed here"}.in("device").in("advises");
    auto problem = read_advice(*own, advice, unknown);
    return problem.empty() ? problem : std::move(problem).in("advises");
}

ReadProblem read_device(const Value& value, Requirements& out, UnknownWords unknown) {
    Value without_advice;
    Requirements advice;
    if (auto problem = split_advice(value, without_advice, advice, unknown); !problem.empty())
        return problem;
    const bool has_advice = !without_advice.is_null();
    Conjunction terms;
    Predicates predicates{.terms = terms, .unknown = unknown};
    auto problem =
        read_predicates(has_advice ? without_advice : value, kDeviceReaders, "", predicates);
    if (!problem.empty())
        return problem;
    if (has_advice || !out.advice.empty()) {
        // The alternatives that were read before this alternative had no `advises`.
        out.advice.resize(out.devices.size());
        out.advice.push_back(std::move(advice));
    }
    // Without `kinds` or `class`, virtual GPUs are excluded by default.
    const auto is_of_kind = [](const Term& term) {
        return term.fact == FactId::Form || term.fact == FactId::Class;
    };
    if (std::ranges::none_of(terms, is_of_kind))
        add("kinds", FactId::Form, Relation::Is,
            std::vector<std::string>{"discrete", "integrated", "tegra"}, predicates);
    sort_terms(terms);
    out.devices.push_back(std::move(terms));
    return {};
}

/// Reads one device or a list of alternatives.
ReadProblem read_devices(const Value& value, Requirements& out, UnknownWords unknown) {
    const auto* items = value.as_array();
    if (!items)
        return read_device(value, out, unknown);
    if (items->empty() || items->size() > kMaxAlternatives)
        return "needs 1 to 16 alternatives";
    for (const auto& item : *items) {
        auto problem = read_device(item, out, unknown);
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(out.devices.size()) + "]");
    }
    return {};
}

ReadProblem read_scope(const Value& value, Requirements& out, UnknownWords unknown) {
    std::string word;
    if (auto problem = read_value(value, word); !problem.empty())
        return problem;
    // A label may be a scope from a newer manifest, so an unknown label only rejects the variant.
    if (read_value(value, out.scope).empty())
        return {};
    if (!is_label(word))
        return unknown_word("expected 'any' or 'all'", {"any", "all"});
    if (unknown == UnknownWords::Refuse)
        return newer_word(unknown_word("expected 'any' or 'all'", {"any", "all"}));
    out.unsupported.push_back("scope=" + word);
    return {};
}

ReadProblem read_gpus_min(const Value& value, Requirements& out) {
    auto problem = read_value(value, out.gpus_min);
    if (problem.empty() && (out.gpus_min == 0 || out.gpus_min > kMaxVariantGpus))
        problem = "not a number from 1 to 64";
    return problem;
}

}  // namespace

ReadProblem read_requirements(const Value& value, Requirements& out, UnknownWords unknown) {
    Predicates host{.terms = out.host, .unknown = unknown};
    auto problem =
        read_members(value, [&](const std::string& key, const Value& member) -> ReadProblem {
            if (key == "host")
                return read_predicates(member, kHostReaders, "", host);
            if (key == "device")
                return read_devices(member, out, unknown);
            if (key == "scope")
                return read_scope(member, out, unknown);
            if (key == "gpus_min")
                return read_gpus_min(member, out);
            if (unknown == UnknownWords::Refuse)
                return newer_word(unknown_member(key, word_list(kRequirementMembers)));
            // An unknown member of a newer manifest rejects the variant.
            out.unsupported.push_back(scrubbed(key, kMaxWord));
            return {};
        });
    sort_terms(out.host);
    std::ranges::sort(out.unsupported);
    return problem;
}

ReadProblem read_advice(const Value& value, Requirements& out, UnknownWords unknown) {
    auto problem = read_requirements(value, out, unknown);
    for (auto& term : out.host)
        term.accepts_unknown = term.accepts_unknown || term.fact == FactId::Python;
    return problem;
}

std::vector<MemberPlace> requirement_members() {
    return {{.place = "requires", .members = word_list(kRequirementMembers)},
            {.place = "requires.host", .members = keys_of(kHostReaders)},
            {.place = "requires.device", .members = keys_of(kDeviceReaders)},
            {.place = "requires.device.cuda", .members = word_list(kCudaMembers)},
            {.place = "requires.device.vulkan", .members = keys_of(kVulkanReaders)}};
}

}  // namespace gpuprobe::inline policy
