// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/causes.h"
#include "report/report.h"

/// Known-bad pairs: a GPU with a kernel, firmware, runtime or driver with which a backend is known
/// to fail. They are causes with `backends` (policy/causes.h), so the doctor finds them too. A pair
/// applies only if everything that it depends on is known.

namespace gpuprobe::inline policy {

/// The chip's name in chips.json, under any driver; "" if it is unknown.
std::string chip_name(const Gpu& gpu);

/// The members of a GPU that causes use but that the GPU's record lacks: `chip`, and `alike`, the
/// number of GPUs of the machine, this one included, that have its vendor, kind, kernel driver and,
/// if both are known, generation of gfx targets.
void add_derived_members(const Gpu& gpu, const Report& report, Value& value);

/// The pairs of a machine. Borrows the report.
class KnownBad {
public:
    explicit KnownBad(const Report& report) : report_{report} {}
    KnownBad(const Report&& report) = delete;

    /// The pairs that a backend on a GPU is part of, each as the reason `known-bad`. Its detail has
    /// the id of the `cause`, the `backends`, the `fault` and the `text`.
    std::vector<Reason> on(const Gpu& gpu, std::string_view backend);

private:
    /// Whether all conditions hold that use facts or, if `with_paths`, members of the report.
    bool holds_on(const Cause& cause, const Gpu& gpu, bool with_paths);
    /// The GPU's record and the report, made only for GPUs that a pair is probably about.
    const Value& value_of(const Gpu& gpu);
    const Value& roots();

    const Report& report_;
    Value roots_ = {};
    const Gpu* gpu_ = nullptr;  ///< the GPU of value_
    Value value_ = {};
};

/// Whether programs that use the backend crash or compute wrong results, according to a pair or
/// because a test computation on this GPU crashed.
bool is_unsound(const std::vector<Reason>& reasons);

}  // namespace gpuprobe::inline policy
