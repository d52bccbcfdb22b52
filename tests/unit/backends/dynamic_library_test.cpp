// SPDX-License-Identifier: Apache-2.0
#include "backends/dynamic_library.h"

#include <gtest/gtest.h>

namespace gpuprobe::backends {
namespace {

struct Case {
    const char* name;
    const char* library;
    const char* message;
    ErrorCode want;
};
void PrintTo(const Case& row, std::ostream* out) {
    *out << row.name;
}
class DlopenFailure : public testing::TestWithParam<Case> {};

TEST_P(DlopenFailure, TellsAMissingLibraryFromABrokenOne) {
    EXPECT_EQ(dlopen_failure(GetParam().library, GetParam().message), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    DlopenFailure,
    testing::Values(
        Case{"GlibcMissing", "libcuda.so.1",
             "libcuda.so.1: cannot open shared object file: No such file or directory",
             ErrorCode::NotFound},
        Case{"MuslMissing", "libcuda.so.1",
             "Error loading shared library libcuda.so.1: No such file or directory",
             ErrorCode::NotFound},
        Case{"GlibcDependencyMissing", "libcuda.so.1",
             "libnvidia-x.so.1: cannot open shared object file: No such file or directory",
             ErrorCode::Io},
        Case{"MuslDependencyMissing", "libcuda.so.1",
             "Error loading shared library libx.so: No such file or directory (needed by "
             "libcuda.so.1)",
             ErrorCode::Io},
        Case{"LongerNameIsAnotherLibrary", "libcuda.so",
             "libcuda.so.1: cannot open shared object file: No such file or directory",
             ErrorCode::Io},
        Case{"NoPermission", "libcuda.so.1",
             "libcuda.so.1: cannot open shared object file: Permission denied", ErrorCode::Io},
        Case{"ExecutableStack", "librccl.so",
             "librccl.so: cannot enable executable stack as shared object requires: Invalid "
             "argument",
             ErrorCode::Io},
        Case{"NothingSaid", "libcuda.so.1", "", ErrorCode::Io}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(DynamicLibrary, SaysThatAMissingLibraryIsMissing) {
    const auto library = DynamicLibrary::open("libgpuprobe-not-there.so.1");
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().code, ErrorCode::NotFound);
}

TEST(DynamicLibrary, FindsFunctionsAndTheFile) {
    const auto library = DynamicLibrary::open("libc.so.6");
    ASSERT_TRUE(library);
    const auto absolute = library->symbol<int(int)>("abs");
    ASSERT_TRUE(absolute);
    int (*const function)(int) = *absolute;
    EXPECT_EQ(function(-3), 3);
    EXPECT_NE(library->path().value_or("").find("libc.so.6"), std::string::npos);
}

TEST(DynamicLibrary, NamesTheMissingFunction) {
    const auto library = DynamicLibrary::open("libc.so.6");
    ASSERT_TRUE(library);
    const auto missing = library->symbol<int(int)>("gpuprobe_no_such_function");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().text, "libc.so.6: gpuprobe_no_such_function: no such function");
    EXPECT_EQ(library->optional_symbol<int(int)>("gpuprobe_no_such_function"), nullptr);
}

}  // namespace
}  // namespace gpuprobe::backends
