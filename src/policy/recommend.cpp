// SPDX-License-Identifier: Apache-2.0
#include "policy/recommend.h"

#include <algorithm>

#include "base/text.h"
#include "policy/closest_miss.h"
#include "policy/evaluate.h"
#include "policy/fact.h"
#include "policy/gpu_selection.h"
#include "policy/manifest_reading.h"
#include "policy/request_table.h"
#include "report/compute_view.h"
#include "report/outcome.h"

namespace gpuprobe::inline policy {

RECORD_DEFINE_CONVERSIONS(Recommendation)

namespace {

constexpr std::size_t kMaxWords = 64;
constexpr std::uint64_t kMaxNeedMib = 1ULL << 40;

/// Checks and adds a word, which can name a variant or family.
ReadProblem add_word(const std::string& text, std::vector<std::string>& out) {
    const auto word = trimmed(text);
    if (!is_label(word))
        return "not the name of a variant or family";
    if (out.size() == kMaxWords)
        return "more than 64 words";
    out.emplace_back(word);
    return {};
}

/// Reads a list of words, or one string with commas.
ReadProblem read_word_list(const Value& value, std::vector<std::string>& out) {
    std::vector<std::string> given;
    if (const auto* text = value.as_string()) {
        for (const auto piece : split(*text, ','))
            given.emplace_back(piece);
    } else if (auto problem = read_value(value, given); !problem.empty()) {
        return wrong_type(value, "list of strings");
    }
    for (const auto& word : given) {
        auto problem = add_word(word, out);
        if (!problem.empty())
            return problem;
    }
    return {};
}

/// Reads a memory size in MiB; 0 means no requirement.
ReadProblem read_need(const Value& value, RecommendRequest& out) {
    std::uint64_t count = 0;
    auto problem = read_value(value, count);
    if (problem.empty() && count > kMaxNeedMib)
        problem = "number out of range";
    if (problem.empty() && count > 0)
        out.need = mib(count);
    return problem;
}

// The accepted keys in the order of the help.
constexpr ReadableKey<RecommendRequest> kRecommendKeys[] = {
    {{.key = "prefer",
      .meaning = "variants or families to try first",
      .option = "--prefer",
      .placeholder = "NAMES",
      .offers = kFamilyWords,
      .rule_option = "--prefer-variants",
      .rule_meaning = "variants or families that recommend tries first"},
     [](const Value& v, RecommendRequest& r) { return read_word_list(v, r.prefer); }},
    {{.key = "only",
      .meaning = "use only the given variants or families",
      .option = "--only",
      .placeholder = "NAMES",
      .offers = kFamilyWords,
      .rule_option = "--only-variants"},
     [](const Value& v, RecommendRequest& r) { return read_word_list(v, r.only.emplace()); }},
    {{.key = "exclude",
      .meaning = "variants or families to exclude, such as family:cuda after a failure",
      .option = "--exclude",
      .placeholder = "NAMES",
      .offers = kFamilyWords,
      .rule_option = "--exclude-variants",
      .rule_meaning = "variants or families that recommend excludes"},
     [](const Value& v, RecommendRequest& r) { return read_word_list(v, r.exclude); }},
    {{.key = "need-mib",
      .type = RequestType::Mebibytes,
      .meaning = "memory that every GPU must have",
      .option = "--memory",
      .placeholder = "SIZE",
      .offers = "4GiB 8GiB 16GiB 24GiB",
      .rule_option = "--memory-variants",
      .rule_meaning = "memory that every GPU must have for a variant"},
     read_need},
    {{.key = "require-verified",
      .type = RequestType::Flag,
      .meaning = "accept only GPU variants whose results were verified (probe --stage=verify)",
      .option = "--require-verified"},
     [](const Value& v, RecommendRequest& r) { return read_value(v, r.require_verified); }},
    {kAssumeKey, [](const Value& v, RecommendRequest& r) { return read_assumptions(v, r.assume); }},
    {{.key = "environment",
      .type = RequestType::Pairs,
      .meaning = "the caller's environment variables, some of which let the program use more GPUs"},
     [](const Value& v, RecommendRequest& r) { return read_variables(v, r.environment); }},
    {{.key = "explain",
      .type = RequestType::Flag,
      .meaning = "show every variant with the reason for its verdict",
      .option = "--explain"},
     [](const Value& v, RecommendRequest& r) { return read_value(v, r.explain); }},
    {{.key = "include-rejected",
      .type = RequestType::Flag,
      .meaning = "false omits rejected variants"},
     [](const Value& v, RecommendRequest& r) { return read_value(v, r.include_rejected); }},
};

}  // namespace

RecommendRequest under_rule(RecommendRequest request, const RecommendRequest& rule) {
    // The caller's preferences come first; restrictions are combined.
    request.prefer.insert(request.prefer.end(), rule.prefer.begin(), rule.prefer.end());
    request.exclude.insert(request.exclude.end(), rule.exclude.begin(), rule.exclude.end());
    request.allowed = rule.only;
    request.require_verified = request.require_verified || rule.require_verified;
    if (rule.need && (!request.need || request.need->count < rule.need->count))
        request.need = rule.need;
    return request;
}

std::span<const RequestKey> recommend_keys() {
    static const auto keys = described(kRecommendKeys);
    return keys;
}

Result<RecommendRequest> recommend_request_from(const Value& object) {
    return request_from(object, kRecommendKeys);
}

namespace {

/// The ids of the GPUs on which the variant runs; if there are none, the id of the best accelerator
/// that the variant uses.
std::vector<std::string> covered_ids(const JudgedVariant& judged, const MachineFacts& machine) {
    const auto gpus = gpus_used(judged);
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < machine.gpus.size(); ++i)
        if ((gpus >> i & 1U) != 0)
            ids.push_back(machine.gpus[i].gpu()->id);
    if (ids.empty() && !judged.accelerators.empty())
        ids.push_back(judged.accelerators.front());
    return ids;
}

/// Converts a candidate to the form that answers contain.
VariantCandidate candidate_from(const JudgedVariant& judged, const ExplanationContext& context) {
    const auto& variant = *judged.variant;
    VariantCandidate candidate{.variant = variant.name,
                               .family = variant.family,
                               .tier = variant.tier,
                               .priority = variant.priority,
                               .verdict = judged.verdict,
                               .gpus = covered_ids(judged, context.machine),
                               .reasons = reasons_for(judged, context),
                               .note = variant.note,
                               .version = variant.version};
    if (judged.verdict != Verdict::Rejected)
        candidate.warnings = warnings_for(judged, context);
    return candidate;
}

/// Sets the variant as the answer. Before the call, `answer.version` is the version in the
/// manifest.
void take(const Variant& variant, Recommendation& answer) {
    answer.variant = variant.name;
    if (variant.version && variant.version != answer.version) {
        answer.warnings.push_back(because(
            "other-version", {{"have", *variant.version}, {"want", to_value(answer.version)}}));
        answer.version = variant.version;
    }
    answer.artifact = variant.artifact;
    answer.environment = variant.environment;
}

/// Chooses the best variant and lists the other usable variants as fallbacks.
void take_chain(const std::vector<JudgedVariant>& judged, Recommendation& answer) {
    for (const auto& entry : judged) {
        // Rejected variants are sorted last.
        if (entry.verdict == Verdict::Rejected)
            break;
        if (answer.variant)
            answer.fallback.push_back(entry.variant->name);
        else
            take(*entry.variant, answer);
    }
    if (answer.variant)
        answer.status = RecommendStatus::Ok;
}

/// The parts of the host platform that are unknown, if they could make a platform in the manifest
/// match; otherwise empty.
std::vector<std::string> unknown_words(const Manifest& manifest, const Facts& host) {
    const auto may_be = [&host](FactId id, const std::optional<std::string>& word) {
        const auto own = host.get<std::string>(id).value;
        return !word || !own || own == word;
    };
    const bool is_open = std::ranges::any_of(manifest.platforms, [&](const auto& platform) {
        return may_be(FactId::Os, "linux") && may_be(FactId::Arch, platform.arch) &&
               may_be(FactId::Libc, platform.libc);
    });
    std::vector<std::string> unknown;
    if (is_open)
        for (const auto& [id, word] :
             {std::pair{FactId::Os, "os"}, {FactId::Arch, "arch"}, {FactId::Libc, "libc"}})
            if (!host.get<std::string>(id).value)
                unknown.emplace_back(word);
    return unknown;
}

}  // namespace

