// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"
#include "policy/manifest_reading.h"
#include "policy/recommend.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxWords = 64;
constexpr std::uint64_t kMaxNeedMib = 1ULL << 40;

ReadProblem add_word(const std::string& text, std::vector<std::string>& out) {
    const auto word = trimmed(text);
    if (!is_label(word))
        return "neither the name of a variant nor of a family";
    if (out.size() == kMaxWords)
        return "more than 64 words";
    out.emplace_back(word);
    return {};
}

/// A list of words, or one text with commas.
ReadProblem read_words(const Value& value, std::vector<std::string>& out) {
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

ReadProblem read_need(const Value& value, RecommendRequest& out) {
    std::uint64_t count = 0;
    auto problem = read_value(value, count);
    if (problem.empty() && count > kMaxNeedMib)
        problem = "number out of range";
    if (problem.empty() && count > 0)
        out.need = mib(count);
    return problem;
}

constexpr MemberReader<RecommendRequest> kKeys[] = {
    {"prefer",
     [](const Value& value, RecommendRequest& out) { return read_words(value, out.prefer); }},
    {"only", [](const Value& value,
                RecommendRequest& out) { return read_words(value, out.only.emplace()); }},
    {"exclude",
     [](const Value& value, RecommendRequest& out) { return read_words(value, out.exclude); }},
    {"need-mib", read_need},
    {"require-verified",
     [](const Value& value, RecommendRequest& out) {
         return read_value(value, out.require_verified);
     }},
    {"include-rejected",
     [](const Value& value, RecommendRequest& out) {
         return read_value(value, out.include_rejected);
     }},
    {"explain",
     [](const Value& value, RecommendRequest& out) { return read_value(value, out.explain); }},
};

}  // namespace

RecommendRequest under_rule(RecommendRequest request, const RecommendRequest& rule) {
    request.prefer.insert(request.prefer.end(), rule.prefer.begin(), rule.prefer.end());
    request.exclude.insert(request.exclude.end(), rule.exclude.begin(), rule.exclude.end());
    request.allowed = rule.only;
    request.require_verified = request.require_verified || rule.require_verified;
    if (rule.need && (!request.need || request.need->count < rule.need->count))
        request.need = rule.need;
    return request;
}

Result<RecommendRequest> recommend_request_from(const Value& object) {
    RecommendRequest request;
    if (object.is_null())
        return request;
    const auto* members = object.as_object();
    if (!members)
        return Error{ErrorCode::InvalidRequest, "request: " + wrong_type(object, "object")};
    for (const auto& [key, value] : *members) {
        ReadProblem problem = "unknown key";
        for (const auto& reader : kKeys)
            if (reader.key == key)
                problem = reader.read(value, request);
        if (!problem.empty())
            return Error{ErrorCode::InvalidRequest,
                         "request: " + scrubbed(key, 64) + ": " + problem.text()};
    }
    return request;
}

}  // namespace gpuprobe
