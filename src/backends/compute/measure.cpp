// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/measure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "backends/compute/stages.h"
#include "base/result.h"

namespace gpuprobe::backends {
namespace {

/// Durations below this value count as this value, because they only show the clock's resolution.
constexpr Seconds kShortest{1e-9};
constexpr std::uint32_t kMaxTimes = 100'000;

/// The number of pieces that fill a batch of the given duration.
std::uint32_t times_for(Seconds batch, Seconds piece) {
    const auto times = std::ceil(batch / std::max(piece, kShortest));
    return static_cast<std::uint32_t>(std::clamp(times, 1.0, double{kMaxTimes}));
}

Refusal too_slow(Seconds piece) {
    Value detail;
    detail["piece_usec"] = Value{static_cast<long long>(piece.count() * 1e6)};
    return Refusal{.code = "too-slow",
                   .note = "the smallest test computation takes too long",
                   .detail = std::move(detail)};
}

/// Host memory for copies. The fastest machines copy 32 MiB in half a millisecond; pinning more
/// memory would take as long as the measurement itself.
constexpr Bytes kStaging = mib(32);
constexpr Bytes kUnknownFree = mib(256);  // assumed if the free memory is unknown
/// The size of a GPU's buffer. The buffer is much larger than any cache, and reading it once (0.2
/// ms on an H200) takes much longer than launching a kernel.
constexpr Bytes kMaxDeviceBuffer = gib(1);
/// The size of a CPU's buffer. A CPU's buffer is smaller than a GPU's, because a worker may use
/// only one gibibyte in total (systemd/gpuprobe-worker@.service).
constexpr Bytes kMaxHostBuffer = mib(256);

constexpr std::uint32_t kPieceGroups = 64;            // groups in the smallest piece
constexpr std::uint32_t kMaxArithmeticGroups = 8192;  // a million threads fill every current GPU
constexpr std::uint32_t kMaxSteps = 1U << 22;
/// The duration of a piece on a CPU. A piece is longer than on a GPU, because the data that a CPU
/// reads in a few milliseconds fits into its caches.
constexpr Seconds kHostMemoryPiece{0.02};
constexpr Seconds kMaxHostPiece{2};
constexpr Bytes kTransferPiece = kib(512);

Seconds now() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

Refusal miscomputed(std::string_view what) {
    Value detail;
    detail["kernel"] = Value{what};
    return Refusal{.code = "miscomputed",
                   .note = "the kernel " + std::string{what} + " computed wrong results",
                   .detail = std::move(detail)};
}

/// Measures one device, one figure after the other.
class Measuring {
public:
    Measuring(ComputeDevice& device, const std::function<void(std::string_view)>& phase)
        : device_{device},
          phase_{phase},
          sampler_{now, device.limits().is_cpu ? kMaxHostPiece : Sampler::kMaxPiece},
          random_{random_words(2)} {}

    Attempt<Measured> take();

private:
    using RateField = std::optional<std::uint64_t> Figures<std::uint64_t>::*;
    using SpreadField = std::optional<double> Figures<double>::*;

    // The steps of take(), in the order in which take() runs them, except launch(). Each step
    // stores its figures in measured_.
    Attempt<Done> allocate();
    Attempt<Done> memory();
    Attempt<Done> transfers();
    Attempt<Done> transfer(Direction direction, RateField rate, SpreadField spread);
    Attempt<Done> arithmetic(Kernel kernel,
                             std::string_view name,
                             RateField rate,
                             SpreadField spread);
    /// Like arithmetic(), but for a kernel that may fail to build although the device claims to
    /// support it. If the build fails, only a note is added.
    Attempt<Done> optional_arithmetic(Kernel kernel,
                                      std::string_view name,
                                      RateField rate,
                                      SpreadField spread);
    Attempt<Done> launch();
    /// Measures a load and stores its rate and spread.
    Attempt<Done> keep(const Load& load, RateField rate, SpreadField spread);

    /// The sum of all words in a buffer, as computed by the device. Computing the sum overwrites
    /// the other buffer.
    [[nodiscard]] Attempt<std::uint32_t> sum_of(Buffer buffer);
    /// The words at the beginning of the second buffer.
    Attempt<std::vector<std::uint32_t>> output(std::size_t words);
    Attempt<Done> check_arithmetic(Kernel kernel, std::string_view name, const Work& work);

