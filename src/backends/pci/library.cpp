// SPDX-License-Identifier: Apache-2.0
#include "backends/pci/library.h"

#include <array>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
#include <pci/pci.h>
}

#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

// libpci hands its callbacks no context, so where to go and what was said live here. One worker has
// one PciLibrary and one thread.
std::jmp_buf failed_call;
std::array<char, 256> failed_words;

constexpr int kWanted = PCI_FILL_IDENT | PCI_FILL_CLASS | PCI_FILL_CLASS_EXT | PCI_FILL_SUBSYS |
                        PCI_FILL_BASES | PCI_FILL_SIZES | PCI_FILL_NUMA_NODE;
// PCI_FILL_CAPS is left out for good: it reads the configuration space, which wakes the device.

// As libpci declares it: for clang the C++ attribute is no part of a function's type.
__attribute__((noreturn)) void leave_call(char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(failed_words.data(), failed_words.size(), format, arguments);
    va_end(arguments);
    std::longjmp(failed_call, 1);
}

void ignore(char*, ...) {}

}  // namespace

/// Runs libpci code that may fail. `call` and this frame must hold nothing with a destructor.
template <class Call>
bool PciLibrary::guarded(Call call) {
    if (setjmp(failed_call) == 0) {
        call();
        return true;
    }
    if (!error_)
        error_ = scrubbed({failed_words.data(), strnlen(failed_words.data(), failed_words.size())});
    return false;
}

PciLibrary::PciLibrary(const PciSources& sources) : access_{pci_alloc()} {
    access_->error = leave_call;
    access_->warning = ignore;
    access_->debug = ignore;
    // Only sysfs: the other methods poke at ports and /dev/mem.
    access_->method = PCI_ACCESS_SYS_BUS_PCI;
    // Neither DNS nor its cache below $HOME.
    access_->id_lookup_mode = 0;
    std::string key = "sysfs.path";
    std::string path = sources.sysfs;
    pci_set_param(access_, key.data(), path.data());
    if (!sources.id_database.empty())
        pci_set_name_list_path(access_, ::strdup(sources.id_database.c_str()), 1);
}

PciLibrary::~PciLibrary() {
    // After a call that was left half-way its state can't be trusted; the worker ends anyway.
    if (error_)
        return;
    pci_access* const access = access_;
    (void)guarded([access] { pci_cleanup(access); });
}

bool PciLibrary::scan() {
    pci_access* const access = access_;
    return guarded([access] {
        pci_init(access);
        pci_scan_bus(access);
    });
}

pci_dev* PciLibrary::devices() const {
    return access_->devices;
}

bool PciLibrary::fill(pci_dev& device) {
    pci_dev* const one = &device;
    return guarded([one] { pci_fill_info(one, kWanted); });
}

template <class... Ids>
std::optional<std::string> PciLibrary::look_up(int what, Ids... ids) {
    if (!has_names_)
        return std::nullopt;
    std::array<char, 256> buffer{};
    const char* name = nullptr;
    const char** const found = &name;
    char* const into = buffer.data();
    const int size = static_cast<int>(buffer.size());
    pci_access* const access = access_;
    has_names_ = guarded([=] {
        *found = pci_lookup_name(access, into, size, what | PCI_LOOKUP_NO_NUMBERS, int{ids}...);
    });
    if (!has_names_ || !name)
        return std::nullopt;
    auto text = scrubbed(trimmed({name, strnlen(name, buffer.size())}));
    return text.empty() ? std::nullopt : std::optional{std::move(text)};
}

std::optional<std::string> PciLibrary::vendor_name(const pci_dev& device) {
    return look_up(PCI_LOOKUP_VENDOR, device.vendor_id);
}

std::optional<std::string> PciLibrary::device_name(const pci_dev& device) {
    return look_up(PCI_LOOKUP_DEVICE, device.vendor_id, device.device_id);
}

std::optional<std::string> PciLibrary::subsystem_name(const pci_dev& device) {
    if (device.subsys_vendor_id == 0)
        return std::nullopt;
    return look_up(PCI_LOOKUP_SUBSYSTEM | PCI_LOOKUP_DEVICE, device.vendor_id, device.device_id,
                   device.subsys_vendor_id, device.subsys_id);
}

}  // namespace gpuprobe::backends
