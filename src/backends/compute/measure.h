// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/compute/device.h"
#include "base/record.h"

namespace gpuprobe::backends {

using Seconds = std::chrono::duration<double>;

/// Work whose rate is to be measured.
struct Load {
    /// Runs a piece of work of the given size `times` times and waits for the end.
    std::function<Attempt<Done>(std::uint32_t size, std::uint32_t times)> run = {};
    std::uint32_t max_size = 1;  ///< a power of two
    double units = 1;            ///< bytes or operations in a piece of size 1
    Seconds piece{0.002};        ///< pieces are enlarged until they take this long
};

/// Units per second: the median of five batches, and their spread.
struct Rate {
    double median = 0;
    double spread = 0;  ///< (largest - smallest) / median
};

/// Measures rates. A piece of work is tiny at first and is doubled until it is long enough, because
/// an unknown device may be slow. Then batches of pieces run until two batches agree, because
/// clocks need time to rise. Then five batches are timed. After the first load, when the clocks are
/// high, the two batches that agree are used as two of the five.
class Sampler {
public:
    using Now = std::function<Seconds()>;
    /// `max_piece`: the time limit of a piece; kMaxPiece stays well below the limits of watchdogs.
    explicit Sampler(Now now, Seconds max_piece = kMaxPiece)
        : now_{std::move(now)}, max_piece_{max_piece} {}

    /// Measures the rate of a load. Refusals: any from the load; `too-slow` if a piece takes longer
    /// than `max_piece`.
    Attempt<Rate> rate_of(const Load& load);

    /// Whether kBudget was used up, so that some load had fewer than five batches.
    [[nodiscard]] bool is_hurried() const { return is_hurried_; }
    /// The size of a piece of the last load.
    [[nodiscard]] std::uint32_t size() const { return size_; }

    /// Sources of the limits: clpeak, src/common/common.h (the clocks of mobile GPUs take 220–440
    /// ms to rise; Adreno's watchdog fires at 500 ms); measured on an H200: the rate of pieces of
    /// one millisecond is within 2 % of the rate of long pieces.
    static constexpr Seconds kMaxPiece{0.1};
    static constexpr Seconds kBatch{0.005};
    static constexpr Seconds kRampBatch{0.01};
    static constexpr Seconds kRamp{0.5};        ///< for all loads together
    static constexpr Seconds kLaterRamp{0.05};  ///< for each load after the first
    /// The time for all loads together. After that, each load gets only one batch, because the
    /// device is so busy or so slow that more batches would take too long.
    static constexpr Seconds kBudget{3};
    static constexpr double kSteady = 0.03;     ///< batches agree if they differ by less than this
    static constexpr std::size_t kBatches = 5;  ///< odd

private:
    /// The time of one batch of `times` pieces.
    Attempt<Seconds> time_of(const Load& load, std::uint32_t times);
    /// Enlarges the piece until it takes Load::piece, and returns its time.
    Attempt<Seconds> grow(const Load& load);
    /// Runs batches until two agree and returns these two; an empty list if the time `limit` runs
    /// out.
    Attempt<std::vector<Seconds>> ramp(const Load& load, std::uint32_t times, Seconds limit);

    Now now_;
    Seconds max_piece_;
    bool is_warm_ = false;
    Seconds ramp_left_ = kRamp;
    Seconds budget_left_ = kBudget;
    bool is_hurried_ = false;
    std::uint32_t size_ = 1;
};

/// One number for each quantity that is measured; null if the API or the device does not support
/// the measurement. Rates are in bytes or operations per second.
template <class T>
struct Figures {
    std::optional<T> memory_read = {};
    std::optional<T> memory_copy = {};  ///< bytes read and written
    std::optional<T> host_to_device = {};
    std::optional<T> device_to_host = {};
    std::optional<T> fp32 = {};
    std::optional<T> fp16 = {};
    std::optional<T> int8 = {};
    std::optional<double> launch_usec = {};  ///< time of a tiny kernel, from submission to end
};
template <class Visitor, class T>
void describe(Visitor& visit, Figures<T>& figures) {
    visit("memory_read", figures.memory_read);
    visit("memory_copy", figures.memory_copy);
    visit("host_to_device", figures.host_to_device);
    visit("device_to_host", figures.device_to_host);
    visit("fp32", figures.fp32);
    visit("fp16", figures.fp16);
    visit("int8", figures.int8);
    visit("launch_usec", figures.launch_usec);
}

/// The member `measured` of the device facts.
struct Measured {
    Figures<std::uint64_t> rates = {};
    Figures<double> spreads = {};       ///< (largest - smallest) / median of five
    std::optional<Bytes> context = {};  ///< device memory used by the context
    Duration duration = {};             ///< time of the measurement, without the driver's start
    std::optional<std::string> note = {};
};
Value value_of(const Measured& measured);

/// Measures everything that the device supports. `phase` is called with the name of each step
/// before it starts. Refusals: any from the device and the sampler; `miscomputed` if a kernel gives
/// wrong results, because its rate would be meaningless.
Attempt<Measured> measured(ComputeDevice& device,
                           const std::function<void(std::string_view)>& phase);

/// The size of each of the two buffers: at most an eighth of the free memory, so that both together
/// use a quarter.
Bytes buffer_size(const ComputeLimits& limits);

}  // namespace gpuprobe::backends
