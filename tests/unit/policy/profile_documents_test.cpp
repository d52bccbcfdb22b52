// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/value.h"
#include "policy/fact.h"
#include "policy/gpu_selection.h"
#include "policy/override_rule.h"
#include "policy/profile.h"
#include "policy/request_table.h"
#include "support/places.h"

/// The documentation and the schema of selections and requests match the program.
namespace gpuprobe {
namespace profile_documents_test {

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

TEST(ApplicationSchema, HasTheBackendsThatASelectionMayOrder) {
    const auto schema = parse_json(file("/data/schema/application.schema.json"), mib(1)).value();
    Value::Array names;
    for (const auto& backend : gpu_backends())
        names.push_back(Value{backend.name});
    for (const auto& backend : kAcceleratorBackends)
        names.push_back(Value{backend.name});
    for (const auto& backend : kVideoBackends)
        names.push_back(Value{backend.name});
    EXPECT_EQ(schema.at("$defs").at("gpu_backend").at("enum"), Value{names});
    names.push_back(Value{kCpu});
    EXPECT_EQ(schema.at("$defs").at("backend").at("enum"), Value{names});
}

TEST(ApplicationSchema, HasTheFactsThatAreDocumented) {
    const auto schema = parse_json(file("/data/schema/application.schema.json"), mib(1)).value();
    const auto facts = facts_of_schema(schema);
    EXPECT_EQ(facts, matches(file("/docs/data-files.md"), "\\| `\\{([a-z_]+)\\}`"));
    for (const auto& name : facts)
        EXPECT_TRUE(is_selector_fact(name)) << name;
}

TEST(ApplicationSchema, HasEveryFactThatThereIs) {
    const auto schema = parse_json(file("/data/schema/application.schema.json"), mib(1)).value();
    auto code = matches(file("/src/policy/gpu_selection.cpp"), "\\{\"([a-z_]+)\", [a-z_]+\\}");
    for (const auto* api : computing_apis())
        if (!api->vendor.empty())
            code.insert(std::string{api->word} + "_pci_ranks");
    EXPECT_EQ(facts_of_schema(schema), code);
}

/// The part of a page below a title.
std::string section(const std::string& page, const std::string& title) {
    const auto start = page.find("\n## " + title + "\n");
    EXPECT_NE(start, std::string::npos) << title;
    return page.substr(start, page.find("\n## ", start + 1) - start);
}

/// The description of the request in the XML comment of a method of the manager.
std::string remark(const std::string& method) {
    const auto xml = file("/dbus/org.gpuprobe.GpuProbe1.Manager.xml");
    const auto end = xml.find("<method name=\"" + method + "\">");
    const auto start = xml.rfind("<!--", end);
    return xml.substr(start, end - start);
}

/// The D-Bus type for a type of request values.
std::string_view bus_type_of(RequestType type) {
    switch (type) {
        case RequestType::Names:
            return "as";
        case RequestType::Flag:
            return "b";
        case RequestType::Word:
            return "s";
        case RequestType::Pairs:
            return "a{ss}";
        case RequestType::Size:
        case RequestType::Mebibytes:
        case RequestType::Number:
            break;
    }
    return "t";
}

/// A pattern for the key with its D-Bus type. Other keys of this type may be between them.
std::string typed(const RequestKey& key) {
    auto type = std::regex_replace(std::string{bus_type_of(key.type)}, std::regex{"[{}]"}, "\\$&");
    return "\\b" + std::string{key.key} + "(, [a-z]+)* " + type + "(?![a-z{])";
}

void expect_documented(std::span<const RequestKey> keys,
                       const char* title,
                       const std::string& method) {
    const auto table = section(file("/docs/applications.md"), title);
    const auto documented = remark(method);
    std::set<std::string> known;
    for (const auto& key : keys) {
        const std::string name{key.key};
        known.insert(name);
        const std::regex row{"\\| `" + name + "` \\| (list|boolean|string|bytes|MiB|`)"};
        EXPECT_TRUE(std::regex_search(table, row)) << name;
        const bool is_list = table.find("| `" + name + "` | list |") != std::string::npos;
        EXPECT_EQ(is_list, key.type == RequestType::Names) << name;
        const std::regex on_the_bus{typed(key)};
        EXPECT_TRUE(std::regex_search(documented, on_the_bus)) << name;
        EXPECT_FALSE(key.meaning.empty()) << name;
    }
    EXPECT_EQ(matches(table, "\n\\| `([a-z-]+)` \\|"), known);
}

TEST(Requests, AreDocumented) {
    expect_documented(select_keys(), "The request", "SelectBackend");
    expect_documented(recommend_keys(), "A request for a variant", "RecommendVariant");
}

TEST(Requests, HaveInRulesWhatIsDocumented) {
    const auto page = section(file("/docs/applications.md"), "Overrides and outcomes");
    const auto documented = remark("SetOverride");
    for (const auto& key : select_keys()) {
        const std::string name{key.key};
        const bool may_be = !key.rule_option.empty();
        EXPECT_EQ(page.find("`" + name + "`") != std::string::npos, may_be) << name;
        EXPECT_EQ(std::regex_search(documented, std::regex{typed(key)}), may_be) << name;
        const auto rule = override_rule_from(Value{Value::Object{{name, Value{}}}});
        ASSERT_FALSE(rule) << name;  // null has no type, but is only allowed for known keys
        EXPECT_EQ(rule.error().text.find("not a key of a rule") == std::string::npos, may_be)
            << name;
    }
}

TEST(Requests, SuggestTheKeyThatWasMeant) {
    const auto text = [](const char* key) {
        return select_request_from(Value{Value::Object{{key, Value{true}}}}).error().text;
    };
    EXPECT_EQ(text("strictt"), "request: strictt: unknown key; did you mean 'strict'?");
    EXPECT_EQ(text("zzzzzzzz"), "request: zzzzzzzz: unknown key");
}

TEST(MachineFacts, AreDocumentedAndNoOthers) {
    const auto page = file("/docs/applications.md");
    const auto from = page.find("| fact | type |");
    const auto documented = matches(page.substr(from, page.find("\n\n", from) + 1 - from),
                                    "[|,] `([a-z0-9.-]+)`(?=[^|]*\\|[^|]*\\|[^|]*\\|\n)");
    std::set<std::string> nameable;
    for (const auto& row : fact_rows())
        if (row.is_nameable)
            nameable.emplace(row.key);
    EXPECT_EQ(documented, nameable);
}

TEST(Situations, AreDocumented) {
    const auto documented = matches(file("/docs/data-files.md"), "`([a-z-]+)`");
    const auto code = file("/src/policy/profile_texts.cpp");
    const auto from = code.find("kSituations");
    const auto situations =
        matches(code.substr(from, code.find(';', from) - from), "\"([a-z-]+)\"");
    EXPECT_EQ(situations.size(), 16U);
    for (const auto& name : situations)
        EXPECT_TRUE(documented.contains(name)) << name;
}

}  // namespace profile_documents_test
}  // namespace gpuprobe
