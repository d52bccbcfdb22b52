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

#include "base/builtin_document.h"
#include "base/dotted_version.h"
#include "base/result.h"
#include "policy/cuda_code.h"
#include "policy/gfx.h"

namespace gpuprobe::inline policy {

/// What is true of all manifests: data/rules, each row with its source there.
class Rules {
public:
    /// The tables that are compiled in. Errors: Malformed; a bug of ours.
    static Result<Rules> builtin();
    /// The tables that are in use; those compiled in where they are malformed.
    static const Rules& current();
    /// Errors: Malformed, with the table and member at fault; NotFound for a table that is missing.
    static Result<Rules> from(std::span<const BuiltinDocument> documents);

    /// Raised with every change of a table, comparable as a version.
    [[nodiscard]] const std::string& serial() const { return serial_; }
    /// The oldest Linux driver that runs what this CUDA toolkit made, given the compatibility of
    /// minor versions; nullopt for a toolkit that is not in the table.
    [[nodiscard]] std::optional<Version> cuda_floor(const Version& toolkit) const;
    /// The newest CUDA that a Linux driver runs by itself; nullopt below the first row.
    [[nodiscard]] std::optional<Version> cuda_of_driver(const Version& driver) const;
    /// The first driver branch that runs what this CUDA made for just in time compilation: the
    /// least whose CUDA is not older. nullopt for a CUDA that is newer than the table.
    [[nodiscard]] std::optional<std::uint32_t> branch_of_cuda(const Version& cuda) const;
    /// The first CUDA whose driver compiles PTX of this version; nullopt for a newer one than the
    /// table has.
    [[nodiscard]] std::optional<Version> cuda_of_ptx(const Version& isa) const;
    /// Whether a driver with that CUDA compiles PTX of this version. Unknown where the CUDA is
    /// newer than the table, and the PTX too.
    [[nodiscard]] Truth runs_ptx(const Version& cuda, const Version& isa) const;
    /// The least compute capability that a toolkit compiles for; nullopt for a toolkit that is not
    /// known, or zero.
    [[nodiscard]] std::optional<ComputeCapability> oldest_capability(const Version& toolkit) const;
    /// The branches of NVIDIA's driver that the table knows, ascending.
    [[nodiscard]] std::vector<std::uint32_t> driver_branches() const;
    /// The compute capabilities that there are.
    [[nodiscard]] const std::set<ComputeCapability>& capabilities() const { return capabilities_; }
    /// Whether devices of this capability are NVIDIA's systems on a chip.
    [[nodiscard]] bool is_tegra(const ComputeCapability& capability) const;
    /// The Intel IP whose code also runs on this one; nullopt when there is none.
    [[nodiscard]] std::optional<Version> intel_base(const Version& ip) const;
    /// The Intel IPs that code for this one runs on, itself among them.
    [[nodiscard]] std::vector<Version> intel_ips_of(const Version& ip) const;
    [[nodiscard]] const GfxFamilies& gfx_families() const { return gfx_families_; }
    /// The word for a processor feature as Linux spells it.
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
    std::vector<std::pair<std::uint32_t, Version>> floors_by_major_ = {};
    std::map<Version, Version> floors_by_toolkit_ = {};
    std::map<std::uint32_t, Version> cuda_by_branch_ = {};
    std::set<ComputeCapability> capabilities_ = {};
    std::set<ComputeCapability> tegra_ = {};
    /// The first and, if any, the last toolkit that compiles for a capability.
    std::map<ComputeCapability, VersionRange> toolkits_ = {};
    std::map<Version, Version> cuda_by_ptx_ = {};
    std::map<Version, Version> intel_base_ = {};
    GfxFamilies gfx_families_ = {};
    std::map<std::string, std::string, std::less<>> cpu_aliases_ = {};
};

}  // namespace gpuprobe::inline policy
