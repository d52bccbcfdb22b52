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

/// Something whose rate is wanted.
struct Load {
    /// Does a piece of that size so often, and waits for all of it.
    std::function<Attempt<Done>(std::uint32_t size, std::uint32_t times)> run = {};
    std::uint32_t max_size = 1;  ///< a power of two
    double units = 1;            ///< bytes, or operations, in a piece of size 1
    Seconds piece{0.002};        ///< grown to at least this long
};

/// Units a second: the median of five batches, and how far they lie apart.
struct Rate {
    double median = 0;
    double spread = 0;  ///< (largest - smallest) / median
};

/// Takes rates. A piece starts tiny and doubles, because what is unknown may be slow; batches run
/// until two agree, because clocks climb; then five are timed. After the first load, which has
/// waited for the clocks, the two that agree are two of the five.
class Sampler {
public:
    using Now = std::function<Seconds()>;
    /// `max_piece`: the longest that a piece may take; kMaxPiece keeps clear of watchdogs.
    explicit Sampler(Now now, Seconds max_piece = kMaxPiece)
        : now_{std::move(now)}, max_piece_{max_piece} {}

    /// Refusals: those of the load; `too-slow` when a piece takes too long.
    Attempt<Rate> rate_of(const Load& load);

    /// Whether kBudget ran out, and some load had fewer than five batches.
    [[nodiscard]] bool is_hurried() const { return is_hurried_; }
    /// The size that the last load was grown to.
    [[nodiscard]] std::uint32_t size() const { return size_; }

    /// Sources of the limits: clpeak, src/common/common.h (clocks of mobile GPUs take 220–440 ms to
    /// climb; Adreno's watchdog bites at 500 ms); our own on an H200: pieces of a millisecond are
    /// within 2 % of what they tend to.
    static constexpr Seconds kMaxPiece{0.1};
    static constexpr Seconds kBatch{0.005};
    static constexpr Seconds kRampBatch{0.01};
    static constexpr Seconds kRamp{0.5};        ///< of all loads together
    static constexpr Seconds kLaterRamp{0.05};  ///< of each after the first
    /// Of all loads together. After it each takes one batch: what is measured is too busy, or too
    /// slow, for more to be worth the wait.
    static constexpr Seconds kBudget{3};
    static constexpr double kSteady = 0.03;
    static constexpr std::size_t kBatches = 5;  ///< odd

private:
    Attempt<Seconds> time_of(const Load& load, std::uint32_t times);
    Attempt<Seconds> grow(const Load& load);
    /// Batches until two agree. Returns these; none where the time for it was up.
    Attempt<std::vector<Seconds>> ramp(const Load& load, std::uint32_t times, Seconds limit);

    Now now_;
    Seconds max_piece_;
    bool is_warm_ = false;
    Seconds ramp_left_ = kRamp;
    Seconds budget_left_ = kBudget;
    bool is_hurried_ = false;
    std::uint32_t size_ = 1;
};

/// One number for each thing that is measured; null is what the API or the device cannot do.
/// Rates are bytes or operations a second.
template <class T>
struct Figures {
    std::optional<T> memory_read = {};
    std::optional<T> memory_copy = {};  ///< bytes read and written
    std::optional<T> host_to_device = {};
    std::optional<T> device_to_host = {};
    std::optional<T> fp32 = {};
    std::optional<T> fp16 = {};
    std::optional<T> int8 = {};
    std::optional<double> launch_usec = {};  ///< a tiny kernel, from submission to its end
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

/// The member `measured` of a device's facts.
struct Measured {
    Figures<std::uint64_t> rates = {};
    Figures<double> spreads = {};       ///< (largest - smallest) / median of five
    std::optional<Bytes> context = {};  ///< what the context took of the device's memory
    Duration duration = {};             ///< of the measuring, without the driver's start
    std::optional<std::string> note = {};
};
Value value_of(const Measured& measured);

/// Measures all that the device can. Refusals: those of the device and the sampler;
/// `miscomputed` when a kernel gave wrong numbers: their rate would mean nothing. `phase` is told
/// what comes next.
Attempt<Measured> measured(ComputeDevice& device,
                           const std::function<void(std::string_view)>& phase);

/// How large each of the two buffers is: an eighth of what is free, so that both are a quarter.
Bytes buffer_size(const ComputeLimits& limits);

}  // namespace gpuprobe::backends
