// SPDX-License-Identifier: Apache-2.0
#include "knowledge/selectors.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuprobe::knowledge {
namespace selectors_test {

std::string document(const std::string& readers, const std::string& use) {
    return R"({"schema": "gpuprobe.selectors/1", "readers": [)" + readers + R"(], "use": [)" + use +
           "]}";
}

constexpr const char* kReader =
    R"({"name": "a", "api": "cuda", "reads": ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"]})";

std::string problem_of(const std::string& json) {
    const auto read = Selectors::from(json);
    return read ? "" : read.error().text;
}

TEST(Selectors, AreCompiledIn) {
    const auto& selectors = Selectors::current();
    ASSERT_NE(selectors.find("ggml-vulkan"), nullptr);
    EXPECT_EQ(selectors.find("ggml"), nullptr);
    for (const char* api : {"cuda", "hip", "level_zero", "vulkan", "opencl"}) {
        EXPECT_TRUE(std::ranges::any_of(selectors.uses(), [api](const UseRow& row) {
            return row.api == api && !row.variables.empty();
        })) << api;
        for (const auto& reader : selectors.readers())
            EXPECT_TRUE(reader.api != api || !reader.hide.empty()) << reader.name;
    }
}

TEST(Selectors, SetOnlyVariablesThatAReaderReads) {
    const auto good = document(
        kReader, R"({"api": "cuda", "kind": "index", "variables": {"CUDA_VISIBLE_DEVICES": "1"}})");
    EXPECT_EQ(problem_of(good), "");
    EXPECT_NE(
        problem_of(document(kReader, R"({"api": "cuda", "kind": "index", "variables": {"C": ""}})"))
            .find("C: no program reads this variable"),
        std::string::npos);
    EXPECT_NE(
        problem_of(
            document(
                kReader,
                R"({"api": "hip", "kind": "index", "variables": {"CUDA_VISIBLE_DEVICES": ""}})"))
            .find("CUDA_VISIBLE_DEVICES: no program reads this variable"),
        std::string::npos);
    EXPECT_NE(
        problem_of(
            document(
                R"({"name": "a", "api": "cuda", "reads": ["CUDA_VISIBLE_DEVICES"], "hide": {"B": ""}})",
                ""))
            .find("a: B: no program reads this variable"),
        std::string::npos);
}

TEST(Selectors, NameOnlyVariablesThatChooseGpus) {
    EXPECT_NE(problem_of(document(R"({"name": "a", "api": "cuda", "reads": ["LD_PRELOAD"]})", ""))
                  .find("a: LD_PRELOAD: a data file must not name this variable"),
              std::string::npos);
    EXPECT_NE(
        problem_of(
            document(R"({"name": "a", "api": "cuda", "reads": [], "lists": {"PATH": "numbers"}})",
                     ""))
            .find("a: PATH: a data file must not name this variable"),
        std::string::npos);
    EXPECT_NE(problem_of(document(R"({"name": "a", "api": "vulkan", "reads": ["VK_DRIVER_FILES"],
                                      "hide": {"VK_DRIVER_FILES": "/tmp/evil.json"}})",
                                  ""))
                  .find("a: VK_DRIVER_FILES: this variable loads files"),
              std::string::npos);
}

TEST(Selectors, SayHowAVariableNamesGpus) {
    const auto read = Selectors::from(document(
        R"({"name": "a", "api": "cuda", "reads": ["CUDA_VISIBLE_DEVICES"], "lists": {"CUDA_VISIBLE_DEVICES": "pci-ranks"}})",
        ""));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->readers().front().lists.at("CUDA_VISIBLE_DEVICES"), ListForm::PciRanks);
    EXPECT_NE(
        problem_of(
            document(
                R"({"name": "a", "api": "cuda", "reads": ["CUDA_VISIBLE_DEVICES"], "lists": {"CUDA_VISIBLE_DEVICES": "?"}})",
                ""))
            .find("lists.CUDA_VISIBLE_DEVICES: unknown word"),
        std::string::npos);
}

TEST(Selectors, AreRefusedWithTheRowAtFault) {
    EXPECT_NE(problem_of(document(std::string{kReader} + "," + kReader, "")).find("named twice"),
              std::string::npos);
    EXPECT_NE(problem_of(document(kReader, R"({"api": "cuda", "kind": "index"})")).find("argument"),
              std::string::npos);
    EXPECT_NE(problem_of(document(kReader, R"({"api": "cuda", "kind": "odd", "argument": "1"})"))
                  .find("kind"),
              std::string::npos);
    EXPECT_NE(problem_of(R"({"schema": "gpuprobe.selectors/2"})"), "");
}

}  // namespace selectors_test
}  // namespace gpuprobe::knowledge
