// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "fuzz/input.h"
#include "probe/target.h"
#include "support/memory_files.h"

/// Reads a driver's manifest as a Vulkan manifest and as an OpenCL manifest: first the text, then
/// the file in the folder that is searched for manifests.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const std::string text{support::text_of_input(data, size)};
    const auto manifest = parse_vulkan_manifest(text, "/etc/vulkan/icd.d/x.json");
    if (manifest && manifest->library.empty())
        std::abort();
    const auto library = parse_icd_file(text);
    if (library && library->empty())
        std::abort();
    support::MemoryFiles files;
    files.write("/etc/vulkan/icd.d/x.json", text);
    files.write("/etc/OpenCL/vendors/x.icd", text);
    const auto found = find_targets(files, {});
    for (const auto& target : found.targets)
        if (!target.driver.empty() && (!target.library || target.library->empty()))
            std::abort();
    return 0;
}