Reason other_platform(const Manifest& manifest, const Facts& host) {
    std::vector<std::string> offered;
    for (const auto& platform : manifest.platforms)
        offered.push_back(platform.key);
    if (const auto unknown = unknown_words(manifest, host); !unknown.empty())
        return because("platform-unknown",
                       {{"unknown", to_value(unknown)}, {"want", to_value(offered)}});
    const auto word = [&host](FactId id) { return host.get<std::string>(id).value; };
    Value have;
    if (word(FactId::Os) && word(FactId::Arch))
        have = *word(FactId::Os) + "-" + *word(FactId::Arch) +
               (word(FactId::Libc) ? "-" + *word(FactId::Libc) : "");
    return because("platform-not-offered", {{"have", have}, {"want", to_value(offered)}});
}

const Variant* default_variant(const VariantPlatform& platform, const RecommendRequest& request) {
    const auto* fallback = platform.on_none == OnNone::Default && platform.fallback
                               ? find_variant(platform, *platform.fallback)
                               : nullptr;
    const bool is_unverified =
        fallback && request.require_verified && !fallback->needs.devices.empty();
    return is_unverified ? nullptr : fallback;
}

std::vector<FailedVariant> failed_variants(const Experience& experience, const Profile* profile) {
    std::vector<FailedVariant> failed;
    for (const auto& failure : experience.failures) {
        auto word = failure.backend;
        if (word.find(':') == std::string::npos)
            word = "backend:" + (profile ? backend_named(*profile, word).value_or(word) : word);
        FailedVariant variant{.word = std::move(word), .gpu = failure.gpu};
        variant.detail["detail"] = failure.detail;
        variant.detail["at_usec"] = to_value(failure.at);
        failed.push_back(std::move(variant));
    }
    return failed;
}

