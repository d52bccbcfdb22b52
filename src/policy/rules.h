// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/version.h"
#include "knowledge/library.h"
#include "policy/cuda_code.h"
#include "policy/gfx.h"

namespace gpuprobe::inline policy {

/// Facts that apply to all manifests: the tables in data/rules, where each row names its source.
class Rules {
public:
    /// The compiled-in tables. Errors: Malformed, which is a bug.
    static Result<Rules> builtin();
    /// The tables in use; the compiled-in ones if those are malformed.
    static const Rules& current();
    /// Reads all tables. Errors: Malformed with the table and member at fault; NotFound for a
    /// missing table.
    static Result<Rules> from(std::span<const BuiltinDocument> documents);

    /// The tables' serial number, raised with every change; compares like a version.
    [[nodiscard]] const std::string& serial() const { return serial_; }
    /// The oldest Linux driver that runs code from this CUDA toolkit, including minor-version
    /// compatibility; nullopt if the toolkit isn't in the table.
    [[nodiscard]] std::optional<Version> cuda_floor(const Version& toolkit) const;
    /// The newest CUDA that a Linux driver supports by itself; nullopt below the first row.
    [[nodiscard]] std::optional<Version> cuda_of_driver(const Version& driver) const;
    /// The first driver branch that can JIT-compile code from this CUDA version: the lowest branch
    /// with the same CUDA version or a newer one. nullopt if the CUDA version is newer than the
    /// table.
    [[nodiscard]] std::optional<std::uint32_t> branch_of_cuda(const Version& cuda) const;
    /// The first CUDA whose driver compiles this PTX ISA version; nullopt if it is newer than the
    /// table.
    [[nodiscard]] std::optional<Version> cuda_of_ptx(const Version& isa) const;
    /// Whether a driver with this CUDA compiles this PTX ISA version. Unknown if both are newer
    /// than the table.
    [[nodiscard]] Truth runs_ptx(const Version& cuda, const Version& isa) const;
    /// The lowest compute capability that a toolkit compiles for; nullopt if the toolkit is unknown
    /// or zero.
    [[nodiscard]] std::optional<ComputeCapability> oldest_capability(const Version& toolkit) const;
    /// The NVIDIA driver branches in the table, ascending.
    [[nodiscard]] std::vector<std::uint32_t> driver_branches() const;
    /// All known compute capabilities.
    [[nodiscard]] const std::set<ComputeCapability>& capabilities() const { return capabilities_; }
    /// Whether devices with this capability are NVIDIA's systems on a chip.
    [[nodiscard]] bool is_tegra(const ComputeCapability& capability) const;
    /// The Intel IP whose code also runs on this one; nullopt if none exists.
    [[nodiscard]] std::optional<Version> intel_base(const Version& ip) const;
    /// The Intel IPs that run code for this one, including itself.
    [[nodiscard]] std::vector<Version> intel_ips_of(const Version& ip) const;
    /// The gfx families and their processors.
    [[nodiscard]] const GfxFamilies& gfx_families() const { return gfx_families_; }
    /// Linux's spelling of a processor feature.
    [[nodiscard]] std::string cpu_feature(std::string_view word) const;

private:
    Status read_cuda_driver(std::string_view json);
    Status read_cuda_sm(std::string_view json);
    Status read_ptx_isa(std::string_view json);
    Status read_intel_ip(std::string_view json);
    Status read_rocm_gfx(std::string_view json);
    Status read_cpu_levels(std::string_view json);
    Status read_index(std::string_view json);

    std::string serial_ = {};
    /// By CUDA major version: the minimum driver.
    std::vector<std::pair<std::uint32_t, Version>> floors_by_major_ = {};
    /// By exact toolkit: the minimum driver, which takes precedence over the major version's.
    std::map<Version, Version> floors_by_toolkit_ = {};
    /// By driver branch: the newest CUDA that it supports.
    std::map<std::uint32_t, Version> cuda_by_branch_ = {};
    std::set<ComputeCapability> capabilities_ = {};
    std::set<ComputeCapability> tegra_ = {};
    /// By capability: the first and (if any) the last toolkit that compiles for it.
    std::map<ComputeCapability, VersionRange> toolkits_ = {};
    /// By PTX ISA version: the first CUDA that compiles it.
    std::map<Version, Version> cuda_by_ptx_ = {};
    /// By Intel IP: the IP whose code it also runs.
    std::map<Version, Version> intel_base_ = {};
    GfxFamilies gfx_families_ = {};
    std::map<std::string, std::string, std::less<>> cpu_aliases_ = {};
};

}  // namespace gpuprobe::inline policy
