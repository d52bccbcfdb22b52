// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "export/selector.h"
#include "policy/application_set.h"
#include "unit/export/fleet.h"

/// The needs of variants, and queries for machines that meet these needs.
namespace gpuprobe::testing_fleet {

/// The need of a variant with these `requires`, on linux-x86_64.
inline Result<FleetNeed> need_of(const std::string& requirements) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"v":)"
        R"({"requires":)" +
        requirements + R"(,"artifact":{"type":"oci","ref":"x"}}}}}})");
    EXPECT_TRUE(manifest) << manifest.error().text;
    const auto& platform = manifest->platforms.front();
    return fleet_need_of(platform, platform.variants.front(), rules());
}

inline const std::string kCuda =
    R"({"host":{"glibc_min":"2.35"},"device":{"backend":"cuda","vendor":["nvidia"],)"
    R"("cuda":{"toolkit":"13.0","sass":["7.5","8.0","9.0"],"exact":true},"vram_min_mib":81920}})";
inline const std::string kVulkan =
    R"({"device":{"backend":"vulkan","kinds":["discrete","integrated","tegra"],)"
    R"("vulkan":{"instance_min":"1.2","features":["shaderFloat16"]}}})";

inline std::string asked(const char* engine, const std::string& requirements) {
    const auto need = need_of(requirements);
    EXPECT_TRUE(need) << need.error().text;
    const auto query = orchestrator(engine)->ask(*need, rules(), {});
    EXPECT_TRUE(query) << query.error().text;
    return query ? query->text : "";
}

}  // namespace gpuprobe::testing_fleet