namespace {

/// Fills the answer if no variant fits: with the manifest's default, if there is one, and with the
/// manifest's hint.
void take_default(const VariantPlatform& platform,
                  const RecommendRequest& request,
                  Recommendation& answer) {
    answer.hint = platform.none_hint;
    const auto* fallback = default_variant(platform, request);
    if (!fallback)
        return;
    take(*fallback, answer);
    answer.status = RecommendStatus::DefaultUnverified;
}

/// Adds the candidates, and completes the answer from the first candidate.
void add_candidates(const std::vector<JudgedVariant>& judged,
                    const ExplanationContext& context,
                    Recommendation& answer) {
    for (const auto& entry : judged) {
        if (entry.verdict == Verdict::Rejected && !context.request.include_rejected)
            continue;
        answer.candidates.push_back(candidate_from(entry, context));
    }
    if (answer.status != RecommendStatus::Ok)
        return;
    const auto& first = answer.candidates.front();
    answer.verdict = first.verdict;
    answer.gpus = first.gpus;
    answer.warnings.insert(answer.warnings.end(), first.warnings.begin(), first.warnings.end());
}

/// Returns the warning "closest-variant" if the answer has no variant. The warning names the
/// candidate that needs the fewest changes to fit.
std::optional<Reason> closest_variant(const Recommendation& answer) {
    if (answer.variant)
        return std::nullopt;
    const auto* closest = closest_to_fit(answer.candidates, [](const VariantCandidate& candidate) {
        return std::pair{candidate.tier, candidate.priority};
    });
    if (!closest)
        return std::nullopt;
    return because("closest-variant",
                   {{"variant", closest->variant},
                    {"reasons", to_value(merged_for_alike_gpus(closest->reasons))}});
}

/// The variant of a family that is closest to running on a GPU.
struct FamilyOnGpu {
    const Gpu* gpu = nullptr;
    const Variant* variant = nullptr;
    Route route = {};

