// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/context_meter.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "backends/nvml/nvml.h"
#include "base/parse.h"
#include "report/pci_address.h"

namespace gpuprobe::backends {
namespace {

constexpr std::string_view kMig = "uuid:MIG-";
constexpr Bytes kMaxLine = kib(4);

/// The number in one of a device's files.
std::optional<std::uint64_t> number_in(const FileSystem& files, const std::string& path, int base) {
    const auto text = files.read(path, kMaxLine);
    if (!text)
        return std::nullopt;
    auto digits = trimmed(*text);
    if (base == 16 && digits.starts_with("0x"))
        digits.remove_prefix(2);
    return parse_number<std::uint64_t>(digits, base);
}

/// Of a kind of memory, by amdgpu's files of that name.
std::optional<Bytes> free_in(const FileSystem& files, const std::string& name) {
    const auto total = number_in(files, name + "_total", 10);
    const auto used = number_in(files, name + "_used", 10);
    return total && used && *used <= *total ? std::optional{Bytes{*total - *used}} : std::nullopt;
}

/// A context takes half a gibibyte; more was taken by somebody else meanwhile.
constexpr Bytes kMostOfAContext = gib(2);
/// NVML's figure of an idle H200 is 64 or 128 KiB another one from process to process (driver
/// 580.159.04): what its own clients have.
constexpr Bytes kSame = mib(1);
constexpr int kMostReadings = 20;
constexpr std::chrono::milliseconds kBetweenReadings{50};

bool is_same(Bytes one, Bytes other) {
    return std::max(one, other).count - std::min(one, other).count <= kSame.count;
}

}  // namespace

ContextMeter::ContextMeter(Free free, const Pause& pause) : free_{std::move(free)} {
    auto last = free_ ? free_() : std::nullopt;
    for (int reading = 1; last && reading < kMostReadings; ++reading) {
        const auto now = free_();
        if (now && is_same(*now, *last)) {
            before_ = now;
            return;
        }
        last = now;
        pause(kBetweenReadings);
    }
}

void ContextMeter::sleep(std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
}

std::optional<Bytes> ContextMeter::taken() const {
    const auto now = before_ ? free_() : std::nullopt;
    if (!now || *now >= *before_ || is_same(*now, *before_))
        return std::nullopt;
    const Bytes taken{before_->count - now->count};
    return taken <= kMostOfAContext ? std::optional{taken} : std::nullopt;
}

ContextMeter context_meter_of(const FileSystem& files, const ProbeTarget& target) {
    const std::string device = target.device.value_or("");
    if (device.starts_with(kMig))
        return ContextMeter{
            [uuid = device.substr(kUuid.size())] { return nvml_free_memory(uuid); }};
    const auto address = device.starts_with(kPci)
                             ? parse_text(std::string_view{device}.substr(kPci.size()),
                                          std::type_identity<PciAddress>{})
                             : std::nullopt;
    if (!address)
        return {};
    const auto folder = "/sys/bus/pci/devices/" + text_of(*address);
    // To ask NVML about another vendor's would wake NVIDIA's GPUs beside it.
    constexpr std::uint64_t kNvidia = 0x10de;
    if (number_in(files, folder + "/vendor", 16).value_or(kNvidia) == kNvidia)
        return ContextMeter{[address = *address] { return nvml_free_memory(address); }};
    return ContextMeter{[&files, folder]() -> std::optional<Bytes> {
        const auto own = free_in(files, folder + "/mem_info_vram");
        // Of the host's memory, from which an APU takes most of a context.
        const auto shared = free_in(files, folder + "/mem_info_gtt");
        return own ? std::optional{Bytes{own->count + shared.value_or(Bytes{}).count}} : own;
    }};
}

}  // namespace gpuprobe::backends