    ComputeDevice& device_;
    const std::function<void(std::string_view)>& phase_;
    Sampler sampler_;
    std::vector<std::uint32_t> random_;
    Bytes size_ = {};
    Measured measured_ = {};
};

Attempt<Measured> Measuring::take() {
    using Rates = Figures<std::uint64_t>;
    using Spreads = Figures<double>;
    (void)TRY(allocate());
    const auto begin = now();
    // During the first load, the sampler also waits until the clocks are high; see Sampler.
    (void)TRY(arithmetic(Kernel::Fp32, "fp32", &Rates::fp32, &Spreads::fp32));
    (void)TRY(memory());
    if (device_.limits().has_fp16)
        (void)TRY(optional_arithmetic(Kernel::Fp16, "fp16", &Rates::fp16, &Spreads::fp16));
    if (device_.limits().has_int8)
        (void)TRY(optional_arithmetic(Kernel::Int8, "int8", &Rates::int8, &Spreads::int8));
    // A processor needs no copies and has no launch time.
    if (device_.limits().has_host_copies) {
        (void)TRY(transfers());
        (void)TRY(launch());
    }
    if (sampler_.is_hurried() && !measured_.note)
        measured_.note = "the device was busy: fewer than five samples";
    measured_.duration = std::chrono::duration_cast<Duration>(now() - begin);
    return measured_;
}

Attempt<Done> Measuring::allocate() {
    phase_("allocate");
    size_ = buffer_size(device_.limits());
    return device_.allocate(size_, std::min(size_, kStaging));
}

Attempt<Done> Measuring::keep(const Load& load, RateField rate, SpreadField spread) {
    const auto figure = TRY(sampler_.rate_of(load));
    measured_.rates.*rate = static_cast<std::uint64_t>(std::llround(figure.median));
    measured_.spreads.*spread = figure.spread;
    return Done{};
}

Attempt<Done> Measuring::memory() {
    phase_("memory");
    for (const auto kernel : {Kernel::Fill, Kernel::Read, Kernel::Copy})
        (void)TRY(device_.prepare(kernel));
    // Fill the first buffer with a pattern whose sum is known.
    const auto groups = static_cast<std::uint32_t>(size_.count / kGroupBytes.count);
    const KernelArguments pattern{.factor = static_cast<std::int32_t>(random_[0] | 1),
                                  .addend = static_cast<std::int32_t>(random_[1])};
    (void)TRY(device_.run(Work{
        .kernel = Kernel::Fill, .groups = groups, .arguments = pattern, .from = Buffer::Second}));
    // `passes` is the number of times that each byte is transferred over the memory bus (2 for a
    // copy, which reads and writes).
    const auto load_of = [&](Kernel kernel, double passes) {
        return Load{.run =
                        [this, kernel](std::uint32_t size, std::uint32_t times) {
                            return device_.run(Work{
                                .kernel = kernel, .groups = size * kPieceGroups, .times = times});
                        },
                    .max_size = std::bit_floor(groups / kPieceGroups),
                    .units = static_cast<double>(kPieceGroups * kGroupBytes.count) * passes,
                    .piece = device_.limits().is_cpu ? kHostMemoryPiece : Load{}.piece};
    };
    using Rates = Figures<std::uint64_t>;
    using Spreads = Figures<double>;
    (void)TRY(keep(load_of(Kernel::Read, 1), &Rates::memory_read, &Spreads::memory_read));
    // Check the results, because a rate is valid only if the kernel did its work.
    const auto wanted = filled_sum(size_.count / 4, pattern);
    if (TRY(sum_of(Buffer::First)) != wanted)
        return miscomputed("read");
    (void)TRY(keep(load_of(Kernel::Copy, 2), &Rates::memory_copy, &Spreads::memory_copy));
    // Computing the sum above overwrote the second buffer, and the last copy may have been
    // incomplete.
    (void)TRY(device_.run(Work{.kernel = Kernel::Copy, .groups = groups}));
    if (TRY(sum_of(Buffer::Second)) != wanted)
        return miscomputed("copy");
    return Done{};
}

/// Runs Kernel::Read, which writes the sums of the threads to the other buffer, and adds up these
/// sums on the host.
Attempt<std::uint32_t> Measuring::sum_of(Buffer buffer) {
    const auto groups = static_cast<std::uint32_t>(size_.count / kGroupBytes.count);
    (void)TRY(device_.run(Work{.kernel = Kernel::Read, .groups = groups, .from = buffer}));
    const Bytes sums{std::uint64_t{groups} * kGroupThreads * 4};
    (void)TRY(device_.transfer(Direction::ToHost, other(buffer), sums, 1));
    std::vector<std::uint32_t> words(sums.count / 4);
    std::memcpy(words.data(), device_.staging().data(), sums.count);
    std::uint32_t sum = 0;
    for (const auto word : words)
        sum += word;
    return sum;
}

Attempt<Done> Measuring::transfers() {
    using Rates = Figures<std::uint64_t>;
    using Spreads = Figures<double>;
    phase_("transfer");
    (void)TRY(transfer(Direction::ToDevice, &Rates::host_to_device, &Spreads::host_to_device));
    return transfer(Direction::ToHost, &Rates::device_to_host, &Spreads::device_to_host);
}

Attempt<Done> Measuring::transfer(Direction direction, RateField rate, SpreadField spread) {
    const auto pieces = std::min(size_, kStaging).count / kTransferPiece.count;
    const Load load{.run =
                        [this, direction](std::uint32_t size, std::uint32_t times) {
                            return device_.transfer(direction, Buffer::First,
                                                    Bytes{size * kTransferPiece.count}, times);
                        },
                    .max_size = static_cast<std::uint32_t>(std::bit_floor(pieces)),
                    .units = static_cast<double>(kTransferPiece.count)};
    return keep(load, rate, spread);
}

Attempt<Done> Measuring::arithmetic(Kernel kernel,
                                    std::string_view name,
                                    RateField rate,
                                    SpreadField spread) {
    phase_(name);
    (void)TRY(device_.prepare(kernel));
    const auto limit = static_cast<std::uint32_t>(
        std::bit_floor(size_.count / (kGroupThreads * sizeof(std::uint32_t))));
    // To enlarge a piece, first use more groups; when all groups are used, use more rounds.
    const auto max_groups = std::min(kMaxArithmeticGroups, limit);
    const auto work_of = [&](std::uint32_t size) {
        const auto groups = std::min(size * kPieceGroups, max_groups);
        auto arguments = arithmetic_arguments(kernel, random_[0]);
        arguments.rounds = size * kPieceGroups / groups;
        return Work{.kernel = kernel, .groups = groups, .arguments = arguments};
    };
    const Load load{
        .run =
            [&](std::uint32_t size, std::uint32_t times) {
                auto work = work_of(size);
                work.times = times;
                return device_.run(work);
            },
        .max_size = std::min(kMaxSteps, kMaxRounds / 2 * (max_groups / kPieceGroups)),
        .units = static_cast<double>(operations_per_round(kernel)) * kGroupThreads * kPieceGroups};
    (void)TRY(keep(load, rate, spread));
    return check_arithmetic(kernel, name, work_of(sampler_.size()));
}

Attempt<Done> Measuring::optional_arithmetic(Kernel kernel,
                                             std::string_view name,
                                             RateField rate,
                                             SpreadField spread) {
    const auto done = arithmetic(kernel, name, rate, spread);
    // Only a failed build is accepted; wrong results and timeouts end the measurement.
    if (done || done.error().code != "build-failed")
        return done;
    measured_.note = std::string{name} + ": " + done.error().note;
    return Done{};
}

/// Checks the results of kSamples threads, spread evenly from the first to the last.
Attempt<Done> Measuring::check_arithmetic(Kernel kernel, std::string_view name, const Work& work) {
    constexpr std::uint32_t kSamples = 8;
    const auto words = TRY(output(std::size_t{work.groups} * kGroupThreads));
    const auto count = static_cast<std::uint32_t>(words.size());
    for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
        const auto thread =
            static_cast<std::uint32_t>(std::uint64_t{count - 1} * sample / (kSamples - 1));
        if (words[thread] != arithmetic_word(kernel, thread, work.arguments))
            return miscomputed(name);
    }
    return Done{};
}

Attempt<std::vector<std::uint32_t>> Measuring::output(std::size_t count) {
    const Bytes size{count * sizeof(std::uint32_t)};
    (void)TRY(device_.transfer(Direction::ToHost, Buffer::Second, size, 1));
    std::vector<std::uint32_t> words(count);
    std::memcpy(words.data(), device_.staging().data(), size.count);
    return words;
}

/// Measures the round trip of a launch: runs one group at a time and waits for it. Uses a kernel
/// that has already been compiled, because compiling another kernel would take longer than the
/// measurement.
Attempt<Done> Measuring::launch() {
    phase_("launch");
    const Load load{.run = [this](std::uint32_t, std::uint32_t times) -> Attempt<Done> {
        for (std::uint32_t i = 0; i < times; ++i)
            (void)TRY(device_.run(Work{.kernel = Kernel::Fill}));
        return Done{};
    }};
    const auto figure = TRY(sampler_.rate_of(load));
    measured_.rates.launch_usec = 1e6 / figure.median;
    measured_.spreads.launch_usec = figure.spread;
    return Done{};
}

}  // namespace

