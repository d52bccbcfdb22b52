// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parse.h"
#include "base/record.h"
#include "base/suggestion.h"
#include "report/api_table.h"

/// What a request may hold. Each key is described once: the readers of requests and of override
/// rules go by these tables, the options of the command line are made from them, and the pages of
/// the documentation and the bus are tested against them.
namespace gpuprobe::inline policy {

/// "cuda rocm … cpu none": the backends of the table of APIs, and the word for none of them.
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
    Names,      ///< a list of words, or one text with commas
    Flag,       ///< a boolean
    Word,       ///< a string
    Size,       ///< bytes, or text like "8GiB"
    Mebibytes,  ///< a whole number of MiB
    Pairs,      ///< names with their values
    Number,     ///< a whole number, or text like "32k"
};

/// One key of a request. An empty option: the command line has none for it.
struct RequestKey {
    std::string_view key = {};
    RequestType type = RequestType::Names;
    std::string_view meaning = {};  ///< one line, as the command line's help has it
    std::string_view option = {};   ///< of the verbs that ask: "--min-memory"
    std::string_view placeholder = {};
    std::string_view offers = {};        ///< words to offer, between blanks
    bool offers_gpus = false;            ///< and the machine's GPUs
    bool offers_files = false;           ///< and files
    bool takes_others = true;            ///< than the words in `offers`
    bool keeps_empty = false;            ///< an empty list is something else than none
    bool option_sets = true;             ///< what the option of a flag says
    std::string_view rule_option = {};   ///< of `override set`; empty: no rule may hold the key
    std::string_view rule_meaning = {};  ///< empty: as `meaning`
};

/// What select and env ask, in the order of the help (docs/consumers.md, "The request").
std::span<const RequestKey> select_keys();
/// What recommend asks (docs/variants.md, "The request").
std::span<const RequestKey> recommend_keys();
// What plan asks is in plan/plan_request.h.

/// The caller's own variables.
ReadProblem read_variables(const Value& value, std::map<std::string, std::string>& out);

/// One key with its reader.
template <class Request>
struct ReadableKey {
    RequestKey about = {};
    ReadProblem (*read)(const Value& value, Request& request) = nullptr;
};

/// "unknown key", with the key that was perhaps meant.
template <class Request, std::size_t N>
ReadProblem unknown_key(std::string_view given, const ReadableKey<Request> (&table)[N]) {
    std::vector<std::string> known;
    for (const auto& row : table)
        known.emplace_back(row.about.key);
    const auto near = closest(given, known);
    return near ? "unknown key; did you mean '" + *near + "'?" : std::string{"unknown key"};
}

template <class Request, std::size_t N>
ReadProblem read_key(const Value::Member& member,
                     const ReadableKey<Request> (&table)[N],
                     Request& request) {
    for (const auto& row : table)
        if (row.about.key == member.key)
            return row.read(member.value, request);
    return unknown_key(member.key, table);
}

/// A request from its named values; null is an empty one. Errors: InvalidRequest, with the key at
/// fault.
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

/// The descriptions in a table.
template <class Request, std::size_t N>
std::vector<RequestKey> described(const ReadableKey<Request> (&table)[N]) {
    std::vector<RequestKey> keys;
    for (const auto& row : table)
        keys.push_back(row.about);
    return keys;
}

}  // namespace gpuprobe::inline policy
