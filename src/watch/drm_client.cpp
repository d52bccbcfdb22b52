// SPDX-License-Identifier: Apache-2.0
#include "watch/drm_client.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "base/parse.h"
#include "base/record.h"

namespace gpuprobe::watch {
namespace {

constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxRegions = 64;

/// What is told of one region. `resident` is what is there now; "memory" is its older name; `total`
/// holds what was made and may be swapped out.
struct Region {
    std::optional<std::uint64_t> resident = {};
    std::optional<std::uint64_t> memory = {};
    std::optional<std::uint64_t> total = {};

    [[nodiscard]] std::optional<std::uint64_t> bytes() const {
        if (resident)
            return resident;
        return memory ? memory : total;
    }
};
using Regions = std::map<std::string, Region, std::less<>>;

/// "123 KiB"; without a unit it is bytes.
std::optional<std::uint64_t> bytes_from(std::string_view text) {
    const auto parts = words(text);
    if (parts.empty() || parts.size() > 2)
        return std::nullopt;
    const auto number = parse_number<std::uint64_t>(parts[0]);
    if (!number)
        return std::nullopt;
    if (parts.size() == 1)
        return number;
    const bool is_kib = parts[1] == "KiB";
    if (!is_kib && parts[1] != "MiB")
        return std::nullopt;
    const std::uint64_t unit = is_kib ? kib(1).count : mib(1).count;
    if (*number > std::numeric_limits<std::uint64_t>::max() / unit)
        return std::nullopt;
    return *number * unit;
}

struct Figure {
    std::string_view prefix;
    std::optional<std::uint64_t> Region::*place;
};
constexpr std::array<Figure, 3> kFigures = {{{"drm-resident-", &Region::resident},
                                             {"drm-memory-", &Region::memory},
                                             {"drm-total-", &Region::total}}};

void add_figure(std::string_view key, std::string_view value, Regions& regions) {
    // "drm-total-cycles-<engine>" is a clock, not memory.
    if (key.starts_with("drm-total-cycles-"))
        return;
    for (const auto& figure : kFigures) {
        if (!key.starts_with(figure.prefix))
            continue;
        const auto name = key.substr(figure.prefix.size(), kMaxWord);
        if (regions.size() < kMaxRegions || regions.contains(name))
            regions[std::string{name}].*figure.place = bytes_from(value);
    }
}

void add_work(std::string_view key, std::string_view value, std::optional<bool>& has_worked) {
    const bool is_time = key.starts_with("drm-engine-") && !key.starts_with("drm-engine-capacity-");
    if (!is_time && !key.starts_with("drm-cycles-"))
        return;
    const auto parts = words(value);
    const auto spent = parts.empty() ? std::nullopt : parse_number<std::uint64_t>(parts[0]);
    if (spent)
        has_worked = has_worked.value_or(false) || *spent > 0;
}

/// The names that drivers give to memory on the card: amdgpu "vram", xe "vram0", i915 "local0" and
/// "stolen-local0".
bool is_on_device(std::string_view region) {
    return region.starts_with("vram") || region.find("local") != std::string_view::npos;
}

void add(std::optional<Bytes>& sum, std::uint64_t bytes) {
    const auto before = sum.value_or(Bytes{}).count;
    const auto room = std::numeric_limits<std::uint64_t>::max() - before;
    sum = Bytes{before + std::min(bytes, room)};
}

void add_regions(const Regions& regions, DrmClient& client) {
    for (const auto& [name, region] : regions)
        // amdgpu's "cpu" is memory that the GPU has given back for now.
        if (const auto bytes = region.bytes(); bytes && name != "cpu")
            add(is_on_device(name) ? client.on_device : client.in_host, *bytes);
}

}  // namespace

std::optional<DrmClient> drm_client_from(std::string_view fdinfo) {
    DrmClient client;
    Regions regions;
    for (const auto line : split(fdinfo, '\n')) {
        const auto colon = line.find(':');
        if (!line.starts_with("drm-") || colon == std::string_view::npos)
            continue;
        const auto key = line.substr(0, colon);
        const auto value = trimmed(line.substr(colon + 1));
        if (key == "drm-driver")
            client.driver = scrubbed(value, kMaxWord);
        else if (key == "drm-pdev")
            client.pci = parse_text(value, std::type_identity<PciAddress>{});
        else if (key == "drm-client-id")
            client.id = parse_number<std::uint64_t>(value);
        add_figure(key, value, regions);
        add_work(key, value, client.has_worked);
    }
    if (client.driver.empty())
        return std::nullopt;
    add_regions(regions, client);
    return client;
}

}  // namespace gpuprobe::watch
