// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/record.h"
#include "base/text.h"
#include "policy/known_words.h"
#include "policy/manifest.h"

/// Functions that read a manifest and its parts from a Value. Each function returns the problem
/// that it found, with a path relative to the value that was passed to the function.

namespace gpuprobe::inline policy {

/// Reads a whole manifest: gpuprobe.variants/1, or one of tsuku's formats (two levels or flat).
/// Does not set the hash. Problems are violations of the schema, two spellings of one platform, a
/// `default` or companion that isn't a variant, a URL that is neither https nor http, and a hash of
/// zeros.
ReadProblem read_manifest(const Value& root, Manifest& out, UnknownWords unknown);
/// Reads a variant.
ReadProblem read_variant(std::string name,
                         const Value& value,
                         Variant& out,
                         UnknownWords unknown = UnknownWords::Lose);
/// Reads `requires`.
ReadProblem read_requirements(const Value& value,
                              Requirements& out,
                              UnknownWords unknown = UnknownWords::Lose);
/// Reads `advises`. If the version of Python is unknown, terms about Python count as met: the
/// caller may install into an environment with a different Python, so a warning would not help.
ReadProblem read_advice(const Value& value, Requirements& out, UnknownWords unknown);

/// The members that an object in a manifest may have.
struct MemberPlace {
    std::string_view place = {};  ///< name of the object in messages: "requires.host"
    std::vector<std::string> members = {};
};
std::vector<MemberPlace> requirement_members();
/// The members of a variant and of the objects in it.
std::vector<MemberPlace> variant_members();
/// The members of a manifest and of the objects in it.
std::vector<MemberPlace> manifest_members();

/// Validates an artifact and copies it.
ReadProblem read_artifact(const Value& value, Value& out);

/// Whether the string matches "[A-Za-z0-9][A-Za-z0-9_.+:/-]*" and has at most 128 bytes.
bool is_label(std::string_view text);
/// Reads a string of at most `limit` bytes without control characters or other characters that a
/// terminal interprets.
ReadProblem read_plain_text(const Value& value, std::string& out, std::size_t limit);
constexpr std::size_t kMaxVersionText = 64;
/// Checks that `source` is an object in which `version` and `newer` are plain strings and `checked`
/// is a day.
ReadProblem check_source(const Value& value);
/// Checks for 64 lower-case hexadecimal digits that aren't all zero.
ReadProblem check_sha256(const Value& value);
/// Checks that the value is an https or http URL with a host.
ReadProblem check_url(const Value& value);
/// A key as it appears in a path: shortened, and quoted if the key isn't a label.
std::string path_part(std::string_view key);

/// Reads all members with `read(key, value)` and returns the first problem. Keys that start with
/// "x-" are ignored.
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

/// The key of a member, and the function that reads the member.
template <class T>
struct MemberReader {
    std::string_view key;
    ReadProblem (*read)(const Value& value, T& out);
};

/// The keys of a table of readers or checks.
template <class Row, std::size_t N>
std::vector<std::string> keys_of(const Row (&rows)[N]) {
    std::vector<std::string> keys;
    for (const auto& row : rows)
        keys.emplace_back(row.key);
    return keys;
}

/// Reads every member with its reader; a member without a reader is reported as a problem.
template <class T, std::size_t N>
ReadProblem read_known(const Value& object, T& out, const MemberReader<T> (&readers)[N]) {
    return read_members(object, [&](const std::string& key, const Value& value) -> ReadProblem {
        for (const auto& reader : readers)
            if (reader.key == key)
                return reader.read(value, out);
        return unknown_member(key, keys_of(readers));
    });
}

/// Reads a list of at most `limit` items.
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

/// Splits a string into words at its spaces.
std::vector<std::string> word_list(std::string_view text);

}  // namespace gpuprobe::inline policy
