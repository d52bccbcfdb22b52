// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/check.h"

#include <cstring>
#include <vector>

#include <sys/random.h>

#include "backends/compute/expected.h"
#include "backends/texts.h"

namespace gpuprobe::backends {
namespace {

using Words = std::span<const std::uint32_t>;

Bytes whole_groups(std::size_t size) {
    const auto groups = (size + kGroupBytes.count - 1) / kGroupBytes.count;
    return Bytes{groups * kGroupBytes.count};
}

void stage(ComputeDevice& device, Words words) {
    std::memcpy(device.staging().data(), words.data(), words.size_bytes());
}

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

Attempt<Check> checked(ComputeDevice& device, std::span<const std::uint32_t> input) {
    const Bytes size{input.size_bytes()};
    (void)TRY(device.allocate(whole_groups(size.count), size));
    stage(device, input);
    (void)TRY(device.transfer(Direction::ToDevice, Buffer::First, size, 1));
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
    while (!bytes.empty()) {
        const auto got = ::getrandom(bytes.data(), bytes.size(), 0);
        if (got <= 0)
            break;
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return words;
}

}  // namespace gpuprobe::backends
