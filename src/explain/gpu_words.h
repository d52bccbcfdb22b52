// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/screen.h"
#include "explain/table.h"
#include "report/report.h"

/// Short texts about one GPU, as tables and headlines use them.
namespace gpuprobe::inline explain {

/// Its name, or its vendor and PCI ids, or its id.
std::string gpu_title(const Gpu& gpu);
/// "NVIDIA H200 (pci:0000:00:06.0)"; the id alone where `report` is null or lacks it. Scrubbed.
std::string named_gpu_title(const std::string& id, const Report* report);
/// Several of them, with commas; nullopt of none.
std::optional<std::string> named_gpu_titles(const std::vector<std::string>& ids,
                                            const Report* report);
/// "NVIDIA" for "nvidia"; the word itself for a vendor without a usual spelling.
std::string vendor_title(std::string_view vendor);
/// "nvidia 580.159.04 (open)"; a dash when no driver is bound.
std::string driver_title(const DriverInfo& driver, const Screen& screen);
/// A size, or a dash when it is unknown.
std::string size_or_dash(const std::optional<Bytes>& size, const Screen& screen);
/// The kind of a GPU, with "!" when its health is not "ok".
std::string kind_title(const Gpu& gpu);

/// Backends in our order: those that work, and with "?" those that nobody has tried.
Cell backends_cell(const Gpu& gpu, const Screen& screen);
/// Names of the backends that work on the GPU, in our order.
std::vector<std::string> usable_backends(const Gpu& gpu);
/// Every backend that is ours or that the GPU has, in our order, then by name.
std::vector<std::string> backend_names(const Report& report);

}  // namespace gpuprobe::inline explain
