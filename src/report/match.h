// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/join.h"

/// Whether one record can be one subject, for join.cpp.
namespace gpuprobe::inline report {

template <class T>
bool differ(const std::optional<T>& left, const std::optional<T>& right) {
    return left && right && *left != *right;
}

/// What the API says, or else what its UUID holds.
std::optional<PciAddress> address_of(const ApiDevice& device);

/// The record is of another vendor than the hardware. Paravirtual GPUs answer with the ids of the
/// host's GPU, so nothing contradicts those.
bool contradicts(const ApiDevice& device, const HardwareDevice& hardware);

bool same_node(const DrmNodes& left, const DrmNodes& right);

bool is_claimed_by(const Subject& subject, const ProbeResult& probe);

/// Totals are similar or not comparable; APIs count an integrated GPU's memory in many ways.
bool memory_agrees(const ApiDevice& device, const Subject& subject);

/// Both tell a size, of a GPU with memory of its own, and they are similar.
bool has_size_of(const ApiDevice& device, const Subject& subject);

/// Nothing that is known speaks against the record being this subject: neither address, maker and
/// ids, nor architecture, nor the numbers in the models' names.
bool may_be(const ApiDevice& device, const Subject& subject);

}  // namespace gpuprobe::inline report
