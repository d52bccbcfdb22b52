// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/stages.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/random.h>

#include "backends/compute/measure.h"
#include "backends/nvml/nvml.h"
#include "backends/texts.h"
#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "report/pci_address.h"

namespace gpuprobe::backends {
namespace {

/// A chain starts with (thread + chain) & mask. The mask is small, so the results stay exact.
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

/// Byte `number` of a word, counted from the lowest byte, as a signed number.
std::int32_t signed_byte(std::uint32_t word, int number) {
    return static_cast<std::int8_t>(word >> (8 * number));
}

/// The result of Int8. There is no formula for this result, so the function runs all steps.
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

/// `size` rounded up to whole groups, as required by allocate().
Bytes whole_groups(std::size_t size) {
    const auto groups = (size + kGroupBytes.count - 1) / kGroupBytes.count;
    return Bytes{groups * kGroupBytes.count};
}

/// Copies words to the staging memory.
void stage(ComputeDevice& device, Words words) {
    std::memcpy(device.staging().data(), words.data(), words.size_bytes());
}

/// Words that all differ from the correct result for this input.
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
    // The sum of all i from 0 to words - 1 is words * (words - 1) / 2. One of the two factors is
    // even; halve the even factor first, so that the product cannot overflow.
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
    // Each step has one multiply-add in Fp32, two in Fp16 (a pair), and four in Int8 (four bytes).
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

/// The largest size that a context can plausibly have. A context needs about half a gibibyte; a
/// larger difference includes memory that other processes allocated.
constexpr Bytes kMostOfAContext = gib(2);
/// Differences in free memory up to this size are ignored. NVML's value for an idle H200 varies by
/// 64 or 128 KiB from process to process (driver 580.159.04), because the value includes the memory
/// of NVML's clients.
constexpr Bytes kSame = mib(1);
constexpr int kMostReadings = 20;
constexpr std::chrono::milliseconds kBetweenReadings{50};

bool is_same(Bytes one, Bytes other) {
    return std::max(one, other).count - std::min(one, other).count <= kSame.count;
}

constexpr std::string_view kIndex = "index:";

/// The number of words to check: 256 KiB are copied to the device, and the output has the same
/// size.
constexpr std::size_t kWords = 65536;

/// Leaks a device that is still running or that is no longer on the bus, because releasing the
/// device would wait for it. The context ends with the process, and the kernel driver cleans up.
void abandon_if_stuck(std::unique_ptr<ComputeDevice>& device, const Refusal& refusal) {
    if (refusal.code == "dispatch-timed-out" || refusal.code == "device-lost")
        (void)device.release();
}

/// Opens the device, announcing the phase.
Attempt<std::unique_ptr<ComputeDevice>> opened(const OpenDevice& open, Sink& sink) {
    sink.phase("context");
    return open();
}

/// Runs the check, announcing each phase.
Attempt<Check> check_of(ComputeDevice& device, Sink& sink) {
    sink.phase("build");
    (void)TRY(device.prepare(Kernel::Check));
    sink.phase("dispatch");
    return checked(device, random_words(kWords));
}

/// The figures of a device; nullopt if the device computes wrong results.
using Figures = std::optional<Measured>;

/// Runs the check, adds the member `check` to `extra`, and measures a device that computes
/// correctly.
Attempt<Figures> check_and_measure(ComputeDevice& device, Sink& sink, Value& extra) {
    const auto check = TRY(check_of(device, sink));
    extra["check"] = to_value(check);
    if (check.result != CheckResult::Verified)
        return Figures{};
    return Figures{TRY(measured(device, [&](std::string_view name) { sink.phase(name); }))};
}

/// Opens, checks and measures the device.
Attempt<Figures> measured_by(const OpenDevice& open,
                             Sink& sink,
                             const ContextMeter& meter,
                             Value& extra) {
    auto device = TRY(opened(open, sink));
    // Read the meter before the buffers are allocated, so that only the context changes the free
    // memory.
    if (meter.asks())
        sink.phase(kFreeMemoryPhase);
    const auto context = meter.taken();
    auto figures = check_and_measure(*device, sink, extra);
    if (figures && *figures)
        (*figures)->context = context;
    if (!figures)
        abandon_if_stuck(device, figures.error());
    return figures;
}

/// The answer for a target whose device is missing. UUIDs are left out, because not every reader of
/// the report may see them.
Answer device_not_found(const ProbeTarget& target) {
    const auto device = target.device.value_or("");
    const auto name = device.starts_with(kUuid) ? std::string{"with this UUID"} : device;
    return Answer{.outcome = Outcome::Absent,
                  .note = "the driver lists no device " + name,
                  .reasons = {because("device-not-found", {{"device", name}})}};
}

/// Adds `check`, unless the computation failed, and `measured` (compute/measure.h), including the
/// memory that the meter reports; null if nothing could be measured. The meter must have been
/// created before the driver was used.
Answer measure_device_by(const ContextMeter& meter,
                         DeviceFacts facts,
                         const OpenDevice& open,
                         Sink& sink) {
    const auto figures = measured_by(open, sink, meter, facts.extra);
    facts.extra["measured"] = figures && *figures ? value_of(**figures) : Value{};
    sink.device(facts);
    if (!figures)
        return answer_of(figures.error());
    return *figures ? Answer{} : Answer{.note = "the test computation gave wrong results"};
}

/// The function that runs the stage "verify" or "measure"; empty for other names. For "measure",
/// the call creates the meter, so it must come before the driver is loaded.
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
                  .note = target.api + " does not support the stage " + target.stage,
                  .reasons = {because("stage-not-offered", {{"stage", target.stage}})}};
}

}  // namespace

ContextMeter::ContextMeter(Free free, const Pause& pause) : free_{std::move(free)} {
    // Wait until two readings agree. If readings never agree, before_ stays empty and taken()
    // returns nullopt.
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
    // Do not query NVML about another vendor's GPU, because that would wake NVIDIA GPUs in the same
    // machine. If the vendor cannot be read, try NVML.
    constexpr std::uint64_t kNvidia = 0x10de;
    if (number_in(files, folder + "/vendor", 16).value_or(kNvidia) == kNvidia)
        return ContextMeter{[address = *address] { return nvml_free_memory(address); }};
    return ContextMeter{[&files, folder]() -> std::optional<Bytes> {
        const auto own = free_in(files, folder + "/mem_info_vram");
        // Add the host memory that the GPU can use, because on an APU most of a context is in this
        // memory.
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
    auto device = opened(open, sink);
    const auto check = device ? check_of(**device, sink) : Attempt<Check>{device.error()};
    if (device && !check)
        abandon_if_stuck(*device, check.error());
    // Report the facts even if the check failed; the note contains the reason.
    facts.extra["check"] = to_value(check ? *check : Check{.note = check.error().note});
    sink.device(facts);
    return check ? Answer{} : answer_of(check.error());
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
    // The error of a failed enumeration explains more than "not found".
    return enumerated.outcome == Outcome::Answered ? device_not_found(target) : enumerated;
}

}  // namespace gpuprobe::backends
