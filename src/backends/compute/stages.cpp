// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/stages.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "backends/compute/check.h"
#include "backends/compute/measure.h"
#include "backends/nvml/nvml.h"
#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "report/pci_address.h"

namespace gpuprobe::backends {
namespace {

constexpr std::string_view kMig = "uuid:MIG-";
constexpr Bytes kMaxLine = kib(4);

/// The number in a sysfs file; with base 16, "0x" is optional.
std::optional<std::uint64_t> number_in(const FileSystem& files, const std::string& path, int base) {
    const auto text = files.read(path, kMaxLine);
    if (!text)
        return std::nullopt;
    auto digits = trimmed(*text);
    if (base == 16 && digits.starts_with("0x"))
        digits.remove_prefix(2);
    return parse_number<std::uint64_t>(digits, base);
}

/// The free memory of one kind, from amdgpu's files NAME_total and NAME_used.
std::optional<Bytes> free_in(const FileSystem& files, const std::string& name) {
    const auto total = number_in(files, name + "_total", 10);
    const auto used = number_in(files, name + "_used", 10);
    return total && used && *used <= *total ? std::optional{Bytes{*total - *used}} : std::nullopt;
}

/// The most that a context can plausibly use. A context needs about half a gibibyte; a larger
/// difference includes memory that other processes allocated.
constexpr Bytes kMostOfAContext = gib(2);
/// Differences up to this count as equal. NVML's value for an idle H200 varies by 64 or 128 KiB
/// from process to process (driver 580.159.04): the memory of NVML's clients.
constexpr Bytes kSame = mib(1);
constexpr int kMostReadings = 20;
constexpr std::chrono::milliseconds kBetweenReadings{50};

bool is_same(Bytes one, Bytes other) {
    return std::max(one, other).count - std::min(one, other).count <= kSame.count;
}

constexpr std::string_view kIndex = "index:";

/// Words to check: 256 KiB copied to the device, and as much output.
constexpr std::size_t kWords = 65536;

/// Leaks a device that still runs or has fallen off the bus, because releasing it would wait for
/// it. The context ends with the process, and the kernel driver cleans up.
void abandon_if_stuck(std::unique_ptr<ComputeDevice>& device, const Refusal& refusal) {
    if (refusal.code == "dispatch-timed-out" || refusal.code == "device-lost")
        (void)device.release();
}

/// Opens the device and runs the check, announcing each phase.
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

/// Opens the device and measures it, announcing each phase.
Attempt<Measured> measured_by(const OpenDevice& open, Sink& sink, const ContextMeter& meter) {
    sink.phase("context");
    auto device = TRY(open());
    // Read the meter before the buffers are allocated: then only the context makes the difference.
    if (meter.asks())
        sink.phase(kFreeMemoryPhase);
    const auto context = meter.taken();
    auto figures = measured(*device, [&](std::string_view name) { sink.phase(name); });
    if (figures)
        figures->context = context;
    else
        abandon_if_stuck(device, figures.error());
    return figures;
}

/// The answer for a target whose device is missing. It leaves out UUIDs, because not every reader
/// of the report may see them.
Answer device_not_found(const ProbeTarget& target) {
    const auto device = target.device.value_or("");
    const auto name = device.starts_with(kUuid) ? std::string{"of that UUID"} : device;
    return Answer{.outcome = Outcome::Absent,
                  .note = "the driver offers no device " + name,
                  .reasons = {because("device-not-found", {{"device", name}})}};
}

/// The function of a later stage; empty for other names. For "measure", this creates the meter, so
/// call it before the driver is loaded.
DeviceStage later_stage(const ProbeTarget& target, Sink& started) {
    if (target.stage == "verify")
        return verify_device;
    if (target.stage != "measure")
        return {};
    static const RootedFiles files;  // static because the meter keeps a reference
    started.phase(kFreeMemoryPhase);
    return [meter = context_meter_of(files, target)](DeviceFacts facts, const OpenDevice& open,
                                                     Sink& sink) {
        return measure_device_by(meter, std::move(facts), open, sink);
    };
}

Answer not_offered(const ProbeTarget& target) {
    return Answer{.outcome = Outcome::Failed,
                  .note = target.api + " has no stage " + target.stage,
                  .reasons = {because("stage-not-offered", {{"stage", target.stage}})}};
}

}  // namespace

ContextMeter::ContextMeter(Free free, const Pause& pause) : free_{std::move(free)} {
    // Wait until two readings agree. If they never do, before_ stays empty and taken() has no
    // result.
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
    // Do not query NVML about another vendor's GPU: that would wake NVIDIA GPUs in the same
    // machine. If the vendor cannot be read, try NVML.
    constexpr std::uint64_t kNvidia = 0x10de;
    if (number_in(files, folder + "/vendor", 16).value_or(kNvidia) == kNvidia)
        return ContextMeter{[address = *address] { return nvml_free_memory(address); }};
    return ContextMeter{[&files, folder]() -> std::optional<Bytes> {
        const auto own = free_in(files, folder + "/mem_info_vram");
        // Add the host memory that the GPU can use: an APU takes most of a context from there.
        const auto shared = free_in(files, folder + "/mem_info_gtt");
        return own ? std::optional{Bytes{own->count + shared.value_or(Bytes{}).count}} : own;
    }};
}

bool is_stage(std::string_view stage) {
    return stage == "query" || stage == "verify" || stage == "measure" || stage == kProcessesStage;
}

Answer ask(const Backend& backend, const ProbeTarget& target, Sink& sink) {
    if (target.stage == kProcessesStage)
        return backend.processes ? backend.processes(target, sink) : not_offered(target);
    if (target.stage == "query")
        return backend.query ? backend.query(target, sink) : not_offered(target);
    if (!backend.compute)
        return not_offered(target);
    // An API with a single device, like the CPU, needs no device name.
    auto named = target;
    if (!named.device && backend.device)
        named.device = backend.device;
    return run_stage(backend.compute, later_stage(named, sink), named, sink);
}

Answer verify_device(DeviceFacts facts, const OpenDevice& open, Sink& sink) {
    const auto check = check_of(open, sink);
    // Report the facts even if the check failed: the note has the reason.
    facts.extra["check"] = to_value(check ? *check : Check{.note = check.error().note});
    sink.device(facts);
    return check ? Answer{} : answer_of(check.error());
}

Answer measure_device_by(const ContextMeter& meter,
                         DeviceFacts facts,
                         const OpenDevice& open,
                         Sink& sink) {
    const auto figures = measured_by(open, sink, meter);
    facts.extra["measured"] = figures ? value_of(*figures) : Value{};
    sink.device(facts);
    return figures ? Answer{} : answer_of(figures.error());
}

Answer measure_device(DeviceFacts facts, const OpenDevice& open, Sink& sink) {
    return measure_device_by({}, std::move(facts), open, sink);
}

bool is_wanted(const ProbeTarget& target, const DeviceFacts& facts) {
    const std::string_view name = target.device ? std::string_view{*target.device} : "";
    if (name.starts_with(kPci)) {
        const auto wanted = parse_text(name.substr(kPci.size()), std::type_identity<PciAddress>{});
        return wanted && facts.pci == wanted;
    }
    if (name.starts_with(kUuid))
        return facts.uuid == name.substr(kUuid.size());
    if (!name.starts_with(kIndex))
        return false;
    const auto wanted = parse_number<std::uint32_t>(name.substr(kIndex.size()));
    return wanted && facts.index == wanted;
}

Answer run_stage(Enumerate enumerate,
                 const DeviceStage& stage,
                 const ProbeTarget& target,
                 Sink& sink) {
    // Visit devices until the wanted one is found, run the stage there and stop.
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
    // An enumeration that failed explains more than "not found".
    return enumerated.outcome == Outcome::Answered ? device_not_found(target) : enumerated;
}

}  // namespace gpuprobe::backends
