// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include "base/value.h"

namespace gpuprobe::inline report {

/// A carve-out is only a small part of the usable memory, so `physical` counts for other kinds
/// only.
std::optional<Bytes> offered_memory(const GpuMemory& memory) {
    const bool is_own = memory.physical && memory.kind != MemoryKind::Carveout;
    return is_own ? memory.physical : memory.allocatable;
}

Result<Report> parse_report(std::string_view json) {
    auto value = parse_json(json, kMaxReport);
    if (!value)
        return std::move(value).error().in("report");
    // Check the schema first, so that another version is reported as such and not as a malformed
    // member.
    if (value->at("schema").as_int() != kReportSchema)
        return Error{ErrorCode::Malformed, "report: schema: not " + std::to_string(kReportSchema)};
    auto report = record_from<Report>(*value);
    if (!report)
        return std::move(report).error().in("report");
    return report;
}

}  // namespace gpuprobe::inline report
