// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/vulkan.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "backends/driver_library.h"
#include "backends/vulkan/api.h"
#include "base/files.h"
#include "base/record.h"
#include "base/value.h"
#include "probe/target.h"

namespace gpuprobe::backends {
namespace {

constexpr std::string_view kGlxLibrary = "libGLX_nvidia.so.0";
constexpr std::string_view kEglLibrary = "libEGL_nvidia.so.0";

Status write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const auto written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return Error{ErrorCode::Io, "writing a temporary manifest"};
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return Done{};
}

}  // namespace

std::optional<std::string> with_egl_library(std::string_view manifest) {
    // Change only ICD.library_path, and keep all other members.
    auto document = parse_json(manifest, kMaxDriverManifest);
    if (!document)
        return std::nullopt;
    Value* const icd = document->find("ICD");
    Value* const library = icd ? icd->find("library_path") : nullptr;
    const std::string* const path = library ? library->as_string() : nullptr;
    if (!path || !path->ends_with(kGlxLibrary))
        return std::nullopt;
    *library = Value{path->substr(0, path->size() - kGlxLibrary.size()) + std::string{kEglLibrary}};
    return json_line(*document);
}

Result<TemporaryManifest> TemporaryManifest::create(std::string_view content) {
    const char* const folder = std::getenv("TMPDIR");
    // The loader accepts only files whose names end in .json.
    constexpr std::string_view kEnding = ".json";
    std::string path = std::string{folder && *folder ? folder : "/tmp"} + "/gpuprobe-XXXXXX";
    path += kEnding;
    const UniqueFd file{::mkostemps(path.data(), static_cast<int>(kEnding.size()), O_CLOEXEC)};
    if (!file)
        return errno_error(path, errno);
    TemporaryManifest manifest{path};
    // If writing fails, the destructor deletes the file.
    (void)TRY(write_all(file.get(), content));
    return manifest;
}

TemporaryManifest::~TemporaryManifest() {
    if (!path_.empty())
        ::unlink(path_.c_str());
}