Attempt<Rate> Sampler::rate_of(const Load& load) {
    const auto piece = TRY(grow(load));
    const auto times = times_for(kBatch, piece);
    // Do not use the batches of the first load, which warm up the device. For a later load, use the
    // two batches that agree.
    std::vector<Seconds> batches;
    if (std::exchange(is_warm_, true))
        batches = TRY(ramp(load, times, std::min(kLaterRamp, ramp_left_)));
    else
        (void)TRY(ramp(load, times_for(kRampBatch, piece), ramp_left_));
    // Run at least one batch, even if the time is up.
    while (batches.empty() || (batches.size() < kBatches && budget_left_ > Seconds{0}))
        batches.push_back(TRY(time_of(load, times)));
    is_hurried_ = is_hurried_ || batches.size() < kBatches;
    // The batches are sorted by time, so the first batch has the highest rate.
    std::ranges::sort(batches);
    const auto rate_in = [&](Seconds batch) { return load.units * size_ * times / batch.count(); };
    const auto median = rate_in(batches[batches.size() / 2]);
    return Rate{.median = median,
                .spread = (rate_in(batches.front()) - rate_in(batches.back())) / median};
}

Attempt<Seconds> Sampler::time_of(const Load& load, std::uint32_t times) {
    // Try a slow piece twice: the first time, another process may have kept the host busy.
    Seconds took{};
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto begin = now_();
        (void)TRY(load.run(size_, times));
        took = std::max(now_() - begin, kShortest);
        budget_left_ -= took;
        if (took / times <= max_piece_)
            return took;
    }
    return too_slow(took / times);
}

