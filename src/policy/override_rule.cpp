// SPDX-License-Identifier: Apache-2.0
#include "policy/override_rule.h"

#include <algorithm>

#include "base/parse.h"
#include "policy/request_table.h"
#include "policy/select_question.h"

namespace gpuprobe {
namespace {

using Names = std::vector<std::string>;

bool may_be_in_a_rule(std::string_view key) {
    return std::ranges::any_of(select_keys(), [key](const RequestKey& known) {
        return known.key == key && !known.rule_option.empty();
    });
}

bool contains(const Names& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

void add_missing(Names& names, const Names& more) {
    for (const auto& name : more)
        if (!contains(names, name))
            names.push_back(name);
}

/// Two lists of what is allowed: what both allow. Both are in one spelling.
void narrow(std::optional<Names>& names, const std::optional<Names>& limit) {
    if (!limit)
        return;
    if (!names)
        names = limit;
    else
        std::erase_if(*names, [&](const std::string& name) { return !contains(*limit, name); });
}

std::optional<Names> backends_in_our_words(const Profile& profile, std::optional<Names> words) {
    if (words)
        for (auto& word : *words)
            word = backend_named(profile, word).value_or(word);
    return words;
}

std::string gpu_id_of(const std::string& word) {
    const auto address = parse_text(std::string_view{word}, std::type_identity<PciAddress>{});
    return address ? "pci:" + text_of(*address) : word;
}

std::optional<Names> gpu_ids(std::optional<Names> words) {
    if (words)
        for (auto& word : *words)
            word = gpu_id_of(word);
    return words;
}

std::optional<Names> those_that_are_there(std::optional<Names> ids, const Report& report) {
    if (ids)
        std::erase_if(*ids, [&report](const std::string& id) {
            return std::ranges::none_of(report.gpus,
                                        [&id](const Gpu& gpu) { return lower_case(gpu.id) == id; });
        });
    return ids;
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

SelectRequest under_rule(SelectRequest request,
                         const SelectRequest& rule,
                         const Profile& profile,
                         const Report& report) {
    if (rule.only)
        request.only = backends_in_our_words(profile, std::move(request.only));
    narrow(request.only, backends_in_our_words(profile, rule.only));
    if (rule.gpus)
        request.gpus = gpu_ids(std::move(request.gpus));
    narrow(request.gpus, those_that_are_there(gpu_ids(rule.gpus), report));
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

}  // namespace gpuprobe
