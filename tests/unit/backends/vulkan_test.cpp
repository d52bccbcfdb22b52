// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/vulkan.h"

#include <gtest/gtest.h>

#include "base/value.h"

namespace gpuprobe::backends {
namespace vulkan_test {

constexpr std::string_view kManifest =
    R"({"file_format_version":"1.0.1","ICD":{"library_path":"libGLX_nvidia.so.0","api_version":"1.4.312"}})";

std::optional<std::string> library_of(const std::optional<std::string>& manifest) {
    const auto document = parse_json(manifest.value_or("{}"), kib(64));
    const auto* library = document ? document->at("ICD").at("library_path").as_string() : nullptr;
    return library ? std::optional{*library} : std::nullopt;
}

TEST(WithEglLibrary, ReplacesTheLibraryAndNothingElse) {
    const auto changed = with_egl_library(kManifest);
    EXPECT_EQ(library_of(changed), "libEGL_nvidia.so.0");
    const auto document = parse_json(changed.value_or(""), kib(64));
    ASSERT_TRUE(document);
    EXPECT_EQ(document->at("ICD").at("api_version"), Value{"1.4.312"});
}

TEST(WithEglLibrary, KeepsTheFolder) {
    EXPECT_EQ(library_of(
                  with_egl_library(R"({"ICD":{"library_path":"/opt/driver/libGLX_nvidia.so.0"}})")),
              "/opt/driver/libEGL_nvidia.so.0");
}

TEST(WithEglLibrary, DoesNotChangeOtherManifests) {
    for (const auto* manifest : {R"({"ICD":{"library_path":"libvulkan_radeon.so"}})",
                                 R"({"ICD":{"library_path":"libEGL_nvidia.so.0"}})",
                                 R"({"ICD":{"library_path":7}})", R"({"ICD":[]})", R"([])", ""})
        EXPECT_EQ(with_egl_library(manifest), std::nullopt) << manifest;
}

TEST(WithEglLibrary, SurvivesAManifestCutAnywhere) {
    for (std::size_t length = 0; length < kManifest.size(); ++length)
        EXPECT_EQ(with_egl_library(kManifest.substr(0, length)), std::nullopt) << length;
}

TEST(TemporaryManifest, IsGoneAfterItsScope) {
    std::string path;
    {
        const auto manifest = TemporaryManifest::create("{}");
        ASSERT_TRUE(manifest);
        path = manifest->path();
        EXPECT_TRUE(path.ends_with(".json"));
        const auto content = RootedFiles{}.read(path, kib(1));
        ASSERT_TRUE(content);
        EXPECT_EQ(*content, "{}");
    }
    EXPECT_FALSE(RootedFiles{}.exists(path));
}

}  // namespace vulkan_test
}  // namespace gpuprobe::backends
