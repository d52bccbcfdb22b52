// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "fuzz/input.h"
#include "inventory/host.h"
#include "inventory/setup.h"
#include "inventory/sysfs.h"
#include "support/memory_files.h"

namespace {

using namespace gpuprobe;

/// Facts are sent over the bus and printed on terminals.
void check_printable(const std::optional<std::string>& text) {
    if (text && scrubbed(*text, text->size() + 1) != *text)
        std::abort();
}

void check_printable(const std::optional<std::vector<std::string>>& words) {
    for (const auto& word : words.value_or(std::vector<std::string>{}))
        check_printable(std::optional{word});
}

}  // namespace

/// Reads the files that describe how a machine was set up. Each file contains the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{support::text_of_input(data, size)};
    support::MemoryFiles files;
    for (const auto* path :
         {"/etc/os-release", "/etc/rpi-issue", "/proc/self/attr/current", "/proc/cmdline",
          "/etc/modprobe.d/x.conf",
          "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
          "/sys/kernel/security/lockdown", "/proc/sys/kernel/tainted",
          "/sys/module/amdgpu/parameters/gttsize", "/proc/driver/nvidia/params", "/proc/modules",
          "/lib/modules/6.1/modules.dep", "/lib/modules/6.1/modules.builtin", "/etc/ld.so.cache",
          "/lib/x86_64-linux-gnu/libc.so.6"})
        files.write(path, text);
    if (const auto release = os_release_of(files)) {
        check_printable(release->id);
        check_printable(release->id_like);
        check_printable(release->version_id);
        check_printable(release->variant_id);
        check_printable(release->codenames);
    }
    check_printable(sandbox_of(files));
    const auto setup = kernel_setup(files, "6.1");
    check_printable(setup.parameters);
    check_printable(setup.blacklist);
    check_printable(setup.loaded);
    check_printable(setup.lockdown);
    check_printable(libc_of_programs(files, "x86_64").version);
    check_printable(host_libraries(files, "x86_64"));
    (void)largest_aperture(text);
    return 0;
}
