// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/facts.h"
#include "report/machine.h"

namespace gpuprobe::inline report {

/// One device as one probe lists it, with what identifies it. Borrows from the probes.
struct ApiDevice {
    const ProbeResult* probe = nullptr;
    const DeviceFacts* facts = nullptr;
    std::optional<std::string> vendor = {};  ///< the word, also where only API or driver imply it
    /// As the API says; absent when it is all zero and no hardware sits there.
    std::optional<PciAddress> address = {};
    /// Packed into the UUID by AMD's and Intel's drivers; see report/uuid.h.
    std::optional<PciAddress> packed = {};
    /// Comparable with those of the same family only; absent when two devices of the probe share
    /// it.
    std::optional<std::string> uuid = {};
    std::optional<std::string> luid = {};  ///< 16 hexadecimal digits, not all zero
};

/// Every device of every query probe in an order that depends on their content alone.
std::vector<ApiDevice> listed_devices(const Machine& machine,
                                      const std::vector<const ProbeResult*>& probes);

/// The probes sorted by API, driver, stage and device; of several with the same four the newest
/// counts.
std::vector<const ProbeResult*> sorted_probes(const std::vector<ProbeResult>& probes);

/// Manifest file name, driver name and platform in lower case, separated by spaces: what a driver
/// is recognised by. Never the device's name.
std::string driver_words(const ApiDevice& device);

}  // namespace gpuprobe::inline report
