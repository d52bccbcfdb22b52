// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/value_json.h"
#include "policy/backend_words.h"
#include "policy/fact.h"
#include "policy/selector_facts.h"
#include "support/places.h"

/// What is written about profiles and reasons says what the program does.
namespace gpuprobe {
namespace {

std::string file(const std::string& path) {
    const RootedFiles files{GPUPROBE_SOURCE_DIR};
    auto text = files.read(path, mib(1));
    EXPECT_TRUE(text) << text.error().text;
    return text ? *text : std::string{};
}

std::set<std::string> matches(const std::string& text, const char* pattern) {
    const std::regex expression{pattern};
    std::set<std::string> found;
    for (std::sregex_iterator at{text.begin(), text.end(), expression}, end; at != end; ++at)
        found.insert(at->str(1));
    return found;
}

std::set<std::string> facts_of_schema(const Value& schema) {
    const auto* pattern = schema.at("$defs").at("template").at("pattern").as_string();
    return pattern ? matches(*pattern, "([a-z0-9_]{5,})") : std::set<std::string>{};
}

TEST(ProfileSchema, HasTheBackendsThatAProfileMayOrder) {
    const auto schema = parse_json(file("/data/schema/profile.schema.json"), mib(1)).value();
    Value::Array names;
    for (const auto& backend : gpu_backends())
        names.push_back(Value{backend.name});
    EXPECT_EQ(schema.at("$defs").at("gpu_backend").at("enum"), Value{names});
    names.push_back(Value{kCpu});
    EXPECT_EQ(schema.at("$defs").at("backend").at("enum"), Value{names});
}

TEST(ProfileSchema, HasTheFactsThatAreDocumented) {
    const auto schema = parse_json(file("/data/schema/profile.schema.json"), mib(1)).value();
    const auto facts = facts_of_schema(schema);
    EXPECT_EQ(facts, matches(file("/docs/profiles.md"), "\\| `\\{([a-z_]+)\\}`"));
    for (const auto& name : facts)
        EXPECT_TRUE(is_selector_fact(name)) << name;
}

TEST(ProfileSchema, HasEveryFactThatThereIs) {
    const auto schema = parse_json(file("/data/schema/profile.schema.json"), mib(1)).value();
    const auto code =
        matches(file("/src/policy/selector_facts.cpp"), "\\{\"([a-z_]+)\", [a-z_]+\\}");
    EXPECT_EQ(facts_of_schema(schema), code);
}

TEST(Requests, AreDocumented) {
    const auto documented = matches(file("/docs/profiles.md"), "\\n\\| `([a-z-]+)` \\|");
    const auto keys =
        matches(file("/src/policy/select_request.cpp"), "\\{\"([a-z-]+)\",\\s+\\[\\]");
    EXPECT_EQ(keys.size(), 16U);
    for (const auto& key : keys)
        EXPECT_TRUE(documented.contains(key)) << key;
}

TEST(MachineFacts, AreDocumentedAndNoOthers) {
    const auto page = file("/docs/profiles.md");
    const auto from = page.find("| fact | type |");
    const auto documented = matches(page.substr(from, page.find("\n\n", from) + 1 - from),
                                    "[|,] `([a-z0-9-]+)`(?=[^|]*\\|[^|]*\\|[^|]*\\|\n)");
    std::set<std::string> nameable;
    for (const auto& row : fact_rows())
        if (row.is_nameable)
            nameable.emplace(row.key);
    EXPECT_EQ(documented, nameable);
}

TEST(Situations, AreDocumented) {
    const auto documented = matches(file("/docs/profiles.md"), "`([a-z-]+)`");
    const auto code = file("/src/policy/messages.cpp");
    const auto from = code.find("kSituations");
    const auto situations =
        matches(code.substr(from, code.find(';', from) - from), "\"([a-z-]+)\"");
    EXPECT_EQ(situations.size(), 16U);
    for (const auto& name : situations)
        EXPECT_TRUE(documented.contains(name)) << name;
}

}  // namespace
}  // namespace gpuprobe
