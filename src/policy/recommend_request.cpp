// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "policy/manifest_reading.h"
#include "policy/recommend.h"
#include "policy/request_table.h"

namespace gpuprobe::inline policy {
namespace {

constexpr std::size_t kMaxWords = 64;
constexpr std::uint64_t kMaxNeedMib = 1ULL << 40;

/// Adds a word after checking it; it can name a variant or family.
ReadProblem add_word(const std::string& text, std::vector<std::string>& out) {
    const auto word = trimmed(text);
    if (!is_label(word))
        return "neither the name of a variant nor of a family";
    if (out.size() == kMaxWords)
        return "more than 64 words";
    out.emplace_back(word);
    return {};
}

/// Reads a list of words, or one text with commas.
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
      .meaning = "these first",
      .option = "--prefer",
      .placeholder = "NAMES",
      .offers = kFamilyWords,
      .rule_option = "--prefer-variants",
      .rule_meaning = "of what recommend offers, these first"},
     [](const Value& v, RecommendRequest& r) { return read_word_list(v, r.prefer); }},
    {{.key = "only",
      .meaning = "only these",
      .option = "--only",
      .placeholder = "NAMES",
      .offers = kFamilyWords,
      .rule_option = "--only-variants"},
     [](const Value& v, RecommendRequest& r) { return read_word_list(v, r.only.emplace()); }},
    {{.key = "exclude",
      .meaning = "not these: after a failure, family:cuda or the like",
      .option = "--exclude",
      .placeholder = "NAMES",
      .offers = kFamilyWords,
      .rule_option = "--exclude-variants",
      .rule_meaning = "not these"},
     [](const Value& v, RecommendRequest& r) { return read_word_list(v, r.exclude); }},
    {{.key = "need-mib",
      .type = RequestType::Mebibytes,
      .meaning = "memory that every GPU must offer",
      .option = "--need-mib",
      .placeholder = "N",
      .rule_option = "--variants-need-mib",
      .rule_meaning = "memory that every GPU must offer a variant"},
     read_need},
    {{.key = "require-verified",
      .type = RequestType::Flag,
      .meaning = "of a GPU only what was verified: probe --stage=verify",
      .option = "--require-verified"},
     [](const Value& v, RecommendRequest& r) { return read_value(v, r.require_verified); }},
    {{.key = "environment",
      .type = RequestType::Pairs,
      .meaning = "the caller's own variables, of which some let the program use more GPUs"},
     [](const Value& v, RecommendRequest& r) { return read_variables(v, r.environment); }},
    {{.key = "explain",
      .type = RequestType::Flag,
      .meaning = "every variant with the reason for its verdict",
      .option = "--explain"},
     [](const Value& v, RecommendRequest& r) { return read_value(v, r.explain); }},
    {{.key = "include-rejected",
      .type = RequestType::Flag,
      .meaning = "leave rejected variants out"},
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

}  // namespace gpuprobe::inline policy
