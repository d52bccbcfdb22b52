// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/stages.h"

#include "backends/compute/check.h"
#include "backends/compute/measure.h"

namespace gpuprobe {
namespace {

/// 256 KiB to the device, and as much on it.
constexpr std::size_t kWords = 65536;

/// What still runs, or has fallen off the bus, would be waited for: its context goes with the
/// process, and the kernel's driver cleans up.
void abandon_if_stuck(std::unique_ptr<Accelerator>& accelerator, const Refusal& refusal) {
    if (has_trait(refusal.code.text(), ReasonTraits::Stuck))
        (void)accelerator.release();
}

Answer failed(const Refusal& refusal) {
    auto reason = because(refusal.code);
    reason.detail = refusal.detail;
    return Answer{.outcome = Outcome::Failed, .note = refusal.note, .reasons = {std::move(reason)}};
}

Attempt<Check> check_of(const OpenAccelerator& open, Sink& sink) {
    sink.phase("context");
    auto accelerator = TRY(open());
    sink.phase("build");
    (void)TRY(accelerator->prepare(Kernel::Check));
    sink.phase("dispatch");
    auto check = checked(*accelerator, random_words(kWords));
    if (!check)
        abandon_if_stuck(accelerator, check.error());
    return check;
}

Attempt<Measured> measured_by(const OpenAccelerator& open, Sink& sink) {
    sink.phase("context");
    auto accelerator = TRY(open());
    auto figures = measured(*accelerator, [&](std::string_view name) { sink.phase(name); });
    if (!figures)
        abandon_if_stuck(accelerator, figures.error());
    return figures;
}

}  // namespace

Answer verify_device(DeviceFacts facts, const OpenAccelerator& open, Sink& sink) {
    const auto check = check_of(open, sink);
    facts.extra["check"] = to_value(check ? *check : Check{.note = check.error().note});
    sink.device(facts);
    return check ? Answer{} : failed(check.error());
}

Answer measure_device(DeviceFacts facts, const OpenAccelerator& open, Sink& sink) {
    const auto figures = measured_by(open, sink);
    facts.extra["measured"] = figures ? value_of(*figures) : Value{};
    sink.device(facts);
    return figures ? Answer{} : failed(figures.error());
}

}  // namespace gpuprobe
