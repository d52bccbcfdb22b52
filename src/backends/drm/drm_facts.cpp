// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/drm_facts.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/drm/drm_abi.h"
#include "backends/texts.h"
#include "base/files.h"

namespace gpuprobe::backends {
namespace {

struct Driver {
    std::string_view name;
    void (*add_facts)(const DrmDevice&, DeviceFacts&);
};
/// Those that can be asked for more than their version.
constexpr std::array kDrivers = std::to_array<Driver>({
    {"amdgpu", add_amdgpu_facts},
    {"i915", add_i915_facts},
    {"nouveau", add_nouveau_facts},
    {"radeon", add_radeon_facts},
    {"virtio_gpu", add_virtio_facts},
    {"vmwgfx", add_vmwgfx_facts},
    {"xe", add_xe_facts},
});

using Text = std::array<char, 128>;

std::optional<std::string> text(const Text& buffer, std::size_t claimed) {
    return clean_text({buffer.data(), std::min(claimed, buffer.size())});
}

}  // namespace

void note_drm_error(std::string_view call, int number, DeviceFacts& facts) {
    if (facts.extra.at("error").is_null())
        facts.extra["error"] = errno_error(call, number).text;
}

void add_driver_facts(const DrmDevice& device, std::string_view driver, DeviceFacts& facts) {
    for (const auto& known : kDrivers)
        if (known.name == driver)
            known.add_facts(device, facts);
}

void add_drm_facts(const DrmDevice& device, DeviceFacts& facts) {
    Text name = {};
    Text description = {};
    drm::Version version{.name_length = name.size(),
                         .name = name.data(),
                         .description_length = description.size(),
                         .description = description.data()};
    if (const int problem = device.ask(drm::kVersion, &version); problem != 0)
        return note_drm_error("DRM_IOCTL_VERSION", problem, facts);
    const auto driver = text(name, version.name_length);
    facts.extra["driver_name"] = to_value(driver);
    facts.extra["driver_version"] =
        dotted({static_cast<unsigned>(version.major), static_cast<unsigned>(version.minor),
                static_cast<unsigned>(version.patch)});
    facts.extra["driver_description"] = to_value(text(description, version.description_length));
    add_driver_facts(device, driver.value_or(""), facts);
}

}  // namespace gpuprobe::backends
