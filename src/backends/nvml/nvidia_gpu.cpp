// SPDX-License-Identifier: Apache-2.0
#include "backends/nvml/nvidia_gpu.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "backends/nvml/nvml.h"
#include "base/record.h"
#include "base/text.h"
#include "report/api_device.h"

namespace gpuprobe::backends {
namespace {

constexpr std::string_view kPci = "pci:";
constexpr std::string_view kUuid = "uuid:";
constexpr std::string_view kDriver = "/proc/driver/nvidia/";
constexpr Bytes kMaxInformation = kib(16);

/// Whether the GPU with that minor number has MIG instances: its folder then has entries "gi0",
/// "gi1" ….
bool is_partitioned(const FileSystem& files, std::string_view minor) {
    const auto names =
        files.list(std::string{kDriver} + "capabilities/gpu" + std::string{minor} + "/mig");
    return names && std::ranges::any_of(
                        *names, [](const std::string& name) { return name.starts_with("gi"); });
}

/// Whether the text is the UUID of a MIG instance. Checked strictly, because the text comes from a
/// request and is put into the environment.
bool is_mig_uuid(std::string_view text) {
    constexpr std::string_view kMig = "MIG-";
    return text.starts_with(kMig) && uuid_digits(text.substr(kMig.size()));
}

}  // namespace

std::optional<std::string> uuid_of_wanted(const FileSystem& files, const ProbeTarget& target) {
    if (target.device && target.device->starts_with(kUuid) &&
        is_mig_uuid(target.device->substr(kUuid.size())))
        return target.device->substr(kUuid.size());
    if (!target.device || !target.device->starts_with(kPci))
        return std::nullopt;
    // The kernel driver has a folder for each GPU, named after its address.
    const auto address = target.device->substr(kPci.size());
    const auto path = std::string{kDriver} + "gpus/" + address + "/information";
    const auto text = files.read(path, kMaxInformation);
    const auto uuid = text ? value_of_line(*text, "GPU UUID") : std::nullopt;
    const auto minor = text ? value_of_line(*text, "Device Minor") : std::nullopt;
    // Until the GPU is initialized, the file has question marks for unknown digits.
    const bool is_known =
        uuid && uuid->starts_with("GPU-") && uuid->find('?') == std::string_view::npos;
    if (!is_known || !minor || is_partitioned(files, *minor))
        return std::nullopt;
    return std::string{*uuid};
}

void start_only_wanted(const ProbeTarget& target) {
    if (target.stage == "query")
        return;
    if (const auto uuid = uuid_of_wanted(RootedFiles{}, target))
        ::setenv("CUDA_VISIBLE_DEVICES", uuid->c_str(), 0);
}

Attempt<std::optional<Bytes>> nvidia_free_memory(const DeviceFacts& facts) {
    if (facts.vendor_id != "10de" || !facts.pci)
        return std::optional<Bytes>{};
    // An instance has less memory than the whole GPU at its address.
    const bool is_instance = facts.uuid && is_mig_uuid(*facts.uuid);
    const auto free = is_instance ? nvml_free_memory(*facts.uuid) : nvml_free_memory(*facts.pci);
    if (!free || *free >= kMinNvidiaFree)
        return free;
    return Refusal{.code = "out-of-memory",
                   .note = "too little device memory is free for a context",
                   .detail = Value{Value::Object{{"have", to_value(*free)},
                                                 {"need", to_value(kMinNvidiaFree)}}}};
}

}  // namespace gpuprobe::backends
