// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/facts.h"
#include "report/machine.h"

namespace gpuprobe::inline report {

/// One device as one probe lists it, with everything that identifies it. Borrows from the probes.
struct ApiDevice {
    const ProbeResult* probe = nullptr;
    const DeviceFacts* facts = nullptr;
    std::optional<std::string> vendor = {};  ///< vendor name, perhaps implied by the API or driver
    /// The address that the API reports; absent if it is all zero and no hardware is at that
    /// address.
    std::optional<PciAddress> address = {};
    /// The address that AMD's and Intel's drivers encode in the UUID; see report/uuid.h.
    std::optional<PciAddress> packed = {};
    /// Only comparable within its driver family; absent if two devices of the probe share it.
    std::optional<std::string> uuid = {};
    std::optional<std::string> luid = {};  ///< 16 hexadecimal digits, not all zero
};

/// Every device of every "query" probe, in an order that depends only on their content.
std::vector<ApiDevice> listed_devices(const Machine& machine,
                                      const std::vector<const ProbeResult*>& probes);

/// The probes sorted by API, driver, stage and device. If several probes have the same four, only
/// the newest is kept.
std::vector<const ProbeResult*> sorted_probes(const std::vector<ProbeResult>& probes);

/// The words by which a driver is recognized: manifest file name, driver name and platform in lower
/// case, separated by spaces. The device's name is never included.
std::string driver_words(const ApiDevice& device);

}  // namespace gpuprobe::inline report
