// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gpuprobe/client.h>

/// Converts the results of functions in <gpuprobe/client.h> to JSON, for reference_test.py. Members
/// that an answer does not have are null or empty.
namespace answer_json {

using gpuprobe::api::detail::quoted;

inline std::string json(const std::string& text) {
    return quoted(text);
}
inline std::string json(const bool& truth) {
    return truth ? "true" : "false";
}
inline std::string json(const double& number) {
    return std::to_string(number);
}
inline std::string json(const gpuprobe::api::Json& value) {
    return value.text;
}
template <std::integral Number>
std::string json(const Number& number) {
    return std::to_string(number);
}
template <class Record>
std::string json(const Record& record);
template <class T>
std::string json(const std::optional<T>& value);
template <class T>
std::string json(const std::vector<T>& items);
template <class T>
std::string json(const std::map<std::string, T>& members);

/// Writes "KEY":VALUE, with a comma before each member except the first.
template <class T>
void add_member(std::string& text, const std::string& key, const T& member) {
    text.append(text.empty() ? "" : ",").append(quoted(key)).append(":").append(json(member));
}

template <class Record>
std::string json(const Record& record) {
    std::string text;
    auto copy = record;
    const auto visit = [&text](const char* key, const auto& member) {
        add_member(text, key, member);
    };
    describe(visit, copy);
    return "{" + text + "}";
}
template <class T>
std::string json(const std::optional<T>& value) {
    return value ? json(*value) : "null";
}
template <class T>
std::string json(const std::vector<T>& items) {
    std::string text;
    for (const auto& item : items)
        text.append(text.empty() ? "" : ",").append(json(item));
    return "[" + text + "]";
}
template <class T>
std::string json(const std::map<std::string, T>& members) {
    std::string text;
    for (const auto& [key, member] : members)
        add_member(text, key, member);
    return "{" + text + "}";
}

/// Prints the result of `call`: a record, JSON or nothing.
template <class Call>
void print(const Call& call) {
    using Answer = decltype(call());
    if constexpr (std::is_void_v<Answer>)
        call();
    else if constexpr (std::is_same_v<Answer, std::string>)
        std::cout << call() << '\n';
    else
        std::cout << json(call()) << '\n';
}

}  // namespace answer_json
