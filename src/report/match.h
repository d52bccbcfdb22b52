// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/join.h"

/// Whether one API record can be one physical device (Subject), for join.cpp.
namespace gpuprobe::inline report {

/// Whether both values are known and not equal.
template <class T>
bool differ(const std::optional<T>& left, const std::optional<T>& right) {
    return left && right && *left != *right;
}

/// The address that the API reports, else the one encoded in its UUID.
std::optional<PciAddress> address_of(const ApiDevice& device);

/// Whether the record is for another vendor than the hardware. Always false for paravirtual GPUs,
/// because they report the host GPU's ids.
bool contradicts(const ApiDevice& device, const HardwareDevice& hardware);

/// Whether both have the same render node, or the same primary node.
bool same_node(const DrmNodes& left, const DrmNodes& right);

/// Whether the probe already has a record for the subject.
bool is_claimed_by(const Subject& subject, const ProbeResult& probe);

/// Whether the total sizes are similar or cannot be compared. Always true for integrated GPUs,
/// because APIs count their memory in many ways.
bool memory_agrees(const ApiDevice& device, const Subject& subject);

/// Whether both have a similar total size and the GPU has dedicated memory.
bool has_size_of(const ApiDevice& device, const Subject& subject);

/// Whether the record may be this subject. False only if the address, vendor, ids, architecture or
/// the numbers in the model names contradict.
bool may_be(const ApiDevice& device, const Subject& subject);

}  // namespace gpuprobe::inline report