    /// Whether this entry is about the GPU and about the variant's family.
    [[nodiscard]] bool is_of(const Gpu& other, const Variant& sibling) const {
        return gpu == &other && !sibling.family.empty() && sibling.family == variant->family;
    }
};

/// Adds a near miss. If the family already has a near miss on this GPU, only the closer near miss
/// is kept.
void add_to_family(FamilyOnGpu own, std::vector<FamilyOnGpu>& families) {
    const auto known = std::ranges::find_if(families, [&own](const FamilyOnGpu& family) {
        return family.is_of(*own.gpu, *own.variant);
    });
    if (known == families.end())
        families.push_back(std::move(own));
    else if (is_nearer(own.route, known->route))
        *known = std::move(own);
}

/// Adds the reasons against a variant, for each GPU. Variants that the caller excluded are not
/// alternatives.
void add_variant(const JudgedVariant& judged,
                 const ExplanationContext& context,
                 std::vector<FamilyOnGpu>& families,
                 UnusedGpu& unused) {
    const auto reasons = reasons_for(judged, context);
    for (const auto* gpu : in_order(context.report)) {
        auto on_gpu = reasons_on(*gpu, reasons);
        if (on_gpu.empty())
            continue;
        if (has_reason_with(on_gpu, ReasonTraits::Wished)) {
            unused.add(*gpu, judged.variant->name, std::move(on_gpu));
            continue;
        }
        add_to_family({.gpu = gpu,
                       .variant = judged.variant,
                       .route = {.is_open = has_end(on_gpu) ? Truth::False : Truth::Unknown,
                                 .reasons = std::move(on_gpu)}},
                      families);
    }
}

/// Returns a warning if the recommended variant uses no GPU, although the caller did not ask for a
/// variant without a GPU.
std::optional<Reason> unused_by_variants(const std::vector<JudgedVariant>& judged,
                                         const ExplanationContext& context) {
    UnusedGpu unused;
    std::vector<FamilyOnGpu> families;
    bool is_for_gpus = false;
    for (const auto& entry : judged) {
        if (entry.variant->needs.devices.empty())
            continue;
        if (entry.verdict != Verdict::Rejected)
            return std::nullopt;
        is_for_gpus = true;
        add_variant(entry, context, families, unused);
    }
    for (auto& family : families)
        unused.add(*family.gpu, family.variant->name, std::move(family.route.reasons));
    // The manifest has no variant for GPUs, so no reasons were collected.
    if (!is_for_gpus)
        for (const auto* gpu : in_order(context.report))
            unused.add(*gpu, "", {});
    return unused.warning();
}

/// Warns about words that match no variant: they may be misspelled, or meant for another version of
/// the manifest.
void warn_of_words(const VariantPlatform& platform,
                   const RecommendRequest& request,
                   Recommendation& answer) {
    auto words = request.prefer;
    words.insert(words.end(), request.exclude.begin(), request.exclude.end());
    if (request.only)
        words.insert(words.end(), request.only->begin(), request.only->end());
    for (const auto& word : words)
        if (std::ranges::none_of(platform.variants,
                                 [&word](const Variant& variant) { return means(word, variant); }))
            answer.warnings.push_back(because("no-such-variant", {{"word", word}}));
}

/// Warns about GPUs beyond the limit, and about rules that are older than the manifest requires.
void warn_of_limits(const Manifest& manifest,
                    const MachineFacts& machine,
                    const Rules& rules,
                    Recommendation& answer) {
    if (machine.left_out > 0)
        answer.warnings.push_back(
            because("gpus-left-out", {{"count", static_cast<unsigned long>(machine.left_out)}}));
    const auto serial = parse_text(std::string_view{rules.serial()}, std::type_identity<Version>{});
    if (manifest.rules && (!serial || *serial < *manifest.rules))
        answer.warnings.push_back(because(
            "rules-too-old", {{"have", rules.serial()}, {"need", text_of(*manifest.rules)}}));
}

std::optional<Reason> staleness(const std::string& document,
                                const std::string& path,
                                const std::optional<std::string>& issued,
                                const std::optional<std::string>& expires,
                                WallTime now) {
    const auto end = expires ? instant_from(*expires) : std::nullopt;
    if (!end || now < *end)
        return std::nullopt;
    return stale_document(document, path, issued, *expires);
}

std::optional<Reason> supersession(const std::string& document,
                                   const std::string& path,
                                   const std::optional<std::string>& version,
                                   const UpstreamVersions& upstream) {
    if (!upstream.newer)
        return std::nullopt;
    return superseded_document(document, path, version ? version : upstream.version,
                               *upstream.newer);
}

std::string document_name(const Manifest& manifest) {
    return manifest.name.empty() ? "manifest" : manifest.name;
}

}  // namespace

