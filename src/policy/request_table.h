// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/text.h"
#include "report/api_table.h"

/// The keys that a request can contain. Each key is described in only one place. Requests and
/// override rules are read with these tables, the command-line options are generated from the
/// tables, and the documentation and the bus interface are tested against the tables.

namespace gpuprobe::inline policy {

/// The words "cuda rocm … cpu none": the backends in the API table, and "none" for no backend.
consteval auto backends_and_none() {
    RowsOf<char, 128> text;
    for (const auto& backend : gpu_backends()) {
        std::ranges::for_each(backend.name, [&text](char letter) { text.add(letter); });
        text.add(' ');
    }
    std::ranges::for_each(std::string_view{"cpu none"}, [&text](char letter) { text.add(letter); });
    return text;
}
inline constexpr auto kBackendText = backends_and_none();
inline constexpr std::string_view kBackendOrNone{kBackendText.begin(), kBackendText.end()};
inline constexpr std::string_view kBackendWords =
    kBackendOrNone.substr(0, kBackendOrNone.size() - std::string_view{" none"}.size());
inline constexpr std::string_view kFamilyWords =
    "family:cuda family:rocm family:vulkan family:xpu family:cpu";

enum class RequestType {
    Names,      ///< a list of words, or one string with commas
    Flag,       ///< a boolean
    Word,       ///< a string
    Size,       ///< bytes, or a string such as "8GiB"
    Mebibytes,  ///< a whole number of MiB; the command-line option takes a size such as "8GiB"
    Pairs,      ///< names with their values
    Number,     ///< a whole number, or a string such as "32k"
};

/// A key of a request. If `option` is empty, the command line has no option for the key.
struct RequestKey {
    std::string_view key = {};
    RequestType type = RequestType::Names;
    std::string_view meaning = {};  ///< one line for the command line's help
    std::string_view option = {};   ///< option of the verbs that take requests: "--memory"
    std::string_view placeholder = {};
    std::string_view offers = {};  ///< completions, separated by spaces
    bool offers_gpus = false;      ///< whether completions also offer the machine's GPUs
    bool offers_files = false;     ///< whether completions also offer file names
    bool takes_others = true;      ///< whether words that aren't in `offers` are accepted
    bool keeps_empty = false;      ///< whether an empty list differs from an absent list
    bool option_sets = true;       ///< the value that a flag's option sets
    bool repeats = false;          ///< whether the option of a list may be given several times
    /// Option of `override set`; empty if a rule cannot contain the key.
    std::string_view rule_option = {};
    std::string_view rule_meaning = {};  ///< meaning in rules, if it differs from `meaning`
};

/// The keys of select and env in the order of the help (docs/applications.md, "The request").
std::span<const RequestKey> select_keys();
/// The keys of recommend (docs/applications.md, "A request for a variant").
std::span<const RequestKey> recommend_keys();
// The keys of plan are in plan/plan.h.

/// The key `assume`, which read_assumptions() reads.
inline constexpr RequestKey kAssumeKey = {
    .key = "assume",
    .meaning = "facts to assume if they are not known: glibc=2.39,driver=550",
    .option = "--assume",
    .placeholder = "KEY=VALUE",
    .repeats = true};
ReadProblem read_assumptions(const Value& value, std::vector<std::string>& out);

/// Reads the caller's environment variables.
ReadProblem read_variables(const Value& value, std::map<std::string, std::string>& out);

/// A key and its reader.
template <class Request>
struct ReadableKey {
    RequestKey about = {};
    ReadProblem (*read)(const Value& value, Request& request) = nullptr;
};

/// The message "unknown key", with the known keys that resemble the unknown key.
template <class Request, std::size_t N>
ReadProblem unknown_key(std::string_view given, const ReadableKey<Request> (&table)[N]) {
    std::vector<std::string> known;
    for (const auto& row : table)
        known.emplace_back(row.about.key);
    const auto question = did_you_mean(given, known);
    return question.empty() ? std::string{"unknown key"} : "unknown key; " + question;
}

/// Reads one member with the table's row for its key; an unknown key is an error.
template <class Request, std::size_t N>
ReadProblem read_key(const Value::Member& member,
                     const ReadableKey<Request> (&table)[N],
                     Request& request) {
    for (const auto& row : table)
        if (row.about.key == member.key)
            return row.read(member.value, request);
    return unknown_key(member.key, table);
}

/// Reads a request from its named values; null means an empty request. Errors: InvalidRequest, with
/// the wrong key.
template <class Request, std::size_t N>
Result<Request> request_from(const Value& object, const ReadableKey<Request> (&table)[N]) {
    Request request;
    if (object.is_null())
        return request;
    const auto* members = object.as_object();
    if (!members)
        return Error{ErrorCode::InvalidRequest, "request: " + wrong_type(object, "object")};
    for (const auto& member : *members)
        if (auto problem = read_key(member, table, request); !problem.empty())
            return Error{ErrorCode::InvalidRequest,
                         "request: " + std::move(problem).in(scrubbed(member.key, 64)).text()};
    return request;
}

/// The descriptions of all keys in a table.
template <class Request, std::size_t N>
std::vector<RequestKey> described(const ReadableKey<Request> (&table)[N]) {
    std::vector<RequestKey> keys;
    for (const auto& row : table)
        keys.push_back(row.about);
    return keys;
}

}  // namespace gpuprobe::inline policy
