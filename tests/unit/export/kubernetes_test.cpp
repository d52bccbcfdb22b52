// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/value.h"
#include "export/formats.h"
#include "unit/export/needs.h"

namespace gpuprobe {
namespace kubernetes_test {

using namespace testing_fleet;

TEST(Nfd, StartsNoCommentThatIsADirective) {
    const auto report = mixed();
    const auto text = *write_nfd(subject_of(report, {llama()})).text;
    for (const auto line : split(text, '\n'))
        EXPECT_TRUE(!line.starts_with("# +") || line == "# +no-label" ||
                    line.starts_with("# +expiry-time="))
            << line;
}

TEST(Nfd, CutsAModelToOneLine) {
    auto gpu = h200();
    gpu.name = "evil\nfeature.node.kubernetes.io/x=y";
    const auto report = report_of({gpu});
    EXPECT_FALSE(has_line(write_nfd(subject_of(report)), "feature.node.kubernetes.io/x=y"));
}

TEST(NfdQuery, HasATermForEachTarget) {
    const auto document = parse_json(asked("nfd", kCuda), mib(1));
    ASSERT_TRUE(document);
    const auto& terms = *document->at("nodeSelectorTerms").as_array();
    ASSERT_EQ(terms.size(), 3U);
    const auto text = json_line(terms[2]);
    for (const auto* part : {R"("key":"kubernetes.io/arch","operator":"In","values":["amd64"])",
                             R"(/host.glibc.minor","operator":"Gt","values":["34"])",
                             R"(/api.cuda.sm_90","operator":"Exists")",
                             R"(/driver.nvidia.major","operator":"Gt","values":["579"])",
                             R"(/memory.sm_90.min-gib","operator":"Gt","values":["79"])"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(NfdQuery, AsksThatNoOtherGpuIsThere) {
    const auto text = asked("nfd", kVulkan);
    EXPECT_NE(text.find("gpu.virtual.count"), std::string::npos);
    EXPECT_NE(text.find("DoesNotExist"), std::string::npos);
    EXPECT_NE(text.find("\"1.9\""), std::string::npos);
    EXPECT_EQ(text.find("\"1.1\""), std::string::npos);
}

}  // namespace kubernetes_test
}  // namespace gpuprobe
