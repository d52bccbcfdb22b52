// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/device_choice.h"

#include "base/parse.h"
#include "base/record.h"

namespace gpuprobe::backends {
namespace {

constexpr std::string_view kPci = "pci:";
constexpr std::string_view kIndex = "index:";

Answer device_not_found(const ProbeTarget& target) {
    return Answer{.outcome = Outcome::Absent,
                  .note = "the driver offers no device " + target.device.value_or(""),
                  .reasons = {because("device-not-found", {{"device", to_value(target.device)}})}};
}

}  // namespace

bool is_wanted(const ProbeTarget& target, const DeviceFacts& facts) {
    const std::string_view name = target.device ? std::string_view{*target.device} : "";
    if (name.starts_with(kPci)) {
        const auto wanted = parse_text(name.substr(kPci.size()), std::type_identity<PciAddress>{});
        return wanted && facts.pci == wanted;
    }
    if (!name.starts_with(kIndex))
        return false;
    const auto wanted = parse_number<std::uint32_t>(name.substr(kIndex.size()));
    return wanted && facts.index == wanted;
}

Answer run_stage(Enumerate enumerate, DeviceStage stage, const ProbeTarget& target, Sink& sink) {
    std::optional<Answer> answer;
    auto enumerated =
        enumerate(target, sink, [&](const DeviceFacts& facts, const OpenDevice& open) {
            if (!is_wanted(target, facts))
                return true;
            answer = stage(facts, open, sink);
            return false;
        });
    if (answer)
        return *std::move(answer);
    return enumerated.outcome == Outcome::Answered ? device_not_found(target) : enumerated;
}

Answer tell_devices(Enumerate enumerate, const ProbeTarget& target, Sink& sink) {
    return enumerate(target, sink, [&](const DeviceFacts& facts, const OpenDevice&) {
        sink.device(facts);
        return true;
    });
}

}  // namespace gpuprobe::backends
