// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/stages.h"

#include "backends/compute/check.h"
#include "backends/compute/measure.h"

namespace gpuprobe::backends {
namespace {

/// 256 KiB to the device, and as much on it.
constexpr std::size_t kWords = 65536;

/// What still runs, or has fallen off the bus, would be waited for: its context goes with the
/// process, and the kernel's driver cleans up.
void abandon_if_stuck(std::unique_ptr<ComputeDevice>& device, const Refusal& refusal) {
    if (refusal.code == "dispatch-timed-out" || refusal.code == "device-lost")
        (void)device.release();
}

Answer failed(const Refusal& refusal) {
    return Answer{.outcome = Outcome::Failed,
                  .note = refusal.note,
                  .reasons = {Reason{.code = refusal.code, .detail = refusal.detail}}};
}

Attempt<Check> check_of(const OpenDevice& open, Sink& sink) {
    sink.phase("context");
    auto device = TRY(open());
    sink.phase("build");
    (void)TRY(device->prepare(Kernel::Check));
    sink.phase("dispatch");
    auto check = checked(*device, random_words(kWords));
    if (!check)
        abandon_if_stuck(device, check.error());
    return check;
}

Attempt<Measured> measured_by(const OpenDevice& open, Sink& sink) {
    sink.phase("context");
    auto device = TRY(open());
    auto figures = measured(*device, [&](std::string_view name) { sink.phase(name); });
    if (!figures)
        abandon_if_stuck(device, figures.error());
    return figures;
}

}  // namespace

Answer verify_device(DeviceFacts facts, const OpenDevice& open, Sink& sink) {
    const auto check = check_of(open, sink);
    facts.extra["check"] = to_value(check ? *check : Check{.note = check.error().note});
    sink.device(facts);
    return check ? Answer{} : failed(check.error());
}

Answer measure_device(DeviceFacts facts, const OpenDevice& open, Sink& sink) {
    const auto figures = measured_by(open, sink);
    facts.extra["measured"] = figures ? value_of(*figures) : Value{};
    sink.device(facts);
    return figures ? Answer{} : failed(figures.error());
}

}  // namespace gpuprobe::backends
