// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hip.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "backends/driver_library.h"
#include "backends/hip/abi.h"
#include "backends/hip/compute.h"
#include "backends/hip/rocm_names.h"
#include "backends/texts.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

constexpr int kMaxDevices = 64;

std::optional<PciAddress> pci_of(const hip::Symbols& api, int index) {
    const auto text =
        written_text([&](char* buffer, int size) { return api.pci_bus_id(buffer, size, index); });
    return text ? parse_text(*text, std::type_identity<PciAddress>{}) : std::nullopt;
}

/// The UUID; nullopt if the runtime is too old to report it.
std::optional<std::string> uuid_of(const hip::Symbols& api, hip::Device device) {
    hip::Uuid uuid;
    if (!api.uuid || api.uuid(&uuid, device) != hip::kSuccess)
        return std::nullopt;
    return rocm_uuid(std::string_view{uuid.bytes, sizeof uuid.bytes});
}

/// The facts of a device. HIP reports fewer than HSA: the gfx target is only in device properties,
/// whose layout depends on the version.
DeviceFacts device_facts(const hip::Symbols& api, hip::Device device, int index) {
    DeviceFacts facts;
    facts.index = static_cast<std::uint32_t>(index);
    facts.name =
        written_text([&](char* buffer, int size) { return api.name(buffer, size, device); });
    facts.vendor_id = "1002";
    facts.pci = pci_of(api, index);
    facts.uuid = uuid_of(api, device);
    std::size_t total = 0;
    if (api.total_memory(&total, device) == hip::kSuccess && total > 0)
        facts.memory = FactMemory{.total = Bytes{total}};
    facts.extra["gfx_target"] = Value{};
    return facts;
}

/// The version that a function reports; nullopt if it fails.
std::optional<std::string> version_by(hip::HipResult (*query)(int*)) {
    int version = 0;
    return query(&version) == hip::kSuccess ? hip_version_text(version) : std::nullopt;
}

void send_hip_runtime(const hip::Symbols& api, const DynamicLibrary& library, Sink& sink) {
    Value runtime{Value::Object{{"route", Value{"hip"}}}};
    runtime["loader"] = runtime_of(library).at("loader");
    runtime["version"] = to_value(version_by(api.runtime_version));
    runtime["driver_version"] = to_value(version_by(api.driver_version));
    sink.runtime(runtime);
}

/// The answer for a failed call. Without a device, HIP is absent.
Answer refused(const hip::Symbols& api, const char* function, hip::HipResult code) {
    const auto words = hip::words_of(api, code);
    if (code == hip::kNoDevice)
        return without_devices(std::string{function} + ": " + words, {{"api", "hip"}});
    const auto* reason = code == hip::kInsufficientDriver ? "driver-mismatch" : "api-refused";
    return answer_of(refused_call(reason, function, words, code));
}

/// Visits the devices of a loaded HIP runtime.
Answer visit_runtime(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit) {
    const auto api = TRY(query_functions<hip::Symbols>(library));
    const auto refuse = [&](const char* function, hip::HipResult code) {
        return refused(api, function, code);
    };
    send_hip_runtime(api, library, sink);
    sink.phase("enumerate");
    int count = 0;
    (void)TRY(call(refuse, api.device_count, &count));
    if (count <= 0)
        return refused(api, api.device_count.name, hip::kNoDevice);
    sink.phase("query");
    for (int index = 0; index < std::min(count, kMaxDevices); ++index) {
        hip::Device device = 0;
        if (api.device_get(&device, index) != hip::kSuccess)
            continue;
        const auto facts = device_facts(api, device, index);
        if (!visit(facts, [&] { return open_hip(library, api, index); }))
            break;
    }
    return Answer{};
}

/// A library and the function that visits devices through it.
struct Candidate {
    const char* name;
    Answer (*visit)(const DynamicLibrary&, Sink&, const VisitDevice&);
};

/// The candidates, best first. The absolute path is for ROCm's own packages, which do not always
/// add their folder to the linker's search path.
constexpr std::array<Candidate, 5> kCandidates = {{
    {"libhsa-runtime64.so.1", visit_hsa},
    {"/opt/rocm/lib/libhsa-runtime64.so.1", visit_hsa},
    {"libamdhip64.so.7", visit_runtime},
    {"libamdhip64.so.6", visit_runtime},
    {"libamdhip64.so.5", visit_runtime},
}};

/// The number of candidates at the beginning that use HSA.
constexpr std::size_t kHsaCandidates = 2;

/// Visits devices through the first candidate that loads.
Answer ask_first(std::span<const Candidate> candidates, Sink& sink, const VisitDevice& visit) {
    sink.phase("dlopen");
    std::string problem;
    bool is_absent = true;
    for (const auto& candidate : candidates) {
        const auto library = DynamicLibrary::open(candidate.name);
        if (library)
            return candidate.visit(*library, sink, visit);
        // Report the first name, which people know, unless another library exists but does not
        // load: that explains more.
        const bool is_broken = library.error().code != ErrorCode::NotFound;
        if (problem.empty() || (is_absent && is_broken))
            problem = library.error().text;
        is_absent = is_absent && !is_broken;
    }
    return Answer{.outcome = is_absent ? Outcome::Absent : Outcome::Failed, .note = problem};
}

}  // namespace

Answer visit_rocm(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    return ask_first(kCandidates, sink, visit);
}

Answer visit_hip(const ProbeTarget&, Sink& sink, const VisitDevice& visit) {
    return ask_first(std::span{kCandidates}.subspan(kHsaCandidates), sink, visit);
}

}  // namespace gpuprobe::backends
