// SPDX-License-Identifier: Apache-2.0
#include "backends/level_zero/level_zero.h"

#include <numeric>

#include <gtest/gtest.h>

#include "backends/compute/stages.h"
#include "spirv_machine.h"
#include "support/case_name.h"

namespace gpuprobe::backends {
namespace level_zero_test {

using support::SpirvMachine;
using Buffer = std::vector<std::uint32_t>;

constexpr std::uint32_t kThreads = 2 * kGroupThreads;
constexpr std::size_t kWords = std::size_t{kThreads} * kWordsPerThread;

Buffer run(std::span<const unsigned char> module,
           const std::string& kernel,
           Buffer from,
           std::size_t words,
           const KernelArguments& arguments) {
    Buffer to(words, 0xdeadbeef);
    SpirvMachine{module}.run(kernel, kThreads, from, to,
                             {arguments.rounds, static_cast<std::uint32_t>(arguments.factor),
                              static_cast<std::uint32_t>(arguments.addend)});
    return to;
}

Buffer counted(std::size_t words) {
    Buffer from(words);
    std::iota(from.begin(), from.end(), 0xfffffff0U);
    return from;
}

TEST(LevelZeroKernels, CheckEachWord) {
    const auto from = counted(kThreads);
    const auto to = run(level_zero_module_check(), "check", from, kThreads, {});
    for (std::size_t i = 0; i < to.size(); ++i)
        ASSERT_EQ(to[i], checked_word(from[i])) << i;
}

TEST(LevelZeroKernels, FillEachWord) {
    const KernelArguments pattern{.factor = -1640531527, .addend = 77};
    const auto to = run(level_zero_module_memory(), "fill", {}, kWords, pattern);
    for (std::uint32_t i = 0; i < to.size(); ++i)
        ASSERT_EQ(to[i], i * static_cast<std::uint32_t>(pattern.factor) + 77) << i;
    EXPECT_EQ(std::accumulate(to.begin(), to.end(), 0U), filled_sum(kWords, pattern));
}

TEST(LevelZeroKernels, ReadAndCopyEachWord) {
    const auto from = counted(kWords);
    const auto sums = run(level_zero_module_memory(), "read", from, kThreads, {});
    EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0U),
              std::accumulate(from.begin(), from.end(), 0U));
    EXPECT_EQ(run(level_zero_module_memory(), "copy", from, kWords, {}), from);
}

struct Row {
    const char* name;
    Kernel kernel;
    std::span<const unsigned char> (*module)();
};
class LevelZeroArithmetic : public ::testing::TestWithParam<Row> {};

TEST_P(LevelZeroArithmetic, GivesTheExpectedWords) {
    const auto& [name, kernel, module] = GetParam();
    for (const std::uint32_t rounds : {1U, 3U}) {
        auto arguments = arithmetic_arguments(kernel, 0x9e3779b9);
        arguments.rounds = rounds;
        const auto to = run(module(), name, {}, kThreads, arguments);
        for (std::uint32_t thread = 0; thread < kThreads; ++thread)
            ASSERT_EQ(to[thread], arithmetic_word(kernel, thread, arguments))
                << "thread " << thread << " of " << rounds << " rounds";
    }
}

INSTANTIATE_TEST_SUITE_P(Table,
                         LevelZeroArithmetic,
                         ::testing::Values(Row{"fp32", Kernel::Fp32, level_zero_module_fp32},
                                           Row{"fp16", Kernel::Fp16, level_zero_module_fp16},
                                           Row{"int8", Kernel::Int8, level_zero_module_int8}),
                         support::case_name);

}  // namespace level_zero_test
}  // namespace gpuprobe::backends