namespace {

constexpr const char* kLoader = "libvulkan.so.1";

/// The newest API version for which an instance is created. The headers support no later version.
constexpr std::uint32_t kMaxInstanceVersion = VK_API_VERSION_1_3;
constexpr const char* kPortability = "VK_KHR_portability_enumeration";
constexpr const char* kProperties2 = "VK_KHR_get_physical_device_properties2";

/// The instance of a probe, and how it was created.
struct Session {
    VkInstance instance = VK_NULL_HANDLE;
    std::uint32_t version = VK_API_VERSION_1_0;
    bool is_egl_fallback = false;
};

/// The instance extensions, sorted; empty if the query fails.
std::vector<std::string> offered_extensions(const LoaderSymbols& loader) {
    std::vector<VkExtensionProperties> list(kMaxExtensions);
    auto count = kMaxExtensions;
    const VkResult result = loader.instance_extensions(nullptr, &count, list.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return {};
    list.resize(std::min(count, kMaxExtensions));
    return extension_names(list);
}

std::uint32_t loader_version(const LoaderSymbols& loader) {
    std::uint32_t version = VK_API_VERSION_1_0;
    if (!loader.version || loader.version(&version) != VK_SUCCESS)
        return VK_API_VERSION_1_0;
    return version;
}

/// Creates an instance for a probe: without layers, without surface extensions (drivers would
/// connect to a display), and including portability drivers. The instance is never destroyed,
/// because some drivers crash during destruction, and the worker ends immediately afterwards.
VkResult create_instance(const LoaderSymbols& loader, std::uint32_t version, VkInstance& instance) {
    const auto offered = offered_extensions(loader);
    std::vector<const char*> wanted;
    for (const char* const name : {kPortability, kProperties2})
        if (std::binary_search(offered.begin(), offered.end(), std::string{name}))
            wanted.push_back(name);
    const bool has_portability = !wanted.empty() && wanted.front() == kPortability;

    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "gpuprobe";
    application.apiVersion = version;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    if (has_portability)
        info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    info.pApplicationInfo = &application;
    info.enabledExtensionCount = static_cast<std::uint32_t>(wanted.size());
    info.ppEnabledExtensionNames = wanted.data();
    return loader.create_instance(&info, nullptr, &instance);
}

/// The answer for a failed call. Drivers without hardware return an error instead of an empty list.
/// ANV and RADV return VK_ERROR_INITIALIZATION_FAILED, and the loader returns
/// VK_ERROR_INCOMPATIBLE_DRIVER for such drivers.
Answer refused(std::string_view function, VkResult result) {
    const auto name = result_name(result);
    auto refusal = refused_call("api-refused", function, name, result);
    if (result == VK_ERROR_INITIALIZATION_FAILED || result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return without_devices("the driver lists no device (" + name + ")",
                               std::move(*refusal.detail.as_object()));
    return answer_of(refusal);
}

/// Reports the facts about the loader.
void report_loader(const DynamicLibrary& library, const LoaderSymbols& loader, Sink& sink) {
    const auto version = loader_version(loader);
    Value facts{Value::Object{}};
    facts["loader"] = library.name();
    facts["loader_path"] = to_value(library.path());
    facts["version"] = api_version_text(version);
    facts["instance_version"] = api_version_text(std::min(version, kMaxInstanceVersion));
    sink.runtime(facts);
}

/// The manifest at `path`, changed to name the EGL library; nullopt unless the NVIDIA kernel driver
/// is loaded.
std::optional<std::string> egl_manifest(const FileSystem& files, const std::string& path) {
    // If the kernel driver isn't loaded, the EGL library would not find a device either.
    if (!files.exists("/proc/driver/nvidia"))
        return std::nullopt;
    const auto manifest = files.read(path, kMaxDriverManifest);
    return manifest ? with_egl_library(*manifest) : std::nullopt;
}

/// Tries again with the manifest that names NVIDIA's EGL library. The loader reads its list of
/// drivers in each vkCreateInstance, so the second call may use another manifest. If there is no
/// such manifest, or if the second call fails, returns the first result.
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

/// Creates the instance, with the EGL fallback if the driver finds no device.
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

/// Reports that the fallback was used, because applications also need the manifest that names the
/// EGL library.
void report_fallback(const ProbeTarget& target, Sink& sink, Answer& answer) {
    sink.runtime(Value{Value::Object{{"icd", Value{"egl-fallback"}}}});
    Value detail{Value::Object{}};
    detail["manifest"] = target.driver;
    detail["library"] = "libEGL_nvidia.so.0";
    answer.reasons.push_back({.code = "nvidia-icd-needs-egl", .detail = std::move(detail)});
}

Answer visit_devices(const InstanceSymbols& vulkan,
                     const Session& session,
                     Sink& sink,
                     const VisitDevice& visit) {
    sink.phase("enumerate");
    // Make one call with a large array. VK_INCOMPLETE means that there are more devices.
    std::vector<VkPhysicalDevice> devices(kMaxVulkanDevices);
    auto count = kMaxVulkanDevices;
    const VkResult result = vulkan.devices(session.instance, &count, devices.data());
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return refused(vulkan.devices.name, result);
    devices.resize(std::min(count, kMaxVulkanDevices));
    if (devices.empty())
        return without_devices("the driver lists no device");

    sink.phase("query");
    std::uint32_t index = 0;
    for (const VkPhysicalDevice device : devices) {
        auto facts = facts_of(ask_device(vulkan, device, index++, session.version));
        facts.extra["icd"] = session.is_egl_fallback ? Value{"egl-fallback"} : Value{};
        if (!visit(facts, [&] { return open_vulkan({vulkan, device}, facts); }))
            return {};
    }
    Answer answer;
    if (result == VK_INCOMPLETE)
        answer.note =
            "only the first " + std::to_string(kMaxVulkanDevices) + " devices are reported";
    return answer;
}

}  // namespace

Answer visit_vulkan_on(const FileSystem& files,
                       const ProbeTarget& target,
                       Sink& sink,
                       const VisitDevice& visit) {
    const auto library = TRY(open_library(kLoader, sink));
    const auto entry = TRY(query_functions<LoaderEntry>(library));
    // All functions are looked up with vkGetInstanceProcAddr, first without an instance.
    const auto functions_of = [get = entry.instance_function](VkInstance instance) {
        return [get, instance](const char* name) { return get(instance, name); };
    };
    const auto loader = TRY(query_functions<LoaderSymbols>(functions_of(VK_NULL_HANDLE)));
    report_loader(library, loader, sink);
    if (target.driver.empty())
        return {.outcome = Outcome::Absent, .note = "no ICD manifest"};

    sink.phase("instance");
    Session session;
    const VkResult result = open_session(files, loader, target, session);
    if (result != VK_SUCCESS)
        // A missing driver library explains the failure better than the loader's error.
        return without_library(target).value_or(refused(loader.create_instance.name, result));
    const auto vulkan = TRY(query_functions<InstanceSymbols>(functions_of(session.instance)));
    Answer answer = visit_devices(vulkan, session, sink, visit);
    if (session.is_egl_fallback)
        report_fallback(target, sink, answer);
    return answer;
}

Answer visit_vulkan(const ProbeTarget& target, Sink& sink, const VisitDevice& visit) {
    return visit_vulkan_on(RootedFiles{}, target, sink, visit);
}

}  // namespace gpuprobe::backends
