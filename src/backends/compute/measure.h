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

/// The work whose rate a Sampler measures.
struct Load {
    /// Runs a piece of work `times` times and waits until all runs are complete. `size` is the size
    /// of the piece.
    std::function<Attempt<Done>(std::uint32_t size, std::uint32_t times)> run = {};
    std::uint32_t max_size = 1;  ///< the largest size of a piece; must be a power of two
    double units = 1;            ///< bytes or operations in a piece of size 1
    Seconds piece{0.002};        ///< the duration to which pieces are enlarged
};

/// A rate in units per second: the median and the spread of five batches.
struct Rate {
    double median = 0;
    double spread = 0;  ///< the spread: (largest - smallest) / median
};

/// Measures rates. A piece of work is tiny at first and is doubled until it is long enough, because
/// an unknown device may be slow. Then batches of pieces run until two batches agree, because
/// clocks need time to rise. Then five batches are timed. When later loads are measured, the clocks
/// are already high, so the two batches that agree count as two of the five.
class Sampler {
public:
    using Now = std::function<Seconds()>;
    /// `max_piece` is the time limit of a piece. The default, kMaxPiece, is well below the time
    /// limits of watchdogs.
    explicit Sampler(Now now, Seconds max_piece = kMaxPiece)
        : now_{std::move(now)}, max_piece_{max_piece} {}

    /// Measures the rate of a load. Refusals: the refusals of the load; `too-slow` if a piece takes
    /// longer than `max_piece`.
    Attempt<Rate> rate_of(const Load& load);

    /// Whether some load ran in fewer than five batches because kBudget was used up.
    [[nodiscard]] bool is_hurried() const { return is_hurried_; }
    /// The size of the pieces of the last load.
    [[nodiscard]] std::uint32_t size() const { return size_; }

    /// Sources of the limits: clpeak, src/common/common.h (the clocks of mobile GPUs take 220–440
    /// ms to rise; Adreno's watchdog fires at 500 ms); measured on an H200: the rate of pieces of
    /// one millisecond is within 2 % of the rate of long pieces.
    static constexpr Seconds kMaxPiece{0.1};
    static constexpr Seconds kBatch{0.005};
    static constexpr Seconds kRampBatch{0.01};
    /// The longest time to wait for high clocks, for all loads together.
    static constexpr Seconds kRamp{0.5};
    /// The longest time to wait for high clocks, for each load after the first.
    static constexpr Seconds kLaterRamp{0.05};
    /// The time for all loads together. After kBudget, each load gets only one batch, because the
    /// device is so busy or so slow that more batches would take too long.
    static constexpr Seconds kBudget{3};
    static constexpr double kSteady = 0.03;     ///< the difference below which batches agree
    static constexpr std::size_t kBatches = 5;  ///< an odd number, so that one batch is the median

private:
    /// Runs one batch of `times` pieces and returns the time that the batch took.
    Attempt<Seconds> time_of(const Load& load, std::uint32_t times);
    /// Enlarges the piece until running it takes Load::piece. Returns the time of the enlarged
    /// piece.
    Attempt<Seconds> grow(const Load& load);
    /// Runs batches until two of them agree, and returns these two. Returns an empty list if no two
    /// batches agree within the time `limit`.
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
    std::optional<T> memory_copy = {};  ///< the rate of bytes read plus bytes written
    std::optional<T> host_to_device = {};
    std::optional<T> device_to_host = {};
    std::optional<T> fp32 = {};
    std::optional<T> fp16 = {};
    std::optional<T> int8 = {};
    std::optional<double> launch_usec = {};  ///< the time of a tiny kernel from submission to end
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
    Figures<double> spreads = {};  ///< for each rate, (largest - smallest) / median of five batches
    std::optional<Bytes> context = {};  ///< the device memory that the context uses
    Duration duration = {};             ///< the time of the measurement, without loading the driver
    std::optional<std::string> note = {};
};
Value value_of(const Measured& measured);

/// Measures everything that the device supports. `phase` is called with the name of each step
/// before it starts. Refusals: the refusals of the device and of the sampler; `miscomputed` if a
/// kernel gives wrong results, because its rate would be meaningless.
Attempt<Measured> measured(ComputeDevice& device,
                           const std::function<void(std::string_view)>& phase);

/// The size of each of the two buffers: at most an eighth of the free memory, so that both together
/// use a quarter.
Bytes buffer_size(const ComputeLimits& limits);

}  // namespace gpuprobe::backends
