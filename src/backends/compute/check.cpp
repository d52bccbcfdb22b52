// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/check.h"

#include <cstring>
#include <vector>

#include <sys/random.h>

#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

/// A chain starts with (thread + chain) & mask: small numbers, which stay exact.
constexpr std::uint32_t kFp32Starts = 63;
constexpr std::uint32_t kFp16Starts = 31;

/// The result of Fp32. Two steps with a factor of -1 add one: x, b - x, x + 1.
std::uint32_t fp32_word(std::uint32_t thread, std::uint32_t rounds) {
    std::uint32_t sum = 0;
    for (std::uint32_t chain = 0; chain < kChains; ++chain)
        sum += ((thread + chain) & kFp32Starts) + rounds * kRoundSteps / 2;
    return sum;
}

/// The result of Fp16. An even number of steps with a factor of -1 returns to the start x; then the
/// kernel performs one more step, which gives b - x.
std::uint32_t fp16_word(std::uint32_t thread, std::uint32_t addend) {
    std::uint32_t sum = 0;
    for (std::uint32_t chain = 0; chain < kChains; ++chain)
        sum += 2 * addend - ((thread + chain) & kFp16Starts) - ((thread + chain + 1) & kFp16Starts);
    return sum;
}

/// Byte `number` of a word, counted from the lowest, as a signed number.
std::int32_t signed_byte(std::uint32_t word, int number) {
    return static_cast<std::int8_t>(word >> (8 * number));
}

/// The result of Int8. It has no closed form, so this runs all steps.
std::uint32_t int8_word(std::uint32_t thread, const KernelArguments& arguments) {
    const auto factor = static_cast<std::uint32_t>(arguments.factor);
    std::uint32_t sum = 0;
    for (std::uint32_t chain = 0; chain < kChains; ++chain) {
        auto x = thread * kChains + chain;
        for (std::uint64_t step = 0; step < std::uint64_t{arguments.rounds} * kRoundSteps; ++step) {
            auto next = arguments.addend;
            for (int byte = 0; byte < 4; ++byte)
                next += signed_byte(x, byte) * signed_byte(factor, byte);
            x = static_cast<std::uint32_t>(next);
        }
        sum += x;
    }
    return sum;
}

using Words = std::span<const std::uint32_t>;

/// `size` rounded up to whole groups, as allocate() needs it.
Bytes whole_groups(std::size_t size) {
    const auto groups = (size + kGroupBytes.count - 1) / kGroupBytes.count;
    return Bytes{groups * kGroupBytes.count};
}

/// Puts words into the staging memory.
void stage(ComputeDevice& device, Words words) {
    std::memcpy(device.staging().data(), words.data(), words.size_bytes());
}

/// Words that are all wrong as a result for this input.
std::vector<std::uint32_t> poison(Words input) {
    std::vector<std::uint32_t> words;
    words.reserve(input.size());
    for (const auto word : input)
        words.push_back(~checked_word(word));
    return words;
}

Check compared(Words input, Words output) {
    Check check{.result = CheckResult::Verified,
                .words = static_cast<std::uint32_t>(input.size()),
                .wrong_words = 0};
    for (std::uint32_t i = 0; i < input.size(); ++i) {
        if (output[i] == checked_word(input[i]))
            continue;
        check.result = CheckResult::Miscomputed;
        ++*check.wrong_words;
        if (!check.first_wrong)
            check.first_wrong = i;
    }
    return check;
}

/// Adds a note about the first wrong word.
void explain(Check& check, Words input, Words output) {
    if (!check.first_wrong)
        return;
    const auto i = *check.first_wrong;
    check.note = std::to_string(*check.wrong_words) + " of " + std::to_string(*check.words) +
                 " words are wrong; word " + std::to_string(i) + " is 0x" +
                 hexadecimal(output[i], 8) + " and should be 0x" +
                 hexadecimal(checked_word(input[i]), 8);
}

}  // namespace

std::uint32_t filled_sum(std::uint64_t words, const KernelArguments& arguments) {
    // The sum of i from 0 to words - 1 is words * (words - 1) / 2. One of the two factors is even;
    // halve that one before the product can overflow.
    const auto pairs = words % 2 == 0 ? words / 2 * (words - 1) : (words - 1) / 2 * words;
    return static_cast<std::uint32_t>(pairs) * static_cast<std::uint32_t>(arguments.factor) +
           static_cast<std::uint32_t>(words) * static_cast<std::uint32_t>(arguments.addend);
}

KernelArguments arithmetic_arguments(Kernel kernel, std::uint32_t random) {
    constexpr std::uint32_t kOddBytes = 0x01010101;  // no byte of the factor may be zero
    if (kernel == Kernel::Int8)
        return {.factor = static_cast<std::int32_t>(random | kOddBytes),
                .addend = static_cast<std::int32_t>(random >> 16)};
    return {.factor = -1, .addend = static_cast<std::int32_t>(32 + random % 32)};
}

std::uint32_t arithmetic_word(Kernel kernel,
                              std::uint32_t thread,
                              const KernelArguments& arguments) {
    if (kernel == Kernel::Fp32)
        return fp32_word(thread, arguments.rounds);
    if (kernel == Kernel::Fp16)
        return fp16_word(thread, static_cast<std::uint32_t>(arguments.addend));
    return int8_word(thread, arguments);
}

std::uint32_t operations_per_round(Kernel kernel) {
    // Fp32 has one multiply-add per step, Fp16 two (a pair), Int8 four (four bytes).
    constexpr std::uint32_t kSteps = kChains * kRoundSteps;
    if (kernel == Kernel::Fp32)
        return kSteps * 2;
    return kernel == Kernel::Fp16 ? kSteps * 2 * 2 : kSteps * 4 * 2;
}

Attempt<Check> checked(ComputeDevice& device, std::span<const std::uint32_t> input) {
    const Bytes size{input.size_bytes()};
    (void)TRY(device.allocate(whole_groups(size.count), size));
    stage(device, input);
    (void)TRY(device.transfer(Direction::ToDevice, Buffer::First, size, 1));
    // Fill the output with wrong words, so that only a kernel that really ran passes.
    stage(device, poison(input));
    (void)TRY(device.transfer(Direction::ToDevice, Buffer::Second, size, 1));
    const auto groups = static_cast<std::uint32_t>(input.size()) / kGroupThreads;
    (void)TRY(device.run(Work{.kernel = Kernel::Check, .groups = groups}));
    (void)TRY(device.transfer(Direction::ToHost, Buffer::Second, size, 1));
    std::vector<std::uint32_t> output(input.size());
    std::memcpy(output.data(), device.staging().data(), size.count);
    auto check = compared(input, output);
    explain(check, input, output);
    return check;
}

std::vector<std::uint32_t> random_words(std::size_t count) {
    std::vector<std::uint32_t> words(count);
    auto bytes = std::as_writable_bytes(std::span{words});
    // getrandom(2) may return fewer bytes than requested.
    while (!bytes.empty()) {
        const auto got = ::getrandom(bytes.data(), bytes.size(), 0);
        if (got <= 0)
            break;
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return words;
}

}  // namespace gpuprobe::backends