Recommendation recommend(const Manifest& manifest,
                         const RecommendRequest& request,
                         const Report& report,
                         const Rules& rules,
                         std::span<const FailedVariant> failed,
                         const SelectionView& selection) {
    const ComputeView view{report};
    // The facts refer to the view's report, so `view` must outlive them.
    const auto machine = machine_facts(view.report(), rules);
    Recommendation answer{.application = manifest.name,
                          .version = manifest.version,
                          .status = RecommendStatus::NoPlatform,
                          .manifest_sha256 = manifest.sha256,
                          .rules = rules.serial(),
                          .generation = report.generation};
    // If no platform of the manifest fits, the answer has no other members.
    const auto* platform = platform_for(manifest, machine.host);
    if (!platform) {
        answer.warnings.push_back(other_platform(manifest, machine.host));
        return answer;
    }
    answer.status = RecommendStatus::None;
    answer.platform = platform->key;
    answer.project_default = platform->fallback;
    warn_of_limits(manifest, machine, rules, answer);
    warn_of_words(*platform, request, answer);
    const auto judged = evaluate(*platform, request, machine, failed, selection);
    take_chain(judged, answer);
    if (answer.status != RecommendStatus::Ok)
        take_default(*platform, request, answer);
    // Explanations are only needed from here on, since they don't affect the choice.
    const ExplanationContext context{request, machine, view.report(), failed, selection};
    add_candidates(judged, context, answer);
    if (auto closest = closest_variant(answer))
        answer.warnings.push_back(*std::move(closest));
    const auto* taken = answer.variant ? find_variant(*platform, *answer.variant) : nullptr;
    // The chosen variant uses no GPU, but the machine may have GPUs.
    if (taken && taken->needs.devices.empty())
        if (auto unused = unused_by_variants(judged, context))
            answer.warnings.push_back(*std::move(unused));
    // Reasons aren't merged earlier, because the closest variant is the variant with the fewest
    // reasons on all GPUs.
    for (auto& candidate : answer.candidates) {
        candidate.reasons = merged_for_alike_gpus(std::move(candidate.reasons));
        candidate.warnings = merged_for_alike_gpus(std::move(candidate.warnings));
    }
    answer.warnings = merged_for_alike_gpus(std::move(answer.warnings));
    return answer;
}

std::optional<Reason> staleness(const Manifest& manifest, WallTime now) {
    return staleness(document_name(manifest), manifest.path, manifest.issued, manifest.expires,
                     now);
}

std::optional<Reason> staleness(const Profile& profile, WallTime now) {
    return staleness(profile.name, profile.path, profile.issued, profile.expires, now);
}

std::optional<Reason> supersession(const Manifest& manifest) {
    return supersession(document_name(manifest), manifest.path, manifest.version,
                        upstream_versions(manifest.source));
}

std::optional<Reason> supersession(const Profile& profile) {
    return supersession(profile.name, profile.path, std::nullopt,
                        profile.source ? upstream_versions(*profile.source) : UpstreamVersions{});
}

}  // namespace gpuprobe::inline policy
