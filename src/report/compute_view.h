// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"

namespace gpuprobe::inline report {

/// The machine as programs that compute see it: each divided GPU gives way to the units of it that
/// can be used, each in the form of a GPU with the unit's id, memory, identity and place in every
/// API. All others are as they are. Whoever chooses, plans or exports looks at this.
///
/// Borrows the report, and copies it where a GPU is divided.
class ComputeView {
public:
    explicit ComputeView(const Report& report);
    [[nodiscard]] const Report& report() const { return divided_ ? *divided_ : *whole_; }
    [[nodiscard]] const Report& whole() const { return *whole_; }

private:
    const Report* whole_;
    std::optional<Report> divided_ = {};
};

/// The unit that stands here in the form of a GPU; null for a whole GPU.
const Unit* unit_of(const Gpu& gpu);

/// A process sees one MIG instance and nothing else, so that two are never used together.
/// Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
bool stands_alone(const Gpu& gpu);

/// Whether the API's driver lists the GPU only to a process that names it, because another one has
/// MIG instances: `one-instance-listed`. CUDA_VISIBLE_DEVICES with its UUID names it.
bool is_listed_when_named(const ApiView& view);
/// How a trial names such a GPU, "pci:0000:00:06.0"; nullopt where its address is not known.
std::optional<std::string> key_by_address(const Gpu& gpu);

/// Whether the id is the GPU's, or that of the GPU whose unit it is.
bool goes_by(const Gpu& gpu, std::string_view id);

/// Of a unit's id that of its GPU; of a GPU's the same.
std::string_view whole_id(std::string_view id);

/// An id in any case, or a PCI address in any of its spellings, as ids are compared.
std::string plain_id(std::string_view word);
/// The id in the spelling of a view's report: of a GPU, of a unit, or of a GPU that gave way to its
/// units. Errors: UnknownDevice.
Result<std::string> known_id(const Report& report, std::string_view word);
/// What goes by that id, a unit in the form of a GPU. Borrows the view. Errors: UnknownDevice.
Result<const Gpu*> known_gpu(const ComputeView& view, std::string_view word);
Result<const Gpu*> known_gpu(ComputeView&& view, std::string_view word) = delete;

}  // namespace gpuprobe::inline report
