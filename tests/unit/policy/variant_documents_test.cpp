// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "report/api_table.h"
#include "unit/policy/scenario.h"

/// The documentation of variants and reasons agrees with the program.
namespace gpuprobe {
namespace variant_documents_test {

using testing_variants::document;
using testing_variants::file;

std::set<std::string> matches(const std::string& text, const char* pattern) {
    const std::regex expression{pattern};
    std::set<std::string> found;
    for (std::sregex_iterator at{text.begin(), text.end(), expression}, end; at != end; ++at)
        found.insert(at->str(1));
    return found;
}

std::set<std::string> keys(const Value& object) {
    std::set<std::string> found;
    for (const auto& member : *object.as_object())
        found.insert(member.key);
    return found;
}

TEST(VariantsSchema, HasThePredicatesThatAreReadAndDocumented) {
    const auto schema = document("/data/schema/variants.schema.json");
    const auto source = file("/src/policy/requirement_reading.cpp");
    const auto docs = file("/docs/data-files.md");
    auto read = matches(source, "\n    \\{\"([a-z0-9_]+)\",");
    read.emplace(info_of(api_of_architecture("intel_ip")).word);  // from the row of its API
    read.emplace("advises");                                      // read by split_advice()
    for (const auto* place : {"host", "device"})
        for (const auto& key : keys(schema.at("$defs").at(place).at("properties"))) {
            EXPECT_TRUE(read.contains(key)) << key;
            EXPECT_NE(docs.find("`" + key + "`"), std::string::npos) << key;
        }
}

}  // namespace variant_documents_test
}  // namespace gpuprobe
