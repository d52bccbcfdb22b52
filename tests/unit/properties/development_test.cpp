// SPDX-License-Identifier: Apache-2.0
#include <regex>

#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// Tests that an answer with a nightly index or another unreleased build contains a warning.
namespace gpuprobe::testing_properties {
namespace development_test {

/// Whether a URL or reference is for unreleased builds, according to the words that projects use.
bool is_of_development(const std::string& place) {
    static const std::regex kWords{
        R"(nightl|staging|preview|pre-?release|/test(/|$)|[/:_-](main|master|dev|devel)([./:_-]|$))"};
    return std::regex_search(place, kWords);
}

/// Every URL and reference of an artifact.
std::vector<std::string> places_of(const Value& artifact) {
    std::vector<std::string> places;
    const auto add = [&places](const Value& file) {
        if (const auto* ref = file.at("ref").as_string())
            places.push_back(*ref);
        if (const auto* urls = file.at("urls").as_array())
            for (const auto& url : *urls)
                places.push_back(*url.as_string());
    };
    add(artifact);
    if (const auto* files = artifact.at("companion_files").as_array())
        for (const auto& file : *files)
            add(file);
    return places;
}

bool is_said(const std::optional<std::string>& note) {
    return note &&
           (note->find("development branch") != note->npos || note->find("nightly") != note->npos);
}

TEST(DevelopmentBuild, IsRecognizedByItsPlace) {
    for (const auto* place :
         {"https://wheels.vllm.ai/nightly/cu130", "https://download.pytorch.org/whl/test/cu130",
          "ghcr.io/ggml-org/whisper.cpp:main-cuda", "https://rocm.nightlies.amd.com/v2/gfx1151/",
          "sd-master-*-bin-Linux-Ubuntu-24.04-x86_64.zip", "example.org/program:dev"})
        EXPECT_TRUE(is_of_development(place)) << place;
    for (const auto* place : {"https://download.pytorch.org/whl/cu130", "vllm==0.30.0+cu129",
                              "https://pypi.org/simple", "quay.io/ramalama/cuda:0.24",
                              "torch[device-gfx1010]", "https://example.org/domain/latest"})
        EXPECT_FALSE(is_of_development(place)) << place;
}

TEST(DevelopmentBuild, IsNeverGivenWithoutSayingSo) {
    std::size_t given = 0;
    on_every_machine([&given](const MachineFixture& fixture) {
        for (const auto& answer : all_advice(fixture, report_of(fixture)))
            for (const auto& place : places_of(answer.artifact)) {
                if (!is_of_development(place))
                    continue;
                ++given;
                const auto chosen = std::ranges::find(answer.candidates, answer.variant,
                                                      &VariantCandidate::variant);
                ASSERT_NE(chosen, answer.candidates.end());
                EXPECT_TRUE(is_said(chosen->note)) << answer.application << ": " << place;
            }
    });
    EXPECT_GT(given, 0U);
}

}  // namespace development_test
}  // namespace gpuprobe::testing_properties
