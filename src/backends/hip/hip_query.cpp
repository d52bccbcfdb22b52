// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/hip_query.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/hip/hip_abi.h"
#include "backends/hip/hip_accelerator.h"
#include "backends/hip/rocm_names.h"
#include "base/parse.h"

namespace gpuprobe {
namespace {

using hip::Device;
using hip::kSuccess;
using hip::Symbols;

constexpr int kMaxDevices = 64;

std::optional<std::string> name_of_device(const Symbols& api, Device device) {
    std::array<char, 256> name = {};
    if (api.name(name.data(), static_cast<int>(name.size() - 1), device) != kSuccess)
        return std::nullopt;
    auto text = scrubbed(trimmed(name.data()));
    return text.empty() ? std::nullopt : std::optional{std::move(text)};
}

std::optional<PciAddress> pci_of(const Symbols& api, int index) {
    std::array<char, 32> text = {};
    if (api.pci_bus_id(text.data(), static_cast<int>(text.size() - 1), index) != kSuccess)
        return std::nullopt;
    return parse_text(std::string_view{text.data()}, std::type_identity<PciAddress>{});
}

std::optional<std::string> uuid_of(const Symbols& api, Device device) {
    hip::Uuid uuid;
    if (!api.uuid || api.uuid(&uuid, device) != kSuccess)
        return std::nullopt;
    return rocm_uuid(std::string_view{uuid.bytes, sizeof uuid.bytes});
}

DeviceFacts device_facts(const Symbols& api, Device device, int index) {
    DeviceFacts facts;
    facts.index = static_cast<std::uint32_t>(index);
    facts.name = name_of_device(api, device);
    facts.vendor_id = "1002";
    facts.pci = pci_of(api, index);
    facts.uuid = uuid_of(api, device);
    std::size_t total = 0;
    if (api.total_memory(&total, device) == kSuccess && total > 0)
        facts.memory = FactMemory{.total = Bytes{total}};
    facts.extra["gfx_target"] = Value{};
    return facts;
}

std::optional<std::string> version_by(hip::HipResult (*query)(int*)) {
    int version = 0;
    return query(&version) == kSuccess ? hip_version_text(version) : std::nullopt;
}

void send_runtime(const Symbols& api, const DynamicLibrary& library, Sink& sink) {
    Value runtime;
    runtime["route"] = "hip";
    runtime["loader"] = library.path().value_or(library.name());
    runtime["version"] = to_value(version_by(api.runtime_version));
    runtime["driver_version"] = to_value(version_by(api.driver_version));
    sink.runtime(runtime);
}

ReasonCode reason_for(hip::HipResult code) {
    if (code == hip::kInsufficientDriver)
        return "driver-mismatch";
    return "api-refused";
}

Answer refused(const Symbols& api, std::string_view call, hip::HipResult code) {
    const char* words = api.error_name(code);
    const auto note = std::string{call} + ": " + scrubbed(words ? words : "unknown code") + " (" +
                      std::to_string(code) + ")";
    if (code == hip::kNoDevice)
        return Answer{.outcome = Outcome::Absent,
                      .note = note,
                      .reasons = {because("no-device", {{"api", "hip"}})}};
    return Answer{.outcome = Outcome::Failed,
                  .note = note,
                  .reasons = {because(reason_for(code), {{"call", Value{call}}, {"code", code}})}};
}

}  // namespace

Answer visit_hip_runtime(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit) {
    const auto api = hip::load(library);
    if (!api)
        return Answer{.outcome = Outcome::Failed, .note = api.error().text};
    send_runtime(*api, library, sink);
    sink.phase("enumerate");
    int count = 0;
    if (const auto code = api->device_count(&count); code != kSuccess)
        return refused(*api, "hipGetDeviceCount", code);
    if (count <= 0)
        return refused(*api, "hipGetDeviceCount", hip::kNoDevice);
    sink.phase("query");
    for (int index = 0; index < std::min(count, kMaxDevices); ++index) {
        Device device = 0;
        if (api->device_get(&device, index) != kSuccess)
            continue;
        const auto facts = device_facts(*api, device, index);
        if (!visit(facts, [&] { return open_hip(library, *api, index); }))
            break;
    }
    return Answer{};
}

}  // namespace gpuprobe
