// SPDX-License-Identifier: Apache-2.0
#include "policy/override_rule.h"

#include <algorithm>

#include "base/text.h"
#include "policy/candidates.h"
#include "policy/evaluate.h"
#include "policy/profile.h"
#include "policy/request_table.h"
#include "report/compute_view.h"

namespace gpuprobe::inline policy {
namespace {

using Names = std::vector<std::string>;

/// Whether a rule may contain the key.
bool may_be_in_a_rule(std::string_view key) {
    return std::ranges::any_of(select_keys(), [key](const RequestKey& known) {
        return known.key == key && !known.rule_option.empty();
    });
}

/// Adds the names that aren't in the list yet.
void add_missing(Names& names, const Names& more) {
    for (const auto& name : more)
        if (!contains(names, name))
            names.push_back(name);
}

/// Intersects two lists of permitted names, which must use the same spelling.
void narrow(std::optional<Names>& names, const std::optional<Names>& limit) {
    if (!limit)
        return;
    if (!names)
        names = limit;
    else
        std::erase_if(*names, [&](const std::string& name) { return !contains(*limit, name); });
}

/// Translates words to gpuprobe's backend names; unknown words stay unchanged.
std::optional<Names> backends_in_our_words(const Profile& profile, std::optional<Names> words) {
    if (words)
        for (auto& word : *words)
            word = backend_named(profile, word).value_or(word);
    return words;
}

/// The ids of the GPUs as the report spells them. Ids that aren't in the report are only
/// normalized.
std::optional<Names> gpu_ids(std::optional<Names> words, const Report& report) {
    if (words)
        for (auto& word : *words)
            word = known_id(report, word).value_or(plain_id(word));
    return words;
}

/// Replaces the id of a partitioned GPU with the ids of its partitions.
std::optional<Names> by_partition(std::optional<Names> ids, const Report& divided) {
    if (!ids)
        return ids;
    Names all;
    for (const auto& id : *ids) {
        Names partitions;
        for (const auto& gpu : divided.gpus)
            if (partition_of(gpu) && whole_id(gpu.id) == id)
                partitions.push_back(gpu.id);
        add_missing(all, partitions.empty() ? Names{id} : partitions);
    }
    return all;
}

/// Removes the ids of GPUs that do not exist now.
std::optional<Names> those_that_are_there(std::optional<Names> ids, const Report& report) {
    if (ids)
        std::erase_if(*ids, [&report](const std::string& id) { return !known_id(report, id); });
    return ids;
}

/// Whether the value is null or empty.
bool is_blank(const Value& value) {
    const auto* text = value.as_string();
    const auto* list = value.as_array();
    const auto* object = value.as_object();
    return value.is_null() || (text && text->empty()) || (list && list->empty()) ||
           (object && object->empty());
}

/// Checks that GPUs exist. Unlike in a request, a missing GPU is an error here, because the author
/// of a rule knows which GPUs the machine has.
Status check_gpus(const Names& words, std::string_view key, const Report& report) {
    Names known;
    for (const auto& gpu : report.gpus)
        known.push_back(lower_case(gpu.id));
    for (const auto& word : words) {
        const auto id = plain_id(word);
        if (word.find(':') != std::string::npos && !contains(known, id))
            return Error{ErrorCode::UnknownDevice, "rule: " + std::string{key} + ": " +
                                                       scrubbed(word, 64) + ": no such GPU" +
                                                       suggestion(id, known)};
    }
    return Done{};
}

/// The names of all variants and families.
Names words_of(const Manifest& manifest) {
    Names words;
    for (const auto& platform : manifest.platforms)
        for (const auto& variant : platform.variants) {
            add_missing(words, {variant.name, variant.family});
        }
    return words;
}

/// Checks that words name variants of any platform, because rules are copied between machines.
Status check_variants(const RecommendRequest& request, const Manifest& manifest) {
    auto words = request.prefer;
    add_missing(words, request.exclude);
    add_missing(words, request.only.value_or(Names{}));
    for (const auto& word : words) {
        const auto is_meant = [&word](const VariantPlatform& platform) {
            return std::ranges::any_of(platform.variants, [&word](const Variant& variant) {
                return means(word, variant);
            });
        };
        if (std::ranges::none_of(manifest.platforms, is_meant))
            return Error{ErrorCode::InvalidRequest,
                         "rule: variants: " + scrubbed(word, 64) + ": no such variant or family" +
                             suggestion(word.substr(word.find(':') + 1), words_of(manifest))};
    }
    return Done{};
}

/// Formats the backends as words: "backend:NAME".
Names marked(const std::set<std::string>& backends) {
    Names words;
    for (const auto& backend : backends)
        words.push_back("backend:" + backend);
    return words;
}

/// The backends that both lists contain or, if only one list is set, the backends in that list.
std::optional<std::set<std::string>> meant_backends(const SelectQuestion& question) {
    auto meant = question.only;
    if (!question.forced)
        return meant;
    const std::set<std::string> forced{question.forced->begin(), question.forced->end()};
    if (!meant)
        return forced;
    std::erase_if(*meant, [&forced](const std::string& word) { return !forced.contains(word); });
    return meant;
}

}  // namespace

Result<OverrideRule> override_rule_from(const Value& rule) {
    const auto* members = rule.as_object();
    if (!members || members->empty())
        return Error{ErrorCode::InvalidRequest, "rule: expected an object with at least one key"};
    OverrideRule parsed;
    Value request;
    for (const auto& member : *members) {
        if (member.key == "variants" && member.value.is_object())
            parsed.variants = member.value;
        else if (may_be_in_a_rule(member.key))
            request[member.key] = member.value;
        else
            return Error{ErrorCode::InvalidRequest,
                         "rule: " + scrubbed(member.key, 64) + ": not a key of a rule"};
    }
    parsed.request = TRY(select_request_from(request));
    return parsed;
}

Value merged_rule(const Value& rule, const Value& change) {
    Value merged{Value::Object{}};
    const auto take = [&merged](const Value::Member& member) {
        if (!is_blank(member.value))
            merged[member.key] = member.value;
    };
    if (const auto* members = rule.as_object())
        for (const auto& member : *members)
            // Keys of the change replace the rule's keys; objects are merged recursively.
            if (!change.find(member.key))
                take(member);
    if (const auto* members = change.as_object())
        for (const auto& member : *members)
            take({member.key, member.value.is_object()
                                  ? merged_rule(rule.at(member.key), member.value)
                                  : member.value});
    return merged;
}

Status check_rule(const OverrideRule& rule,
                  const Profile* profile,
                  const Manifest* manifest,
                  const Report& report) {
    if (profile) {
        // question_from() accepts unknown GPUs in `deny`, so check the GPUs first.
        TRY(check_gpus(rule.request.deny, "deny", report));
        TRY(check_gpus(rule.request.gpus.value_or(Names{}), "gpus", report));
        const auto question = TRY(question_from(*profile, rule.request, report, {}));
        if (question.is_unknown_request)
            return Error{ErrorCode::InvalidRequest,
                         "rule: backend: " + scrubbed(*rule.request.backend, 64) +
                             ": no such backend" +
                             suggestion(*rule.request.backend, profile->backends)};
    } else if (!(rule.request == SelectRequest{})) {
        // If the application has no profile, only the rule's variants can be valid.
        return Error{ErrorCode::InvalidRequest,
                     "rule: the application has no rules for choosing a backend, so only variants "
                     "can be set"};
    }
    const auto variants = TRY(recommend_request_from(rule.variants));
    return manifest ? check_variants(variants, *manifest) : Status{Done{}};
}

RecommendRequest under_backend_rule(RecommendRequest request,
                                    const SelectRequest& rule,
                                    const Profile& profile,
                                    const Report& report) {
    const auto question = question_from(profile, under_rule({}, rule, profile, report), report, {});
    if (!question)
        return request;  // the rule was written by another version of this program
    add_missing(request.exclude, marked(question->denied));
    // A strict rule excludes variants that run on the CPU, unless the CPU is requested.
    if (rule.strict == true && !question->asks_for(kCpu))
        add_missing(request.exclude, marked({std::string{kCpu}}));
    if (const auto backends = meant_backends(*question))
        request.allowed_backends = marked(*backends);
    for (const auto& backend : question->preferred)
        add_missing(request.prefer, {"backend:" + backend});
    request.gpus = question->gpus;
    request.denied_gpus.assign(question->denied_gpus.begin(), question->denied_gpus.end());
    if (rule.min_memory && (!request.need || request.need->count < rule.min_memory->count))
        request.need = rule.min_memory;
    return request;
}

SelectRequest under_rule(SelectRequest request,
                         const SelectRequest& rule,
                         const Profile& profile,
                         const Report& report) {
    if (rule.only)
        // Both lists must use the same spelling before they are intersected.
        request.only = backends_in_our_words(profile, std::move(request.only));
    narrow(request.only, backends_in_our_words(profile, rule.only));
    const ComputeView view{report};
    const auto& divided = view.report();
    if (rule.gpus)
        request.gpus = by_partition(gpu_ids(std::move(request.gpus), divided), divided);
    narrow(request.gpus,
           those_that_are_there(by_partition(gpu_ids(rule.gpus, divided), divided), divided));
    add_missing(request.deny, rule.deny);
    add_missing(request.prefer, rule.prefer);
    if (rule.min_memory)
        request.min_memory = std::max(request.min_memory.value_or(Bytes{}), *rule.min_memory);
    if (!request.backend)
        request.backend = rule.backend;
    if (!request.strict)
        request.strict = rule.strict;
    return request;
}

}  // namespace gpuprobe::inline policy
