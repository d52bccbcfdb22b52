// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/record_type.h"
#include "report/api_table.h"
#include "report/facts.h"
#include "report/hardware.h"
#include "report/machine.h"
#include "report/outcome.h"
#include "report/partition.h"
#include "report/video.h"

/// The capability report: everything known about one machine's GPUs. The JSON Schema of the report
/// and the types for Python and TypeScript are generated from these records and their comments.

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

/// Kinds of GPU, in order of preference.
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
    /// Size of the largest BAR through which the CPU accesses the GPU's memory.
    std::optional<Bytes> bar = {};
    /// Number of PCIe lanes in use; null while the device sleeps.
    std::optional<std::uint32_t> link_width = {};
    std::optional<std::uint32_t> max_link_width = {};
    /// The IOMMU's mode for the device's memory accesses: in the modes "dma" and "dma-fq", the
    /// IOMMU translates addresses; in the mode "identity", it does not. Null if the kernel does not
    /// report the mode.
    std::optional<std::string> iommu = {};
    bool operator==(const PciInfo&) const = default;
};
RECORD_MEMBERS(PciInfo,
               address,
               vendor_id,
               device_id,
               subsystem_vendor_id,
               subsystem_device_id,
               ("class", pci_class),
               revision,
               numa_node,
               bar,
               link_width,
               max_link_width,
               iommu)
constexpr auto forms_of(std::type_identity<PciInfo>) {
    return std::to_array<MemberForm>({{.key = "vendor_id", .pattern = kFourHexDigits},
                                      {.key = "device_id", .pattern = kFourHexDigits},
                                      {.key = "subsystem_vendor_id", .pattern = kFourHexDigits},
                                      {.key = "subsystem_device_id", .pattern = kFourHexDigits},
                                      {.key = "class", .pattern = kFourHexDigits},
                                      {.key = "revision", .pattern = "^[0-9a-f]{2}$"}});
}

struct DriverInfo {
    std::optional<std::string> name = {};
    std::optional<std::string> version = {};
    std::optional<std::string> flavour = {};
    bool operator==(const DriverInfo&) const = default;
};
RECORD_MEMBERS(DriverInfo, name, version, flavour)

/// Three sizes in bytes, each null when unknown. The meaning of `physical` depends on the kind:
///
/// - dedicated: the memory on the board; free ≤ allocatable ≤ physical holds;
/// - carveout: the memory that the firmware set aside (amdgpu's mem_info_vram_total). A process can
///   use this memory and the GTT, so allocatable is larger; free ≤ allocatable holds;
/// - unified: null, because all memory belongs to the host; free ≤ allocatable holds.
///
/// If the kind is unknown, the sizes are ordered as for `dedicated`. If a GPU is divided into
/// partitions, allocatable is the memory of the largest partition, and free is the free memory of
/// all partitions together.
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
constexpr auto forms_of(std::type_identity<GpuMemory>) {
    return std::to_array<MemberForm>(
        {{.key = "physical", .is_positive = true}, {.key = "allocatable", .is_positive = true}});
}

