// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/value.h"
#include "support/places.h"

namespace gpuprobe::testing_properties {

/// Supports the parts of JSON Schema that describe the shape of the report: types, members, words,
/// references and alternatives. tests/lint checks patterns and limits of numbers.
class Schema {
public:
    static Schema read(const std::string& name) {
        const RootedFiles files{GPUPROBE_BINARY_DIR "/generated/interface"};
        const auto text = files.read("/" + name, mib(1));
        EXPECT_TRUE(text) << text.error().text;
        return Schema{parse_json(text.value(), mib(1)).value()};
    }

    /// The first problem, as "path: problem"; empty if there is none.
    [[nodiscard]] std::string problem_in(const Value& document) const {
        return problem(root_, document);
    }

private:
    explicit Schema(Value root) : root_{std::move(root)} {}

    [[nodiscard]] const Value& resolved(const Value& rule) const {
        constexpr std::string_view kDefinitions = "#/$defs/";
        const auto* reference = rule.at("$ref").as_string();
        return reference ? root_.at("$defs").at(reference->substr(kDefinitions.size())) : rule;
    }

    static bool is_of(const Value& value, std::string_view type) {
        const auto found = value.type_name();
        return found == type || (type == "number" && found == "integer");
    }

    static std::string type_problem(const Value& rule, const Value& value) {
        const auto& type = rule.at("type");
        if (const auto* word = type.as_string())
            return is_of(value, *word) ? "" : ": not a " + *word;
        const auto* words = type.as_array();
        const bool fits = !words || std::ranges::any_of(*words, [&value](const Value& word) {
            return is_of(value, *word.as_string());
        });
        return fits ? "" : ": of no type that it may have";
    }

    static std::string word_problem(const Value& rule, const Value& value) {
        const auto* words = rule.at("enum").as_array();
        const bool is_word = !words || std::ranges::find(*words, value) != words->end();
        const auto* constant = rule.find("const");
        return is_word && (!constant || *constant == value) ? "" : ": none of the words";
    }

    static std::string in(const std::string& key, const std::string& problem) {
        const bool is_deeper = !problem.empty() && problem.front() != ':';
        return problem.empty() ? "" : key + (is_deeper ? "." : "") + problem;
    }

    [[nodiscard]] std::string member_problem(const Value& rule, const Value& value) const {
        const auto* members = value.as_object();
        if (!members)
            return "";
        if (const auto* required = rule.at("required").as_array())
            for (const auto& key : *required)
                if (!value.find(*key.as_string()))
                    return in(*key.as_string(), ": missing");
        const auto& others = rule.at("additionalProperties");
        for (const auto& member : *members) {
            const auto* known = rule.at("properties").find(member.key);
            if (!known && others == Value{false})
                return in(member.key, ": not in the schema");
            if (const auto* next = known ? known : others.is_object() ? &others : nullptr)
                if (const auto wrong = problem(*next, member.value); !wrong.empty())
                    return in(member.key, wrong);
        }
        return "";
    }

    [[nodiscard]] std::string item_problem(const Value& rule, const Value& value) const {
        const auto* items = value.as_array();
        for (std::size_t i = 0; items && rule.find("items") && i < items->size(); ++i)
            if (const auto wrong = problem(rule.at("items"), (*items)[i]); !wrong.empty())
                return in(std::to_string(i), wrong);
        return "";
    }

    // NOLINTNEXTLINE(misc-no-recursion): as deep as the document
    [[nodiscard]] std::string problem(const Value& reference, const Value& value) const {
        const auto& rule = resolved(reference);
        if (const auto* choices = rule.at("anyOf").as_array()) {
            std::string last;
            for (const auto& choice : *choices)
                if (last = problem(choice, value); last.empty())
                    return "";
            return last;
        }
        for (const auto& wrong : {type_problem(rule, value), word_problem(rule, value),
                                  member_problem(rule, value), item_problem(rule, value)})
            if (!wrong.empty())
                return wrong;
        return "";
    }

    Value root_;
};

}  // namespace gpuprobe::testing_properties
