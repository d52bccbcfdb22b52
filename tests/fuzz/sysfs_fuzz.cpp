// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/text.h"
#include "fuzz/input.h"
#include "inventory/device_nodes.h"
#include "inventory/host.h"
#include "inventory/nvidia.h"
#include "inventory/scan.h"
#include "inventory/sysfs.h"
#include "inventory/udev.h"
#include "report/api_device.h"
#include "report/pci_address.h"
#include "support/memory_files.h"
#include "watch/processes.h"

namespace {

using namespace gpuprobe;

/// Facts are sent over the bus and printed on terminals.
void check_printable(const std::optional<std::string>& text) {
    if (text && scrubbed(*text, text->size() + 1) != *text)
        std::abort();
}

/// Checks an event whose properties are the lines of the input.
void check_event(std::string_view text) {
    KernelEvent event;
    const std::array<std::string*, 4> properties{&event.subsystem, &event.sysfs_path,
                                                 &event.device_type, &event.pci_class};
    const auto lines = split(text, '\n');
    for (std::size_t i = 0; i < std::min(lines.size(), properties.size()); ++i)
        *properties[i] = lines[i];
    event.is_connector_change = lines.size() > properties.size();
    const bool concerns = concerns_gpus(event);
    if (concerns && event.subsystem == "drm" && event.is_connector_change)
        std::abort();
}

void check_address(std::string_view text) {
    const auto address = parse_text(text, std::type_identity<PciAddress>{});
    if (address && parse_text(text_of(*address), std::type_identity<PciAddress>{}) != address)
        std::abort();
}

/// Checks a process whose files in /proc contain this text.
void check_process(std::string_view text) {
    support::MemoryFiles files;
    files.link("/proc/7/fd/3", "/dev/dri/renderD128");
    files.link("/proc/7/fd/4", std::string{text.substr(0, 256)});
    files.write("/proc/7/fdinfo/3", std::string{text});
    files.write("/proc/7/maps", std::string{text});
    files.write("/proc/7/stat", std::string{text});
    files.write("/sys/class/kfd/kfd/proc/7/vram_1", std::string{text});
    for (const auto& name : watch::files_of(files, 7).mapped)
        check_printable(name);
    (void)watch::kfd_memory(files, 7);
    if (watch::ProcessTree{files, 7}.look().size() > 1)
        std::abort();
    const auto process = watch::process_from(text);
    if (process && process->pid <= 0)
        std::abort();
}

}  // namespace

/// Passes the input to each function that parses data from the kernel.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = support::text_of_input(data, size);
    check_event(text);
    check_address(text);
    check_process(text);
    const auto module = parse_nvidia_version(text);
    check_printable(module.version);
    check_printable(module.flavour);
    const auto card = parse_nvidia_information(text);
    check_printable(card.model);
    check_printable(card.uuid);
    if (access_list(text).size() > kMaxAccessList / 8)
        std::abort();
    for (const auto* architecture : {"x86_64", "aarch64", "riscv64"})
        (void)cached_sonames(text, architecture);
    (void)parse_cpuinfo(text);
    (void)processors_in(text);
    (void)ids_from_modalias(text);
    (void)class_from_modalias(text);
    (void)uuid_digits(text);
    (void)RecordedNodes::parse(text);
    return 0;
}
