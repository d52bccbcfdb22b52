// SPDX-License-Identifier: Apache-2.0
#include "decide/size_text.h"

#include <algorithm>
#include <array>

#include "base/parse.h"

namespace gpuprobe {
namespace {

struct Unit {
    std::string_view name = {};
    std::uint64_t bytes = 1;
};
constexpr std::array<Unit, 10> kUnits{{{"", 1},
                                       {"B", 1},
                                       {"kB", 1000},
                                       {"MB", 1000'000},
                                       {"GB", 1000'000'000},
                                       {"TB", 1000'000'000'000},
                                       {"KiB", kib(1).count},
                                       {"MiB", mib(1).count},
                                       {"GiB", gib(1).count},
                                       {"TiB", gib(1024).count}}};

}  // namespace

std::optional<Bytes> size_from_text(std::string_view text) {
    text = trimmed(text);
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_number<std::uint64_t>(text.substr(0, digits));
    const auto* unit = std::ranges::find(kUnits, trimmed(text.substr(digits)), &Unit::name);
    if (!number || unit == kUnits.end() || *number > UINT64_MAX / unit->bytes)
        return std::nullopt;
    return Bytes{*number * unit->bytes};
}

}  // namespace gpuprobe
