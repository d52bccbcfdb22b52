// SPDX-License-Identifier: Apache-2.0
#include "support/linker_cache.h"

#include <gtest/gtest.h>

#include "inventory/host.h"
#include "inventory/nvidia.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace linker_cache_test {

using support::linker_cache_of;
using support::TemporaryFolder;
using Names = std::vector<std::string>;

TEST(LinkerCache, HasTheLibrariesOfItsArchitectureSortedAndOnce) {
    const auto cache = linker_cache_of({{0x0303, "libz.so.1"},
                                        {0x0303, "libcuda.so.1"},
                                        {0x0003, "libOpenCL.so.1"},
                                        {0x0303, "libz.so.1"}});
    EXPECT_EQ(cached_sonames(cache, "x86_64"), (Names{"libcuda.so.1", "libz.so.1"}));
    EXPECT_EQ(cached_sonames(cache, "aarch64"), Names{});
    EXPECT_EQ(cached_sonames(cache, "sparc64"), std::nullopt);
}

TEST(LinkerCache, ReturnsThePathsOfLibrariesByPrefix) {
    const TemporaryFolder root;
    root.write("etc/ld.so.cache", linker_cache_of({{0x0303, "libLLVM-15.so.1"},
                                                   {0x0303, "libcuda.so.1"},
                                                   {0x0003, "libcuda.so.0"},
                                                   {0x0303, "libz.so.1"}}));
    const RootedFiles files{root.path()};
    EXPECT_EQ(library_paths(files, "x86_64", {"libcuda.so", "libLLVM"}),
              (Names{"/lib/libLLVM-15.so.1", "/lib/libcuda.so.1"}));
    EXPECT_EQ(library_paths(files, "x86_64", {}), Names{});
    EXPECT_EQ(library_paths(files, "sparc64", {"libz"}), std::nullopt);
    EXPECT_EQ(library_paths(RootedFiles{"/nonexistent"}, "x86_64", {"libz"}), std::nullopt);
}

TEST(LibcOfPrograms, IsNamedByItsOwnFile) {
    const TemporaryFolder root;
    const RootedFiles files{root.path()};
    EXPECT_EQ(libc_of_programs(files, "x86_64"), Libc{});
    root.write("lib/ld-musl-x86_64.so.1", "");
    EXPECT_EQ(libc_of_programs(files, "x86_64"), Libc{.name = "musl"});
    root.write("lib64/libc.so.6", "no version of it");
    EXPECT_EQ(libc_of_programs(files, "x86_64"), Libc{.name = "musl"});
    root.write("etc/ld.so.cache", linker_cache_of({{0x0303, "libc.so.6"}}));
    for (const auto& [banner, version] :
         {std::pair{"stable release version 2.31.\nCopyright", "2.31"},
          std::pair{"development release version 2.39.9000.\n", "2.39.9000"}}) {
        root.write("lib/libc.so.6",
                   std::string{"ELF release version 1.0, GNU C Library (Debian GLIBC) "} + banner);
        EXPECT_EQ(libc_of_programs(files, "x86_64"), (Libc{.name = "glibc", .version = version}));
    }
}

TEST(LinkerCache, IsFoundBehindTheOldFormat) {
    const auto old = std::string{"ld.so-1.7.0"} + std::string(5, '\0');
    EXPECT_EQ(cached_sonames(old + linker_cache_of({{0x0303, "libcuda.so.1"}}), "x86_64"),
              Names{"libcuda.so.1"});
}

TEST(LinkerCache, IsNoneWhereverItIsCut) {
    const auto cache = linker_cache_of({{0x0303, "libcuda.so.1"}});
    for (std::size_t cut = 0; cut < cache.size(); ++cut)
        EXPECT_EQ(cached_sonames(cache.substr(0, cut), "x86_64"), std::nullopt) << cut;
}

TEST(LinkerCache, SurvivesEachByteChanged) {
    const auto cache = linker_cache_of({{0x0303, "libcuda.so.1"}, {0x0303, "libz.so.1"}});
    for (std::size_t i = 0; i < cache.size(); ++i)
        for (const char byte : {'\0', '\x7f', '\xff'}) {
            auto changed = cache;
            changed[i] = byte;
            (void)cached_sonames(changed, "x86_64");
        }
}

TEST(LinkerCache, OfTheHostKeepsWhatBuildsForGpusUse) {
    const TemporaryFolder folder;
    folder.write("etc/ld.so.cache",
                 linker_cache_of({{0x0303, "libcuda.so.1"}, {0x0303, "libz.so.1"}}));
    EXPECT_EQ(host_libraries(RootedFiles{folder.path()}, "x86_64"), Names{"libcuda.so.1"});
    EXPECT_EQ(host_libraries(RootedFiles{folder.path() + "/etc"}, "x86_64"), std::nullopt);
}

}  // namespace linker_cache_test
}  // namespace gpuprobe
