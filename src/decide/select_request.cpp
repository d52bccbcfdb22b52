// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/parse.h"
#include "decide/select.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxName = 128;

ReadProblem add_name(std::string_view text, std::vector<std::string>& out) {
    const auto name = trimmed(text);
    if (name.empty())
        return "an empty name";
    if (name.size() > kMaxName)
        return "a name of more than 128 bytes";
    if (out.size() == kMaxNames)
        return "more than 64 names";
    out.push_back(lower_case(name));
    return {};
}

/// An array of strings, or one string with commas; the empty string is the empty list.
ReadProblem read_names(const Value& value, std::vector<std::string>& out) {
    out.clear();
    if (const auto* text = value.as_string()) {
        if (trimmed(*text).empty())
            return {};
        for (const auto piece : split(*text, ','))
            if (auto problem = add_name(piece, out); !problem.empty())
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
        problem = add_name(name, out);
        if (!problem.empty())
            return problem;
    }
    return {};
}

ReadProblem read_some_names(const Value& value, std::optional<std::vector<std::string>>& out) {
    auto problem = read_names(value, out.emplace());
    if (problem.empty() && out->empty())
        return "expected at least one name";
    return problem;
}

struct Unit {
    std::string_view name = {};
    std::uint64_t bytes = 1;
};
constexpr std::array<Unit, 10> kUnits{{{"", 1},
                                       {"B", 1},
                                       {"kB", 1000},
                                       {"MB", 1000'000},
                                       {"GB", 1000'000'000},
                                       {"TB", 1000'000'000'000},
                                       {"KiB", kib(1).count},
                                       {"MiB", mib(1).count},
                                       {"GiB", gib(1).count},
                                       {"TiB", gib(1024).count}}};

/// "8GiB", "8192 MiB", "8000000000". "8G" could be either and is none.
std::optional<Bytes> size_from(std::string_view text) {
    text = trimmed(text);
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_number<std::uint64_t>(text.substr(0, digits));
    const auto* unit = std::ranges::find(kUnits, trimmed(text.substr(digits)), &Unit::name);
    if (!number || unit == kUnits.end() || *number > UINT64_MAX / unit->bytes)
        return std::nullopt;
    return Bytes{*number * unit->bytes};
}

ReadProblem read_size(const Value& value, std::optional<Bytes>& out) {
    if (const auto count = value.as_unsigned())
        out = Bytes{*count};
    else if (const auto* text = value.as_string())
        out = size_from(*text);
    else
        out.reset();
    return out ? ReadProblem{} : ReadProblem{"expected a number of bytes, or text like \"8GiB\""};
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
constexpr std::array<Key, 9> kKeys{{
    {"built", [](const Value& v, SelectRequest& r) { return read_names(v, r.built.emplace()); }},
    {"deny", [](const Value& v, SelectRequest& r) { return read_names(v, r.deny); }},
    {"backend", [](const Value& v, SelectRequest& r) { return read_backend(v, r.backend); }},
    {"strict", [](const Value& v, SelectRequest& r) { return read_value(v, r.strict.emplace()); }},
    {"min-memory", [](const Value& v, SelectRequest& r) { return read_size(v, r.min_memory); }},
    {"prefer", [](const Value& v, SelectRequest& r) { return read_names(v, r.prefer); }},
    {"only", [](const Value& v, SelectRequest& r) { return read_some_names(v, r.only); }},
    {"gpus", [](const Value& v, SelectRequest& r) { return read_some_names(v, r.gpus); }},
    {"include-rejected",
     [](const Value& v, SelectRequest& r) { return read_value(v, r.include_rejected); }},
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
