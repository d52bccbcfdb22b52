// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/vulkan.h"

#include <algorithm>
#include <cstdlib>

#include "backends/compute/device_choice.h"
#include "backends/driver_library.h"
#include "backends/vulkan/device_facts.h"
#include "backends/vulkan/device_query.h"
#include "backends/vulkan/instance.h"
#include "backends/vulkan/nvidia_egl.h"
#include "backends/vulkan/vulkan_accelerator.h"
#include "backends/vulkan/vulkan_names.h"
#include "base/record.h"

namespace gpuprobe {
namespace {

constexpr const char* kLoader = "libvulkan.so.1";

/// One probe's instance, and how it came about.
struct Session {
    VkInstance instance = VK_NULL_HANDLE;
    std::uint32_t version = VK_API_VERSION_1_0;
    bool is_egl_fallback = false;
};

Answer not_loaded(const Error& error) {
    const bool is_absent = error.code == ErrorCode::NotFound;
    return {.outcome = is_absent ? Outcome::Absent : Outcome::Failed, .note = error.text};
}

Answer no_device(std::string note) {
    return {.outcome = Outcome::Absent, .note = std::move(note), .reasons = {because("no-device")}};
}

/// Drivers without hardware answer with an error rather than an empty list: ANV and RADV with the
/// first, the loader on their behalf with the second.
Answer refused(std::string_view function, VkResult result) {
    const auto name = result_name(result);
    if (result == VK_ERROR_INITIALIZATION_FAILED || result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return no_device("driver offers no device (" + name + ")");
    return {.outcome = Outcome::Failed, .note = std::string{function} + ": " + name};
}

void tell_loader(const DynamicLibrary& library, const LoaderSymbols& loader, Sink& sink) {
    const auto version = loader_version(loader);
    Value facts{Value::Object{}};
    facts["loader"] = library.name();
    facts["loader_path"] = to_value(library.path());
    facts["version"] = api_version_text(version);
    facts["instance_version"] = api_version_text(std::min(version, kMaxInstanceVersion));
    sink.runtime(facts);
}

/// The loader reads its driver list anew in each vkCreateInstance, so that a second try may name
/// another manifest. The first result stands when there is nothing else to try.
VkResult retry_behind_egl(const FileSystem& files,
                          const LoaderSymbols& loader,
                          const ProbeTarget& target,
                          VkResult first,
                          Session& session) {
    const auto content = egl_manifest(files, target.driver);
    if (!content)
        return first;
    const auto manifest = TemporaryManifest::create(*content);
    if (!manifest)
        return first;
    ::setenv("VK_DRIVER_FILES", manifest->path().c_str(), 1);
    ::setenv("VK_ICD_FILENAMES", manifest->path().c_str(), 1);
    const VkResult second = create_instance(loader, session.version, session.instance);
    session.is_egl_fallback = second == VK_SUCCESS;
    return second == VK_SUCCESS ? second : first;
}

VkResult open_session(const FileSystem& files,
                      const LoaderSymbols& loader,
                      const ProbeTarget& target,
                      Session& session) {
    session.version = std::min(loader_version(loader), kMaxInstanceVersion);
    const VkResult result = create_instance(loader, session.version, session.instance);
    if (result != VK_ERROR_INCOMPATIBLE_DRIVER)
        return result;
    return retry_behind_egl(files, loader, target, result, session);
}

void tell_fallback(const ProbeTarget& target, Sink& sink, Answer& answer) {
    sink.runtime(Value{Value::Object{{"icd", Value{"egl-fallback"}}}});
    answer.reasons.push_back(because(
        "nvidia-icd-needs-egl", {{"manifest", target.driver}, {"library", "libEGL_nvidia.so.0"}}));
}

Answer visit_devices(const LoaderSymbols& loader,
                     const InstanceSymbols& vulkan,
                     const Session& session,
                     Sink& sink,
                     const VisitDevice& visit) {
    sink.phase("enumerate");
    std::vector<VkPhysicalDevice> devices(kMaxVulkanDevices);
    auto count = kMaxVulkanDevices;
    const VkResult result = vulkan.devices(session.instance, &count, devices.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return refused("vkEnumeratePhysicalDevices", result);
    devices.resize(std::min(count, kMaxVulkanDevices));
    if (devices.empty())
        return no_device("driver offers no device");

    sink.phase("query");
    std::uint32_t index = 0;
    for (const VkPhysicalDevice device : devices) {
        auto facts = facts_of(ask_device(vulkan, device, index++, session.version));
        facts.extra["icd"] = session.is_egl_fallback ? Value{"egl-fallback"} : Value{};
        const VulkanDevice opened{loader, vulkan, session.instance, device};
        if (!visit(facts, [&] { return open_vulkan(opened, facts); }))
            return {};
    }
    Answer answer;
    if (result == VK_INCOMPLETE)
        answer.note = "only the first " + std::to_string(kMaxVulkanDevices) + " devices are told";
    return answer;
}

Answer visit_vulkan_on(const FileSystem& files,
                       const ProbeTarget& target,
                       Sink& sink,
                       const VisitDevice& visit) {
    sink.phase("dlopen");
    const auto library = DynamicLibrary::open(kLoader);
    if (!library)
        return not_loaded(library.error());
    const auto loader = load_vulkan(*library);
    if (!loader)
        return {.outcome = Outcome::Failed, .note = loader.error().text};
    tell_loader(*library, *loader, sink);
    if (target.driver.empty())
        return {.outcome = Outcome::Absent, .note = "no ICD manifest"};

    sink.phase("instance");
    Session session;
    const VkResult result = open_session(files, *loader, target, session);
    if (result != VK_SUCCESS)
        return without_library(target).value_or(refused("vkCreateInstance", result));
    const auto vulkan = load_instance(*loader, session.instance);
    if (!vulkan)
        return {.outcome = Outcome::Failed, .note = vulkan.error().text};
    Answer answer = visit_devices(*loader, *vulkan, session, sink, visit);
    if (session.is_egl_fallback)
        tell_fallback(target, sink, answer);
    return answer;
}

Answer visit_vulkan(const ProbeTarget& target, Sink& sink, const VisitDevice& visit) {
    return visit_vulkan_on(RootedFiles{}, target, sink, visit);
}

}  // namespace

Answer query_vulkan(const ProbeTarget& target, Sink& sink) {
    return tell_devices(visit_vulkan, target, sink);
}

Answer query_vulkan_on(const FileSystem& files, const ProbeTarget& target, Sink& sink) {
    return visit_vulkan_on(files, target, sink, [&](const DeviceFacts& facts, const auto&) {
        sink.device(facts);
        return true;
    });
}

Answer verify_vulkan(const ProbeTarget& target, Sink& sink) {
    return run_stage(visit_vulkan, verify_device, target, sink);
}

Answer measure_vulkan(const ProbeTarget& target, Sink& sink) {
    return run_stage(visit_vulkan, measure_device, target, sink);
}

}  // namespace gpuprobe
