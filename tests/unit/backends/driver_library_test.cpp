// SPDX-License-Identifier: Apache-2.0
#include "backends/driver_library.h"

#include <gtest/gtest.h>

#include "backends/backend.h"

namespace gpuprobe::backends {
namespace driver_library_test {

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

TEST_P(DlopenFailure, DistinguishesAMissingLibraryFromABrokenOne) {
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

TEST(DynamicLibrary, ReportsAMissingLibraryAsMissing) {
    const auto library = DynamicLibrary::open("libgpuprobe-not-there.so.1");
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().code, ErrorCode::NotFound);
}

struct Numbers : SymbolTable {
    using SymbolTable::SymbolTable;
    Symbol<int(int)> absolute{*this, "abs"};
    OptionalSymbol<long(long)> either{*this, "gpuprobe_no_such_function", "labs"};
    OptionalSymbol<int(int)> neither{*this, "gpuprobe_no_such_function"};
};
struct Incomplete : Numbers {
    using Numbers::Numbers;
    Symbol<int(int)> absent{*this, "gpuprobe_no_such_function"};
    Symbol<int(int)> as_well{*this, "gpuprobe_nor_this"};
};

TEST(DynamicLibrary, ReportsItsFile) {
    const auto library = DynamicLibrary::open("libc.so.6");
    ASSERT_TRUE(library);
    EXPECT_NE(library->path().value_or("").find("libc.so.6"), std::string::npos);
}

TEST(SymbolTable, FindsFunctions) {
    const auto table = load<Numbers>(*DynamicLibrary::open("libc.so.6"));
    ASSERT_TRUE(table);
    EXPECT_EQ(table->absolute(-3), 3);
    EXPECT_STREQ(table->absolute.name, "abs");
    EXPECT_EQ(table->either(-4), 4);
    EXPECT_STREQ(table->either.name, "labs");
    EXPECT_FALSE(table->neither);
}

TEST(SymbolTable, IsWholeOrNamesTheFirstMissingFunction) {
    const auto table = load<Incomplete>(*DynamicLibrary::open("libc.so.6"));
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().code, ErrorCode::NotFound);
    EXPECT_EQ(table.error().text, "libc.so.6: gpuprobe_no_such_function: no such function");
}

TEST(Call, ConvertsACodeToTheCallersError) {
    const auto table = load<Numbers>(*DynamicLibrary::open("libc.so.6"));
    ASSERT_TRUE(table);
    const auto refuse = [](const char* name, int code) {
        return refused_call("api-refused", name, "no", code);
    };
    EXPECT_TRUE(call(refuse, table->absolute, 0));
    const auto refused = call(refuse, table->absolute, -7);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().note, "abs: no");
    EXPECT_EQ(refused.error().detail, (Value{Value::Object{{"call", "abs"}, {"code", 7}}}));
}

TEST(Owned, LetsGoOnceAndOfNothingElse) {
    std::vector<int> released;
    const auto release = [&](int handle) { released.push_back(handle); };
    {
        Owned<int> first{1, release};
        Owned<int> second{std::move(first)};
        Owned<int> third{3, release};
        third = std::move(second);
        EXPECT_EQ(third.get(), 1);
        const Owned<int> none;
        EXPECT_FALSE(none);
    }
    EXPECT_EQ(released, (std::vector{1, 3}));
}

}  // namespace driver_library_test
}  // namespace gpuprobe::backends