struct Identity {
    std::optional<std::string> nvidia_uuid = {};
    /// The UUID that each API reports; only set for APIs whose row in the API table has a
    /// `uuid_member`.
    std::array<std::optional<std::string>, kApiCount> uuids = {};
    std::optional<std::string> hip_unique_id = {};
    /// 32 lower-case hexadecimal digits with dashes: NVIDIA's UUID or, on other GPUs, the UUID from
    /// the most trusted API.
    std::optional<std::string> canonical_uuid = {};
    DrmNodes drm = {};
    std::optional<std::string> luid = {};
    /// Node number in the KFD topology; the first partition's number if the GPU is partitioned.
    std::optional<std::uint32_t> kfd_node = {};
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
constexpr auto forms_of(std::type_identity<Identity>) {
    return std::to_array<MemberForm>(
        {{.key = "canonical_uuid", .pattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}});
}

struct Architecture {
    /// CUDA compute capability, such as "9.0".
    std::optional<std::string> cuda_compute_capability = {};
    std::optional<std::string> gfx_target = {};  ///< AMD gfx target, such as "gfx90a"
    std::optional<std::string> intel_ip = {};
    bool operator==(const Architecture&) const = default;
};
RECORD_MEMBERS(Architecture, cuda_compute_capability, gfx_target, intel_ip)
constexpr auto forms_of(std::type_identity<Architecture>) {
    return std::to_array<MemberForm>(
        {{.key = "cuda_compute_capability", .pattern = "^[0-9]+\\.[0-9]+$"},
         {.key = "gfx_target", .pattern = "^gfx[0-9a-f]+$"}});
}

struct Power {
    std::optional<std::string> runtime_status = {};
    /// Reasons why the clocks are reduced, as listed for the fact `slowdowns`. Empty if nothing
    /// slows the GPU down; null if gpuprobe did not read the reasons or the driver does not report
    /// them.
    std::optional<std::vector<std::string>> slowdowns = {};
    std::optional<WallTime> slowdowns_at = {};  ///< time at which `slowdowns` was read
    bool operator==(const Power&) const = default;
};
RECORD_MEMBERS(Power, runtime_status, slowdowns, ("slowdowns_at_usec", slowdowns_at))
constexpr auto forms_of(std::type_identity<Power>) {
    return std::to_array<MemberForm>({{.key = "slowdowns", .pattern = kNotEmpty}});
}

/// One API's view of one GPU.
struct ApiView {
    Outcome outcome = Outcome::Absent;
    std::optional<std::string> version = {};  ///< API version that the device supports
    std::optional<std::uint32_t> index = {};
    std::optional<std::string> driver = {};  ///< manifest path or driver name
    /// The key that matched the device: "pci", "drm", "uuid" or "weak".
    std::optional<std::string> joined_by = {};
    Value device = {};                 ///< the facts that the API reports; null without a device
    std::optional<Duration> age = {};  ///< age of the facts when the report was made
    std::vector<Reason> reasons = {};
    bool operator==(const ApiView&) const = default;
};
RECORD_MEMBERS(
    ApiView, outcome, version, index, driver, joined_by, device, ("age_usec", age), reasons)
constexpr auto forms_of(std::type_identity<ApiView>) {
    return std::to_array<MemberForm>({{.key = "device", .object = "DeviceFacts"}});
}

/// Whether a compute backend can run on one GPU, judged from facts only. Policy is left to
/// application profiles.
struct BackendView {
    /// Null if it is unknown whether the backend works, because the API was not probed or the probe
    /// did not finish normally.
    std::optional<bool> usable = {};
    bool verified = false;  ///< whether a test computation ran and its result was correct
    std::optional<double> score = {};  ///< score for ranking devices; a higher score is faster
    /// result of the test computation of the stage "verify" or "measure"; null if neither ran
    std::optional<Verification> verification = {};
    /// result of the stage "measure"; null if not requested
    std::optional<Measurement> measurement = {};
    std::vector<Reason> reasons = {};
    bool operator==(const BackendView&) const = default;
};
RECORD_MEMBERS(BackendView, usable, verified, score, verification, measurement, reasons)
constexpr auto forms_of(std::type_identity<BackendView>) {
    return std::to_array<MemberForm>({{.key = "score", .is_positive = true}});
}

/// How the role, kind and architecture of a GPU were determined.
struct GpuBasis {
    Basis role = Basis::Rule;  ///< how gpuprobe decided between GPU and display-only
    Basis kind = Basis::Rule;
    /// basis of the architecture; null if the architecture is unknown
    std::optional<Basis> architecture = {};
    bool operator==(const GpuBasis&) const = default;
};
RECORD_MEMBERS(GpuBasis, role, kind, architecture)

struct Gpu {
    std::string id = {};
    GpuKind kind = GpuKind::Unknown;
    /// How role, kind and architecture were determined; null if unknown.
    std::optional<GpuBasis> basis = {};
    std::optional<std::string> vendor = {};  ///< vendor, such as "nvidia", "amd" or "intel"
    std::optional<std::string> name = {};
    std::optional<std::string> title = {};  ///< short name for screens and menus
    std::optional<PciInfo> pci = {};
    DriverInfo driver = {};
    std::vector<DeviceNode> nodes = {};
    bool primary = false;  ///< whether the GPU drives the firmware's display, or is the only GPU
    GpuMemory memory = {};
    Identity identity = {};
    Architecture architecture = {};
    /// Directions in which the chip has no video engine, according to the chip table: "encode" for
    /// an H100. Empty if the chip has all engines, or if the table does not contain the chip.
    std::vector<VideoDirection> lacks_video = {};
    Power power = {};
    std::map<std::string, ApiView> apis = {};
    std::map<std::string, BackendView> backends = {};
    std::vector<Partition> partitions = {};
    std::string health = "ok";  ///< "ok", or the code of the most severe finding
    std::vector<Reason> findings = {};
    bool operator==(const Gpu&) const = default;
};
RECORD_MEMBERS(Gpu,
               id,
               kind,
               basis,
               vendor,
               name,
               title,
               pci,
               driver,
               nodes,
               primary,
               memory,
               identity,
               architecture,
               lacks_video,
               power,
               apis,
               backends,
               partitions,
               health,
               findings)
RECORD_DECLARE_CONVERSIONS(Gpu)
constexpr auto forms_of(std::type_identity<Gpu>) {
    return std::to_array<MemberForm>(
        {{.key = "id", .pattern = kNotEmpty}, {.key = "health", .pattern = kNotEmpty}});
}

/// A software implementation of an API, which never counts as a GPU.
struct SoftwareDevice {
    std::string api = {};
    std::optional<std::string> name = {};
    std::optional<std::string> driver = {};
    Value device = {};
    /// result of the test computation of the stage "verify" or "measure"; null if neither ran
    std::optional<Verification> verification = {};
    /// result of the stage "measure"; null if not requested
    std::optional<Measurement> measurement = {};
    std::optional<double> score = {};  ///< score for ranking devices; a higher score is faster
    bool operator==(const SoftwareDevice&) const = default;
};
RECORD_MEMBERS(SoftwareDevice, api, name, driver, device, verification, measurement, score)
constexpr auto forms_of(std::type_identity<SoftwareDevice>) {
    return std::to_array<MemberForm>(
        {{.key = "device", .object = "DeviceFacts"}, {.key = "score", .is_positive = true}});
}

/// Power readings of an accelerator. gpuprobe reads these values from the kernel when it makes the
/// report. A value is null if the driver does not provide it, and while the device sleeps, because
/// reading the value might wake the device.
struct AcceleratorPower {
    std::optional<std::string> runtime_status = {};
    std::optional<std::uint64_t> draw = {};  ///< power draw of the whole device, in microwatts
    /// Current power limit of the whole device, in microwatts.
    std::optional<std::uint64_t> limit = {};
    /// Temperature at the first sensor, in 1/1000 °C.
    std::optional<std::int64_t> temperature = {};
    bool operator==(const AcceleratorPower&) const = default;
};
RECORD_MEMBERS(AcceleratorPower,
               runtime_status,
               ("draw_microwatts", draw),
               ("limit_microwatts", limit),
               ("temperature_millicelsius", temperature))

/// An NPU or another accelerator that is not a GPU.
struct Accelerator {
    std::string id = {};
    /// The kind in the chip table: "npu", "tpu", "training", "inference", "vector", "video" or
    /// "fpga".
    std::optional<std::string> kind = {};
    std::optional<std::string> vendor = {};  ///< vendor name, as for GPUs
    std::optional<std::string> name = {};
    std::optional<PciInfo> pci = {};
    DriverInfo driver = {};
    std::optional<std::string> firmware = {};  ///< firmware version
    std::vector<DeviceNode> nodes = {};
    /// Total on-board memory; null if the driver does not report it.
    std::optional<Bytes> memory = {};
    AcceleratorPower power = {};
    /// The formats that a V4L2 codec decodes and encodes; null for other accelerators, and if no
    /// driver reported them.
    std::optional<std::vector<VideoEntry>> video = {};
    std::optional<std::string> health = {};  ///< "ok", or the code of the most severe finding
    std::vector<Reason> findings = {};
    bool operator==(const Accelerator&) const = default;
};
RECORD_MEMBERS(Accelerator,
               id,
               kind,
               vendor,
               name,
               pci,
               driver,
               firmware,
               nodes,
               memory,
               power,
               video,
               health,
               findings)

/// One driver of an API that is found through a manifest (Vulkan, OpenCL) or probed on each of its
/// nodes (VA-API, V4L2). `manifest` is the path of the manifest or node.
struct RuntimeDriver {
    std::string manifest = {};
    std::optional<std::string> library = {};
    Outcome outcome = Outcome::Absent;
    std::optional<std::string> note = {};
    /// The environment variable of gpuprobe's process that names the driver; null if loaders find
    /// the driver without a variable.
    std::optional<std::string> variable = {};
    bool operator==(const RuntimeDriver&) const = default;
};
RECORD_MEMBERS(RuntimeDriver, manifest, library, outcome, note, variable)

/// An API on this machine, independent of the API's devices.
struct RuntimeInfo {
    Outcome outcome = Outcome::Absent;
    std::optional<std::string> loader = {};  ///< soname or path of the loaded library
    /// OpenCL's loader: "ocl-icd" or "khronos"; null for loaders that do not report their vendor.
    std::optional<std::string> loader_name = {};
    std::optional<std::string> loader_version = {};  ///< the version of OpenCL's loader
    std::optional<std::string> version = {};
    /// Release of the software stack that the API belongs to, such as "7.2.1" for ROCm.
    std::optional<std::string> release = {};
    std::vector<RuntimeDriver> drivers = {};
    bool operator==(const RuntimeInfo&) const = default;
};
RECORD_MEMBERS(RuntimeInfo, outcome, loader, loader_name, loader_version, version, release, drivers)

/// How one probe ended, for diagnosis. The devices that the driver listed are in `gpus`, under
/// `apis`.
struct ProbeEntry {
    std::string api = {};
    std::string driver = {};
    std::string stage = {};
    /// The probed device, for the stages "verify" and "measure".
    std::optional<std::string> device = {};
    Outcome outcome = Outcome::Absent;
    std::optional<Duration> duration = {};
    std::optional<int> exit_code = {};
    std::optional<int> signal = {};
    std::optional<std::string> phase = {};  ///< the phase in which the probe failed
    std::optional<std::string> note = {};
    /// The last lines that the driver printed, if the driver gave no answer.
    std::optional<std::vector<std::string>> output = {};
    bool operator==(const ProbeEntry&) const = default;
};
RECORD_MEMBERS(ProbeEntry,
               api,
               driver,
               stage,
               device,
               outcome,
               ("duration_usec", duration),
               ("exit", exit_code),
               signal,
               phase,
               note,
               output)

struct Report {
    int schema = kReportSchema;
    std::uint64_t generation = 0;
    ReportState state = ReportState::Starting;
    std::optional<WallTime> created = {};
    ReportSource source = ReportSource::Live;
    Host host = {};
    std::vector<Gpu> gpus = {};  ///< the default GPU first, then the other GPUs, best first
    std::vector<SoftwareDevice> software = {};
    std::vector<Accelerator> accelerators = {};
    std::vector<DeviceNode> nodes = {};  ///< nodes that all devices of a driver share: /dev/kfd …
    std::map<std::string, RuntimeInfo> runtimes = {};
    std::vector<ProbeEntry> probes = {};
    /// Sandbox mechanisms that applied to every probed driver. Null if no driver was probed or no
    /// worker recorded its mechanisms.
    std::optional<std::vector<std::string>> confinement = {};
    /// Drivers that are in quarantine and therefore not probed.
    std::vector<QuarantinedProbe> quarantine = {};
    std::vector<Reason> notes = {};
    /// Facts that one request assumes (policy/assumptions.h). These facts aren't a part of the
    /// document.
    std::map<std::string, std::string> assumed = {};
    bool operator==(const Report&) const = default;
};
RECORD_MEMBERS(Report,
               schema,
               generation,
               state,
               ("created_usec", created),
               source,
               host,
               gpus,
               software,
               accelerators,
               nodes,
               runtimes,
               probes,
               confinement,
               quarantine,
               notes)
RECORD_DECLARE_CONVERSIONS(Report)

/// The GPU with that id, or null. The function does not search partitions.
const Gpu* find_gpu(const Report& report, std::string_view id);

/// The memory size that screens show and that ranking uses: the memory on the board, or the
/// allocatable memory if the GPU shares memory with the host (carveout, unified).
std::optional<Bytes> offered_memory(const GpuMemory& memory);

/// Parses a report from JSON. Errors: TooLarge or Malformed; a report with another `schema` is also
/// Malformed.
Result<Report> parse_report(std::string_view json);
constexpr Bytes kMaxReport = mib(8);

/// Whether `left` comes before `right` in a report, where the best GPU is first. GPUs with a usable
/// backend come first, then GPUs for which it is unknown whether a backend is usable, then all
/// others. Ties are broken by kind (discrete, integrated, virtual, unknown, display-only), then by
/// offered_memory() in whole GiB (larger first, unknown last), compute capability (higher first),
/// memory in bytes, and id. The order does not depend on anything else, so the same GPUs always
/// have the same order.
bool comes_before(const Gpu& left, const Gpu& right);

/// Marks the GPU that the firmware uses for display. If the firmware names no GPU, marks the only
/// GPU with a connected screen. If no GPU has a connected screen, marks the only GPU that is not
/// display-only.
void mark_primary(std::vector<Gpu>& gpus, const std::vector<const HardwareDevice*>& hardware);

}  // namespace gpuprobe::inline report
