// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "report/api_table.h"
#include "report/facts.h"
#include "report/machine.h"
#include "report/outcome.h"
#include "report/quarantined.h"
#include "report/role.h"
#include "report/unit.h"

/// The capability report: one machine, one answer. data/schema/report.schema.json is normative.
namespace gpuprobe::inline report {

constexpr int kReportSchema = 1;

enum class ReportState { Starting, Ready, Probing, Degraded };
constexpr std::array<EnumName<ReportState>, 4> names_of(ReportState) {
    return {{{ReportState::Starting, "starting"},
             {ReportState::Ready, "ready"},
             {ReportState::Probing, "probing"},
             {ReportState::Degraded, "degraded"}}};
}

enum class ReportSource { Live, Cache, Replay };
constexpr std::array<EnumName<ReportSource>, 3> names_of(ReportSource) {
    return {{{ReportSource::Live, "live"},
             {ReportSource::Cache, "cache"},
             {ReportSource::Replay, "replay"}}};
}

/// In order of preference.
enum class GpuKind { Discrete, Integrated, Virtual, Unknown, DisplayOnly };
constexpr std::array<EnumName<GpuKind>, 5> names_of(GpuKind) {
    return {{{GpuKind::Discrete, "discrete"},
             {GpuKind::Integrated, "integrated"},
             {GpuKind::Virtual, "virtual"},
             {GpuKind::Unknown, "unknown"},
             {GpuKind::DisplayOnly, "display-only"}}};
}

enum class MemoryKind { Dedicated, Carveout, Unified };
constexpr std::array<EnumName<MemoryKind>, 3> names_of(MemoryKind) {
    return {{{MemoryKind::Dedicated, "dedicated"},
             {MemoryKind::Carveout, "carveout"},
             {MemoryKind::Unified, "unified"}}};
}

struct PciInfo {
    std::optional<PciAddress> address = {};
    std::optional<std::string> vendor_id = {};
    std::optional<std::string> device_id = {};
    std::optional<std::string> subsystem_vendor_id = {};
    std::optional<std::string> subsystem_device_id = {};
    std::optional<std::string> pci_class = {};
    std::optional<std::string> revision = {};
    std::optional<int> numa_node = {};
    std::optional<Bytes> bar = {};  ///< the largest window through which the CPU sees its memory
    std::optional<std::uint32_t> link_width = {};  ///< PCIe lanes in use; null while it sleeps
    std::optional<std::uint32_t> max_link_width = {};
    /// What the IOMMU does with its accesses to memory: "dma" and "dma-fq" translate them,
    /// "identity" does not; null where the kernel does not say.
    std::optional<std::string> iommu = {};
    bool operator==(const PciInfo&) const = default;
};
RECORD_MEMBERS(PciInfo, address, vendor_id, device_id, subsystem_vendor_id, subsystem_device_id,
               ("class", pci_class), revision, numa_node, bar, link_width, max_link_width, iommu)

struct DriverInfo {
    std::optional<std::string> name = {};
    std::optional<std::string> version = {};
    std::optional<std::string> flavour = {};
    bool operator==(const DriverInfo&) const = default;
};
RECORD_MEMBERS(DriverInfo, name, version, flavour)

/// Three sizes in bytes, each null when unknown. What `physical` is depends on the kind:
///
/// - dedicated: the memory on the board; free ≤ allocatable ≤ physical holds;
/// - carveout: what the firmware set aside (amdgpu's mem_info_vram_total). A process may have that
///   and the GTT, so that allocatable is more; free ≤ allocatable holds;
/// - unified: null, as all memory is the host's; free ≤ allocatable holds.
///
/// Without a kind the order of `dedicated` holds.
struct GpuMemory {
    std::optional<MemoryKind> kind = {};
    std::optional<Bytes> physical = {};
    std::optional<Bytes> allocatable = {};
    std::optional<Bytes> free = {};
    std::optional<WallTime> free_at = {};
    std::vector<MemoryReading> evidence = {};
    bool operator==(const GpuMemory&) const = default;
};
RECORD_MEMBERS(GpuMemory, kind, physical, allocatable, free, ("free_at_usec", free_at), evidence)

struct Identity {
    std::optional<std::string> nvidia_uuid = {};
    /// Of the APIs whose rows name a member for it; the others' stay empty.
    std::array<std::optional<std::string>, kApiCount> uuids = {};
    std::optional<std::string> hip_unique_id = {};
    /// 32 lower-case hexadecimal digits with dashes: NVIDIA's, else the most believed API's.
    std::optional<std::string> canonical_uuid = {};
    DrmNodes drm = {};
    std::optional<std::string> luid = {};
    std::optional<std::uint32_t> kfd_node = {};  ///< of a divided GPU the first
    bool operator==(const Identity&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Identity& identity) {
    visit("nvidia_uuid", identity.nvidia_uuid);
    for (const auto* api : by_trust(&ApiTrust::uuid))
        visit(api->uuid_member, identity.uuids[place_of(api->id)]);
    visit("hip_unique_id", identity.hip_unique_id);
    visit("canonical_uuid", identity.canonical_uuid);
    visit("drm", identity.drm);
    visit("luid", identity.luid);
    visit("kfd_node", identity.kfd_node);
}

struct Architecture {
    std::optional<std::string> cuda_compute_capability = {};  ///< "9.0"
    std::optional<std::string> gfx_target = {};               ///< "gfx90a"
    std::optional<std::string> intel_ip = {};
    bool operator==(const Architecture&) const = default;
};
RECORD_MEMBERS(Architecture, cuda_compute_capability, gfx_target, intel_ip)

struct Power {
    std::optional<std::string> runtime_status = {};
    /// Why its clocks are lower than they could be, in the words of the fact `slowdowns`; empty
    /// where nothing slows it down, null where nobody asked or its driver does not tell.
    std::optional<std::vector<std::string>> slowdowns = {};
    std::optional<WallTime> slowdowns_at = {};  ///< when that was so
    bool operator==(const Power&) const = default;
};
RECORD_MEMBERS(Power, runtime_status, slowdowns, ("slowdowns_at_usec", slowdowns_at))

/// One API's view of one GPU.
struct ApiView {
    Outcome outcome = Outcome::Absent;
    std::optional<std::string> version = {};  ///< API version of the device
    std::optional<std::uint32_t> index = {};
    std::optional<std::string> driver = {};     ///< manifest path or driver name
    std::optional<std::string> joined_by = {};  ///< "pci", "drm", "uuid" or "weak"
    Value device = {};  ///< all facts, as value_of(DeviceFacts); null without a device
    std::optional<Duration> age = {};  ///< of the facts, when the report was made
    std::vector<Reason> reasons = {};
    bool operator==(const ApiView&) const = default;
};
RECORD_MEMBERS(ApiView, outcome, version, index, driver, joined_by, device, ("age_usec", age),
               reasons)

/// Whether a compute backend can run on one GPU, from facts alone. Policy is a profile's.
struct BackendView {
    std::optional<bool> usable =
        {};                 ///< null: not known (not probed, or the probe did not end well)
    bool verified = false;  ///< a dispatch was checked, and right
    std::optional<double> score = {};               ///< score_of(measurement)
    std::optional<Verification> verification = {};  ///< null: nobody asked for it
    std::optional<Measurement> measurement = {};    ///< likewise
    std::vector<Reason> reasons = {};
    bool operator==(const BackendView&) const = default;
};
RECORD_MEMBERS(BackendView, usable, verified, score, verification, measurement, reasons)

/// What some facts of a GPU rest on.
struct GpuBasis {
    Basis role = Basis::Rule;  ///< that it is a GPU, or a display
    Basis kind = Basis::Rule;
    std::optional<Basis> architecture = {};  ///< null where it is not known
    bool operator==(const GpuBasis&) const = default;
};
RECORD_MEMBERS(GpuBasis, role, kind, architecture)

struct Gpu {
    std::string id = {};
    GpuKind kind = GpuKind::Unknown;
    std::optional<GpuBasis> basis = {};      ///< null in reports of programs before this
    std::optional<std::string> vendor = {};  ///< "nvidia", "amd", "intel" …, see report/vendor.h
    std::optional<std::string> name = {};
    std::optional<std::string> title = {};  ///< title_of(); the fact `title`
    std::optional<PciInfo> pci = {};
    DriverInfo driver = {};
    std::vector<DeviceNode> nodes = {};
    bool primary = false;  ///< the firmware's display, or the only GPU
    GpuMemory memory = {};
    Identity identity = {};
    Architecture architecture = {};
    Power power = {};
    std::map<std::string, ApiView> apis = {};
    std::map<std::string, BackendView> backends = {};
    std::vector<Unit> partitions = {};
    std::string health = "ok";  ///< "ok", or the code of the gravest finding
    std::vector<Reason> findings = {};
    bool operator==(const Gpu&) const = default;
};
RECORD_MEMBERS(Gpu, id, kind, basis, vendor, name, title, pci, driver, nodes, primary, memory,
               identity, architecture, power, apis, backends, partitions, health, findings)

/// A software implementation of an API: listed so that nobody wonders, never a GPU.
struct SoftwareDevice {
    std::string api = {};
    std::optional<std::string> name = {};
    std::optional<std::string> driver = {};
    Value device = {};
    std::optional<Verification> verification = {};  ///< null: nobody asked for it
    std::optional<Measurement> measurement = {};    ///< likewise
    std::optional<double> score = {};               ///< score_of(measurement)
    bool operator==(const SoftwareDevice&) const = default;
};
RECORD_MEMBERS(SoftwareDevice, api, name, driver, device, verification, measurement, score)

/// What the kernel tells of an accelerator's power when the report is made, and of nothing else:
/// null where its driver does not, and while the device sleeps, as asking might wake it.
struct AcceleratorPower {
    std::optional<std::string> runtime_status = {};
    std::optional<std::uint64_t> draw = {};        ///< of the whole device, in microwatts
    std::optional<std::uint64_t> limit = {};       ///< likewise; as it is set now
    std::optional<std::int64_t> temperature = {};  ///< of its first sensor, in 1/1000 °C
    bool operator==(const AcceleratorPower&) const = default;
};
RECORD_MEMBERS(AcceleratorPower, runtime_status, ("draw_microwatts", draw),
               ("limit_microwatts", limit), ("temperature_millicelsius", temperature))

/// An NPU or other accelerator that is no GPU.
struct Accelerator {
    std::string id = {};
    /// "npu", "tpu", "training", "inference", "vector", "video" or "fpga", by the table of chips.
    std::optional<std::string> kind = {};
    std::optional<std::string> vendor = {};  ///< as a GPU's
    std::optional<std::string> name = {};
    std::optional<PciInfo> pci = {};
    DriverInfo driver = {};
    std::optional<std::string> firmware = {};  ///< its version
    std::vector<DeviceNode> nodes = {};
    std::optional<Bytes> memory = {};  ///< its own, in all; null where its driver does not tell
    AcceleratorPower power = {};
    std::optional<std::string> health = {};  ///< "ok", or the code of the gravest finding
    std::vector<Reason> findings = {};
    bool operator==(const Accelerator&) const = default;
};
RECORD_MEMBERS(Accelerator, id, kind, vendor, name, pci, driver, firmware, nodes, memory, power,
               health, findings)

struct RuntimeDriver {
    std::string manifest = {};
    std::optional<std::string> library = {};
    Outcome outcome = Outcome::Absent;
    std::optional<std::string> note = {};
    bool operator==(const RuntimeDriver&) const = default;
};
RECORD_MEMBERS(RuntimeDriver, manifest, library, outcome, note)

/// One API on this machine, whatever devices it has.
struct RuntimeInfo {
    Outcome outcome = Outcome::Absent;
    std::optional<std::string> loader = {};  ///< soname or path of what was loaded
    std::optional<std::string> version = {};
    std::optional<std::string> release = {};  ///< of the product it belongs to: ROCm's "7.2.1"
    std::vector<RuntimeDriver> drivers = {};
    bool operator==(const RuntimeInfo&) const = default;
};
RECORD_MEMBERS(RuntimeInfo, outcome, loader, version, release, drivers)

struct ProbeEntry {
    std::string api = {};
    std::string driver = {};
    std::string stage = {};
    std::optional<std::string> device = {};  ///< of "verify" and "measure": which
    Outcome outcome = Outcome::Absent;
    std::optional<Duration> duration = {};
    std::optional<int> exit_code = {};
    std::optional<int> signal = {};
    std::optional<std::string> phase = {};  ///< in which it did not end well
    std::optional<std::string> note = {};
    /// The last lines that the driver printed, where it gave no answer.
    std::optional<std::vector<std::string>> output = {};
    bool operator==(const ProbeEntry&) const = default;
};
RECORD_MEMBERS(ProbeEntry, api, driver, stage, device, outcome, ("duration_usec", duration),
               ("exit", exit_code), signal, phase, note, output)

struct Report {
    int schema = kReportSchema;
    std::uint64_t generation = 0;
    ReportState state = ReportState::Starting;
    std::optional<WallTime> created = {};
    ReportSource source = ReportSource::Live;
    Host host = {};
    std::vector<Gpu> gpus = {};  ///< the default one first, then best first
    std::vector<SoftwareDevice> software = {};
    std::vector<Accelerator> accelerators = {};
    std::vector<DeviceNode> nodes = {};  ///< of a driver and not of one device: /dev/kfd …
    std::map<std::string, RuntimeInfo> runtimes = {};
    std::vector<ProbeEntry> probes = {};
    /// What held every driver that was asked (docs/sandbox.md); nullopt where none was, or nobody
    /// wrote it down.
    std::optional<std::vector<std::string>> confinement = {};
    std::vector<QuarantinedProbe> quarantine = {};  ///< sorted by API and driver
    std::vector<Reason> notes = {};
    bool operator==(const Report&) const = default;
};
RECORD_MEMBERS(Report, schema, generation, state, ("created_usec", created), source, host, gpus,
               software, accelerators, nodes, runtimes, probes, confinement, quarantine, notes)

/// The one size to show a person and to rank by: the board's memory, and where memory is shared
/// with the host (carveout, unified) what can be allocated.
std::optional<Bytes> offered_memory(const GpuMemory& memory);

/// A report from its JSON. Errors: TooLarge, Malformed; another `schema` is Malformed too.
Result<Report> parse_report(std::string_view json);
constexpr Bytes kMaxReport = mib(8);

}  // namespace gpuprobe::inline report
