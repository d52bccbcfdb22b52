// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/parse.h"
#include "base/size.h"
#include "policy/predicate.h"
#include "policy/select.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxName = 128;

/// Adds one item of a list.
using Add = ReadProblem (*)(std::string_view text, std::vector<std::string>& out);

ReadProblem add_as_it_is(std::string_view text, std::vector<std::string>& out) {
    const auto name = trimmed(text);
    if (name.empty())
        return "an empty name";
    if (name.size() > kMaxName)
        return "a name of more than 128 bytes";
    if (out.size() == kMaxNames)
        return "more than 64 names";
    out.emplace_back(name);
    return {};
}

ReadProblem add_name(std::string_view text, std::vector<std::string>& out) {
    return add_as_it_is(lower_case(text), out);
}

/// Sizes have capitals: "memory>=8GiB".
ReadProblem add_predicate(std::string_view text, std::vector<std::string>& out) {
    auto problem = add_as_it_is(text, out);
    if (!problem.empty())
        return problem;
    if (auto why = predicate_problem(out.back()))
        return std::move(*why);
    return {};
}

/// An array of strings, or one string with commas; the empty string is the empty list.
ReadProblem read_list(const Value& value, std::vector<std::string>& out, Add add) {
    out.clear();
    if (const auto* text = value.as_string()) {
        if (trimmed(*text).empty())
            return {};
        for (const auto piece : split(*text, ','))
            if (auto problem = add(piece, out); !problem.empty())
                return problem;
        return {};
    }
    const auto* items = value.as_array();
    if (!items)
        return wrong_type(value, "array of strings");
    for (const auto& item : *items) {
        std::string name;
        auto problem = read_value(item, name);
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(out.size()) + "]");
        problem = add(name, out);
        if (!problem.empty())
            return problem;
    }
    return {};
}

ReadProblem read_names(const Value& value, std::vector<std::string>& out) {
    return read_list(value, out, add_name);
}

ReadProblem read_some_names(const Value& value, std::optional<std::vector<std::string>>& out) {
    auto problem = read_names(value, out.emplace());
    if (problem.empty() && out->empty())
        return "expected at least one name";
    return problem;
}

ReadProblem read_size(const Value& value, std::optional<Bytes>& out) {
    if (const auto count = value.as_unsigned())
        out = Bytes{*count};
    else if (const auto* text = value.as_string())
        out = size_from_text(*text);
    else
        out.reset();
    return out ? ReadProblem{} : ReadProblem{"expected a number of bytes, or text like \"8GiB\""};
}

ReadProblem read_platform(const Value& value, std::optional<std::string>& out) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    out = lower_case(trimmed(*text));
    const auto dash = out->find('-');
    if (out->size() > kMaxName || dash == 0 || dash == std::string::npos || out->ends_with('-'))
        return "expected an operating system and a processor, like \"darwin-arm64\"";
    return {};
}

ReadProblem read_backend(const Value& value, std::optional<std::string>& out) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    std::vector<std::string> names;
    if (auto problem = add_name(*text, names); !problem.empty())
        return problem;
    out.reset();
    if (names.front() != "auto")
        out = names.front();
    return {};
}

struct Key {
    std::string_view name = {};
    ReadProblem (*read)(const Value& value, SelectRequest& request) = nullptr;
};
constexpr std::array<Key, 17> kKeys{{
    {"built", [](const Value& v, SelectRequest& r) { return read_names(v, r.built.emplace()); }},
    {"deny", [](const Value& v, SelectRequest& r) { return read_names(v, r.deny); }},
    {"backend", [](const Value& v, SelectRequest& r) { return read_backend(v, r.backend); }},
    {"strict", [](const Value& v, SelectRequest& r) { return read_value(v, r.strict.emplace()); }},
    {"min-memory", [](const Value& v, SelectRequest& r) { return read_size(v, r.min_memory); }},
    {"prefer", [](const Value& v, SelectRequest& r) { return read_names(v, r.prefer); }},
    {"only", [](const Value& v, SelectRequest& r) { return read_some_names(v, r.only); }},
    {"gpus", [](const Value& v, SelectRequest& r) { return read_some_names(v, r.gpus); }},
    {"require",
     [](const Value& v, SelectRequest& r) { return read_list(v, r.require, add_predicate); }},
    {"any-vendor", [](const Value& v, SelectRequest& r) { return read_value(v, r.any_vendor); }},
    {"platform", [](const Value& v, SelectRequest& r) { return read_platform(v, r.platform); }},
    {"fake", [](const Value& v, SelectRequest& r) { return read_some_names(v, r.fake); }},
    {"rank", [](const Value& v, SelectRequest& r) { return read_value(v, r.rank.emplace()); }},
    {"require-verified",
     [](const Value& v, SelectRequest& r) { return read_value(v, r.require_verified); }},
    {"forbid-fake", [](const Value& v, SelectRequest& r) { return read_value(v, r.forbid_fake); }},
    {"include-rejected",
     [](const Value& v, SelectRequest& r) { return read_value(v, r.include_rejected); }},
    {"explain", [](const Value& v, SelectRequest& r) { return read_value(v, r.explain); }},
}};

ReadProblem read_member(const Value::Member& member, SelectRequest& request) {
    const auto* key = std::ranges::find(kKeys, member.key, &Key::name);
    if (key == kKeys.end())
        return ReadProblem{"unknown key"}.in(scrubbed(member.key, 64));
    return key->read(member.value, request).in(key->name);
}

}  // namespace

Result<SelectRequest> select_request_from(const Value& object) {
    SelectRequest request;
    if (object.is_null())
        return request;
    const auto* members = object.as_object();
    if (!members)
        return Error{ErrorCode::InvalidRequest, "request: " + wrong_type(object, "object")};
    for (const auto& member : *members)
        if (const auto problem = read_member(member, request); !problem.empty())
            return Error{ErrorCode::InvalidRequest, "request: " + problem.text()};
    return request;
}

}  // namespace gpuprobe
