// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/places.h"

/// What is written about the workers' reasons says what the program does.
namespace gpuprobe::backends {
namespace {

std::set<std::string> matches(const std::string& text, const char* pattern) {
    const std::regex expression{pattern};
    std::set<std::string> found;
    for (std::sregex_iterator at{text.begin(), text.end(), expression}, end; at != end; ++at)
        found.insert(at->str(1));
    return found;
}

TEST(WorkerReasons, AreDocumented) {
    const RootedFiles files{GPUPROBE_SOURCE_DIR};
    const auto page = files.read("/docs/reasons.md", mib(1)).value();
    const auto documented = matches(page, "`([a-z]+(?:-[a-z]+)*)`");
    std::set<std::string> given;
    const std::string room = std::string{GPUPROBE_SOURCE_DIR} + "/src/backends";
    for (const auto& entry : std::filesystem::recursive_directory_iterator{room}) {
        if (entry.path().extension() != ".cpp")
            continue;
        const auto text = RootedFiles{}.read(entry.path().string(), mib(1)).value();
        given.merge(matches(text, "(?:because\\(|refused_call\\(|\\.code = )\"([a-z-]+)\""));
        given.merge(matches(text, "return \"([a-z]+(?:-[a-z]+)+)\";"));
    }
    EXPECT_GT(given.size(), 12U);
    for (const auto& code : given)
        EXPECT_TRUE(documented.contains(code)) << code;
}

}  // namespace
}  // namespace gpuprobe::backends
