// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/causes.h"
#include "report/report.h"

/// Known-bad pairs. A pair is a GPU and a kernel, firmware, runtime or driver with which a backend
/// is known to fail on this GPU. Pairs are causes with `backends` (policy/causes.h), so the doctor
/// also finds them. A pair applies only if all facts on which it depends are known.

namespace gpuprobe::inline policy {

/// The name of the GPU's chip in chips.json, which does not depend on the driver; "" if the name is
/// unknown.
std::string chip_name(const Gpu& gpu);

/// Adds the members `chip` and `alike`, which causes use, but which a GPU's record lacks. `alike`
/// is the number of GPUs in the machine, including this GPU, that have the same vendor, kind,
/// kernel driver and, if both are known, the same generation of gfx targets.
void add_derived_members(const Gpu& gpu, const Report& report, Value& value);

/// Finds the known-bad pairs of a machine. Borrows the report.
class KnownBad {
public:
    explicit KnownBad(const Report& report) : report_{report} {}
    KnownBad(const Report&& report) = delete;

    /// The pairs that affect a backend on a GPU, as `known-bad` reasons. The detail of
    /// the reason contains the id of the `cause`, the `backends`, the `fault` and the `text`.
    std::vector<Reason> on(const Gpu& gpu, std::string_view backend);

private:
    /// Whether all conditions about facts hold; if `with_paths` is true, also all conditions about
    /// members of the report.
    bool holds_on(const Cause& cause, const Gpu& gpu, bool with_paths);
    /// Converts the record of a GPU, and the report, but only for GPUs that a pair probably
    /// affects.
    const Value& value_of(const Gpu& gpu);
    const Value& roots();

    const Report& report_;
    Value roots_ = {};
    std::map<const Gpu*, Value> values_ = {};
};

/// Whether programs that use the backend crash or compute wrong results, because of a pair, or
/// because a test computation on this GPU crashed.
bool is_unsound(const std::vector<Reason>& reasons);

}  // namespace gpuprobe::inline policy
