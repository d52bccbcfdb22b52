// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/parse.h"
#include "base/record.h"
#include "policy/manifest.h"

/// Parts of a manifest from their values. Each returns what is wrong, with the path below the value
/// that it was given.
namespace gpuprobe::inline policy {

ReadProblem read_variant(std::string name, const Value& value, Variant& out);
ReadProblem read_requirements(const Value& value, Requirements& out);
ReadProblem read_artifact(const Value& value, Value& out);

/// "[A-Za-z0-9][A-Za-z0-9_.+:/-]*", at most 128 bytes.
bool is_label(std::string_view text);
/// Without control characters and what else a terminal would act on, at most `limit` bytes.
ReadProblem read_plain_text(const Value& value, std::string& out, std::size_t limit);
/// 64 lower-case hexadecimal digits that are not all zero.
ReadProblem check_sha256(const Value& value);
/// https or http with a host.
ReadProblem check_url(const Value& value);
/// A key as a part of a path: quoted when it is no label, and cut.
std::string path_part(std::string_view key);

/// The first problem of `members` read by `read(key, value)`; keys that start with "x-" are passed
/// over.
template <class Read>
ReadProblem read_members(const Value& object, Read read) {
    const auto* members = object.as_object();
    if (!members)
        return wrong_type(object, "object");
    for (const auto& member : *members) {
        if (member.key.starts_with("x-"))
            continue;
        ReadProblem problem = read(member.key, member.value);
        if (!problem.empty())
            return std::move(problem).in(path_part(member.key));
    }
    return {};
}

template <class T>
struct MemberReader {
    std::string_view key;
    ReadProblem (*read)(const Value& value, T& out);
};

/// Every member by its reader; one without a reader is a problem.
template <class T, std::size_t N>
ReadProblem read_known(const Value& object, T& out, const MemberReader<T> (&readers)[N]) {
    return read_members(object, [&](const std::string& key, const Value& value) -> ReadProblem {
        for (const auto& reader : readers)
            if (reader.key == key)
                return reader.read(value, out);
        return "unknown member";
    });
}

template <class T>
ReadProblem read_list(const Value& value, std::vector<T>& out, std::size_t limit) {
    const auto* items = value.as_array();
    if (!items)
        return wrong_type(value, "array");
    if (items->size() > limit)
        return ReadProblem{"more than " + std::to_string(limit) + " items"};
    return read_value(value, out);
}
constexpr std::size_t kMaxList = 256;

}  // namespace gpuprobe::inline policy
