// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/compute/device.h"
#include "backends/compute/sampler.h"
#include "base/record.h"

namespace gpuprobe::backends {

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
