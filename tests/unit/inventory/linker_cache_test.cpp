// SPDX-License-Identifier: Apache-2.0
#include "inventory/linker_cache.h"

#include <cstring>

#include <gtest/gtest.h>

#include "inventory/jetson.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace {

struct Entry {
    std::uint32_t flags;
    std::string soname;
};

void add_number(std::uint32_t number, std::string& text) {
    char bytes[sizeof(number)];
    std::memcpy(bytes, &number, sizeof(number));
    text.append(bytes, sizeof(number));
}

/// A cache as ldconfig writes it: header, entries of 24 bytes, texts.
std::string cache_of(const std::vector<Entry>& entries) {
    std::string strings;
    std::string table;
    const auto base = static_cast<std::uint32_t>(48 + 24 * entries.size());
    for (const auto& entry : entries) {
        const auto key = base + static_cast<std::uint32_t>(strings.size());
        strings += entry.soname + '\0';
        const auto value = base + static_cast<std::uint32_t>(strings.size());
        strings += "/lib/" + entry.soname + '\0';
        for (const auto number : {entry.flags, key, value, 0U, 0U, 0U})
            add_number(number, table);
    }
    std::string text = "glibc-ld.so.cache1.1";
    add_number(static_cast<std::uint32_t>(entries.size()), text);
    add_number(static_cast<std::uint32_t>(strings.size()), text);
    text.resize(48);
    return text + table + strings;
}

using Names = std::vector<std::string>;

TEST(LinkerCache, HasTheLibrariesOfItsArchitectureSortedAndOnce) {
    const auto cache = cache_of({{0x0303, "libz.so.1"},
                                 {0x0303, "libcuda.so.1"},
                                 {0x0003, "libOpenCL.so.1"},
                                 {0x0303, "libz.so.1"}});
    EXPECT_EQ(cached_sonames(cache, "x86_64"), (Names{"libcuda.so.1", "libz.so.1"}));
    EXPECT_EQ(cached_sonames(cache, "aarch64"), Names{});
    EXPECT_EQ(cached_sonames(cache, "sparc64"), std::nullopt);
}

TEST(LinkerCache, IsFoundBehindTheOldFormat) {
    const auto old = std::string{"ld.so-1.7.0"} + std::string(5, '\0');
    EXPECT_EQ(cached_sonames(old + cache_of({{0x0303, "libcuda.so.1"}}), "x86_64"),
              Names{"libcuda.so.1"});
}

TEST(LinkerCache, IsNoneWhereverItIsCut) {
    const auto cache = cache_of({{0x0303, "libcuda.so.1"}});
    const auto soname_end = cache.find(std::string_view{"libcuda.so.1\0", 13}) + 13;
    for (std::size_t cut = 0; cut < soname_end; ++cut)
        EXPECT_EQ(cached_sonames(cache.substr(0, cut), "x86_64"), std::nullopt) << cut;
}

TEST(LinkerCache, SurvivesEachByteChanged) {
    const auto cache = cache_of({{0x0303, "libcuda.so.1"}, {0x0303, "libz.so.1"}});
    for (std::size_t i = 0; i < cache.size(); ++i)
        for (const char byte : {'\0', '\x7f', '\xff'}) {
            auto changed = cache;
            changed[i] = byte;
            (void)cached_sonames(changed, "x86_64");
        }
}

TEST(LinkerCache, OfTheHostKeepsWhatBuildsForGpusUse) {
    const testing::TemporaryFolder folder;
    folder.write("etc/ld.so.cache", cache_of({{0x0303, "libcuda.so.1"}, {0x0303, "libz.so.1"}}));
    EXPECT_EQ(host_libraries(RootedFiles{folder.path()}, "x86_64"), Names{"libcuda.so.1"});
    EXPECT_EQ(host_libraries(RootedFiles{folder.path() + "/etc"}, "x86_64"), std::nullopt);
}

struct Release {
    const char* text;
    std::optional<std::string> wanted;
};

TEST(JetsonRelease, IsTheSecondWord) {
    const Release rows[] = {
        {"# R36 (release), REVISION: 3.0, GCID: 1, BOARD: generic\n", "R36"},
        {"# R35\n", "R35"},
        {"# X36\n", std::nullopt},
        {"# R\n", std::nullopt},
        {"# R36x\n", std::nullopt},
        {"#R36\n", std::nullopt},
        {"", std::nullopt},
    };
    for (const auto& row : rows) {
        const testing::TemporaryFolder folder;
        folder.write("etc/nv_tegra_release", row.text);
        EXPECT_EQ(jetson_release(RootedFiles{folder.path()}), row.wanted) << row.text;
    }
    EXPECT_EQ(jetson_release(RootedFiles{"/nonexistent"}), std::nullopt);
}

}  // namespace
}  // namespace gpuprobe
