// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"

namespace gpuprobe::inline report {

/// The machine as compute programs see it. Each partitioned GPU is replaced by its usable
/// partitions. Each partition has the form of a GPU, with the partition's id, memory, identity and
/// index in every API. All other GPUs are unchanged. Code that chooses, plans or exports uses this
/// view.
///
/// Borrows the report, and copies it only if a GPU is partitioned.
class ComputeView {
public:
    explicit ComputeView(const Report& report);
    [[nodiscard]] const Report& report() const { return divided_ ? *divided_ : *whole_; }
    [[nodiscard]] const Report& whole() const { return *whole_; }

private:
    const Report* whole_;
    std::optional<Report> divided_ = {};
};

/// The partition that this GPU represents in a ComputeView; null for a whole GPU.
const Partition* partition_of(const Gpu& gpu);

/// Whether the GPU represents a MIG instance. A process sees only one instance, so two instances
/// are never used together. Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
bool stands_alone(const Gpu& gpu);

/// Whether the API's driver lists the GPU only to a process that names the GPU, because another GPU
/// has MIG instances: `one-instance-listed`. A process names a GPU by its UUID in
/// CUDA_VISIBLE_DEVICES.
bool is_listed_when_named(const ApiView& view);
/// The name of a GPU in a trial, such as "pci:0000:00:06.0"; nullopt if the GPU's address is
/// unknown.
std::optional<std::string> key_by_address(const Gpu& gpu);

/// Whether the id is the id of the GPU or, if the GPU represents a partition, of the partitioned
/// GPU.
bool goes_by(const Gpu& gpu, std::string_view id);

/// For the id of a partition, returns the id of the partitioned GPU; returns any other id
/// unchanged.
std::string_view whole_id(std::string_view id);

/// Normalizes the case of an id, or the spelling of a PCI address, for comparison.
std::string plain_id(std::string_view word);
/// Converts an id to the spelling that a view's report uses. The word may be the id of a GPU, of a
/// partition, or of a GPU that was replaced by its partitions. Errors: UnknownDevice.
Result<std::string> known_id(const Report& report, std::string_view word);
/// The GPU or partition with that id; a partition has the form of a GPU. Borrows the view. Errors:
/// UnknownDevice.
Result<const Gpu*> known_gpu(const ComputeView& view, std::string_view word);
Result<const Gpu*> known_gpu(ComputeView&& view, std::string_view word) = delete;

}  // namespace gpuprobe::inline report