Attempt<Seconds> Sampler::grow(const Load& load) {
    size_ = 1;
    (void)TRY(load.run(size_, 1));  // not timed: drivers compile during the first run
    auto piece = TRY(time_of(load, 1));
    while (piece < load.piece && size_ < load.max_size && budget_left_ > Seconds{0}) {
        size_ *= 2;
        piece = TRY(time_of(load, 1));
    }
    return piece;
}

Attempt<std::vector<Seconds>> Sampler::ramp(const Load& load, std::uint32_t times, Seconds limit) {
    if (budget_left_ <= Seconds{0})
        return std::vector<Seconds>{};
    // Compare each batch with the previous batch.
    auto before = TRY(time_of(load, times));
    for (;;) {
        const auto took = TRY(time_of(load, times));
        ramp_left_ -= took;
        limit -= took;
        if (std::abs(took / before - 1) < kSteady)
            return std::vector{before, took};
        if (limit <= Seconds{0})
            return std::vector<Seconds>{};
        before = took;
    }
}

Bytes buffer_size(const ComputeLimits& limits) {
    // The size must be a power of two within all limits, and large enough for one piece.
    auto size = std::min(limits.is_cpu ? kMaxHostBuffer : kMaxDeviceBuffer,
                         Bytes{limits.free.value_or(kUnknownFree).count / 8});
    if (limits.max_buffer)
        size = std::min(size, *limits.max_buffer);
    const Bytes smallest{kGroupBytes.count * kPieceGroups};
    return std::max(smallest, Bytes{std::bit_floor(size.count)});
}

Value value_of(const Measured& measured) {
    auto value = to_value(measured.rates);
    value["spread"] = to_value(measured.spreads);
    value["context"] = to_value(measured.context);
    value["duration_usec"] = to_value(measured.duration);
    value["note"] = to_value(measured.note);
    return value;
}

Attempt<Measured> measured(ComputeDevice& device,
                           const std::function<void(std::string_view)>& phase) {
    return Measuring{device, phase}.take();
}

}  // namespace gpuprobe::backends
