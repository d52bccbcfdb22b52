// SPDX-License-Identifier: Apache-2.0
#include "report/api_table.h"

#include <set>

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuprobe {
namespace api_table_test {

TEST(LibraryInfo, SaysWhoseASonameIs) {
    const auto driver = library_info("libcuda.so.1");
    ASSERT_TRUE(driver);
    EXPECT_EQ(driver->api, Api::Cuda);
    EXPECT_TRUE(driver->is_of_driver);
    EXPECT_TRUE(driver->is_in_host_reports);

    const auto toolkit = library_info("libcupti.so.12");
    ASSERT_TRUE(toolkit);
    EXPECT_TRUE(toolkit->has_toolkit_version);
    EXPECT_FALSE(toolkit->is_of_driver);
    EXPECT_FALSE(toolkit->is_in_host_reports);

    EXPECT_TRUE(is_listed_library("librocdxg.so.1"));  // a cause requires it
    const auto host = library_info("libgomp.so.1");
    ASSERT_TRUE(host);
    EXPECT_EQ(host->api, std::nullopt);
    EXPECT_TRUE(host->is_in_host_reports);
}

TEST(LibraryInfo, KnowsNoOtherSoname) {
    for (const char* soname : {"libcuda", "libcudax.so.1", "libcud.so.1", ".so", "libm.so.6", ""})
        EXPECT_FALSE(library_info(soname)) << soname;
}

TEST(LibraryInfo, HasEachLibraryOnce) {
    std::set<std::string_view> stems;
    for (const auto& api : kApis) {
        for (const auto list : {api.linked.of_driver, api.linked.toolkit, api.linked.others})
            for (const auto stem : words(list))
                EXPECT_TRUE(stems.insert(stem).second) << stem;
        for (const auto stem : words(api.linked.unlisted))
            EXPECT_TRUE(stems.contains(stem)) << stem;
    }
}

TEST(ApiOfCode, KnowsTheWordsOfBuilds) {
    EXPECT_EQ(api_of_code("sm_86"), Api::Cuda);
    EXPECT_EQ(api_of_code("compute_90@9.1"), Api::Cuda);
    EXPECT_EQ(api_of_code("gfx90a"), Api::Hip);
    EXPECT_EQ(api_of_code("amdgcnspirv"), Api::Hip);
    EXPECT_EQ(api_of_code("spirv"), Api::LevelZero);
    for (const auto* api : computing_apis())
        EXPECT_EQ(api_of_code(api->word), api->id);
    for (const char* word : {"", "sm", "sm_x", "spirvx", "gfx-", "cpu", "nvml"})
        EXPECT_EQ(api_of_code(word), std::nullopt) << word;
}

}  // namespace api_table_test
}  // namespace gpuprobe
