// SPDX-License-Identifier: Apache-2.0
#include "cli/paths.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace gpuprobe {
namespace paths_test {

using support::TemporaryFolder;

/// Sets or removes a variable for the duration of a test.
class Variable {
public:
    Variable(const char* name, const std::optional<std::string>& value) : name_{name} {
        if (const char* before = std::getenv(name))
            before_ = before;
        set(value);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { set(before_); }

private:
    void set(const std::optional<std::string>& value) const {
        if (value)
            ::setenv(name_, value->c_str(), 1);
        else
            ::unsetenv(name_);
    }
    const char* name_;
    std::optional<std::string> before_ = {};
};

unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777U;
}

TEST(CacheFolder, IsTheOneThatTheVariableNames) {
    const TemporaryFolder folder;
    const Variable cache{"XDG_CACHE_HOME", folder.path()};
    EXPECT_EQ(user_cache_folder(), folder.path() + "/gpuprobe");
    EXPECT_EQ(user_cache_file(), folder.path() + "/gpuprobe/probes");
    EXPECT_EQ(mode_of(folder.path() + "/gpuprobe"), 0700U);
}

TEST(CacheFolder, IsInTheHomeIfTheVariableIsNoAbsolutePath) {
    const TemporaryFolder home;
    const Variable home_variable{"HOME", home.path()};
    for (const auto& value : {std::optional<std::string>{}, std::optional<std::string>{""},
                              std::optional<std::string>{"relative/cache"}}) {
        const Variable cache{"XDG_CACHE_HOME", value};
        EXPECT_EQ(user_cache_folder(), home.path() + "/.cache/gpuprobe") << value.value_or("-");
    }
    EXPECT_FALSE(std::filesystem::exists("relative"));
}

TEST(CacheFolder, DoesNotMakeAMissingHome) {
    const TemporaryFolder folder;
    const Variable cache{"XDG_CACHE_HOME", std::nullopt};
    const auto missing = folder.path() + "/nonexistent";
    for (const auto& home : {std::optional<std::string>{missing}, std::optional<std::string>{"x"},
                             std::optional<std::string>{}}) {
        const Variable home_variable{"HOME", home};
        EXPECT_EQ(user_cache_folder(), std::nullopt) << home.value_or("-");
        EXPECT_EQ(user_cache_file(), std::nullopt);
        EXPECT_EQ(why_nothing_is_kept(), std::nullopt);
    }
    EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST(StateFolder, HasItsOwnVariableAndDefault) {
    const TemporaryFolder home;
    const TemporaryFolder state;
    const Variable home_variable{"HOME", home.path()};
    const Variable cache{"XDG_CACHE_HOME", "/nonexistent"};
    {
        const Variable variable{"XDG_STATE_HOME", std::nullopt};
        EXPECT_EQ(user_state_folder(), home.path() + "/.local/state/gpuprobe");
    }
    const Variable variable{"XDG_STATE_HOME", state.path()};
    EXPECT_EQ(user_state_folder(), state.path() + "/gpuprobe");
}

TEST(CacheFolder, OfAnotherUserIsReplacedByTheOneOfTheAccount) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a folder to another user";
    const TemporaryFolder folder;
    constexpr uid_t kNobody = 65534;
    ASSERT_EQ(::chown(folder.path().c_str(), kNobody, kNobody), 0);
    const Variable cache{"XDG_CACHE_HOME", folder.path()};
    EXPECT_NE(user_cache_folder(), folder.path() + "/gpuprobe");
    EXPECT_FALSE(std::filesystem::exists(folder.path() + "/gpuprobe"));
}

TEST(OwnPrograms, AreNextToThisOneThenWhereTheyAreInstalled) {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const auto above = here.parent_path();
    EXPECT_EQ(own_program_paths("gpuprobe-worker"),
              (std::vector<std::string>{here / "gpuprobe-worker",
                                        above / "libexec/gpuprobe/gpuprobe-worker",
                                        above / "lib/gpuprobe/gpuprobe-worker"}));
}

}  // namespace paths_test
}  // namespace gpuprobe
