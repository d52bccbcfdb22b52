// SPDX-License-Identifier: Apache-2.0
#include "backends/pci/pci.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>

extern "C" {
#include <pci/pci.h>
}

#include "backends/texts.h"
#include "base/files.h"
#include "base/record.h"
#include "base/text.h"

namespace gpuprobe::backends {
namespace {

/// libpci, set up to read one sysfs tree and one id database.
///
/// libpci reports errors through a callback that must not return. Our callback leaves the failed
/// call with longjmp(). All frames in between are C code from libpci, so no C++ destructor is
/// skipped.
class PciLibrary {
public:
    explicit PciLibrary(const PciSources& sources);
    ~PciLibrary();
    PciLibrary(const PciLibrary&) = delete;
    PciLibrary& operator=(const PciLibrary&) = delete;

    /// Finds the devices. Returns false if libpci gave up; in this case, error() returns the
    /// reason, and no other call is allowed.
    bool scan();
    /// The first of the devices; they are linked by `next`.
    [[nodiscard]] pci_dev* devices() const;
    /// Reads the class, ids, BARs and NUMA node of one device. Returns false if libpci gave up.
    bool fill(pci_dev& device);

    /// Names from the database; nullopt if the database has no entry. Always nullopt if the
    /// database was found to be broken.
    std::optional<std::string> vendor_name(const pci_dev& device);
    std::optional<std::string> device_name(const pci_dev& device);
    std::optional<std::string> subsystem_name(const pci_dev& device);

    /// The first error that libpci reported; nullopt if there was no error.
    [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

private:
    template <class Call>
    bool guarded(Call call);
    template <class... Ids>
    std::optional<std::string> look_up(int what, Ids... ids);

    pci_access* access_ = nullptr;
    std::optional<std::string> error_ = {};
    bool has_names_ = true;
};

// The target of the longjmp and the error message. The target and the message are global because
// libpci passes no context to its callbacks; a worker has only one PciLibrary and one thread.
std::jmp_buf failed_call;
std::array<char, 256> failed_words;

constexpr int kWanted = PCI_FILL_IDENT | PCI_FILL_CLASS | PCI_FILL_CLASS_EXT | PCI_FILL_SUBSYS |
                        PCI_FILL_BASES | PCI_FILL_SIZES | PCI_FILL_NUMA_NODE;
// Never add PCI_FILL_CAPS: it reads the configuration space, which wakes the device.

// The error callback. The GNU attribute is used, as in libpci, because in clang the C++ attribute
// isn't part of a function type.
__attribute__((noreturn)) void leave_call(char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(failed_words.data(), failed_words.size(), format, arguments);
    va_end(arguments);
    std::longjmp(failed_call, 1);
}

void ignore(char*, ...) {}

/// Runs libpci code that may fail. Neither `call` nor this frame may contain an object with a
/// destructor.
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
    // Use sysfs only: the other methods access I/O ports and /dev/mem.
    access_->method = PCI_ACCESS_SYS_BUS_PCI;
    // Disable DNS lookups, and the cache that they keep below $HOME.
    access_->id_lookup_mode = 0;
    std::string key = "sysfs.path";
    std::string path = sources.sysfs;
    pci_set_param(access_, key.data(), path.data());
    if (!sources.id_database.empty())
        // libpci frees the copy.
        pci_set_name_list_path(access_, ::strdup(sources.id_database.c_str()), 1);
}

PciLibrary::~PciLibrary() {
    // After an aborted call the state of libpci is inconsistent, so leak it: the worker ends soon.
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

// The lambda uses only plain pointers and numbers: see guarded().
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

PciAddress address_of(const pci_dev& device) {
    return {.domain = static_cast<std::uint32_t>(device.domain),
            .bus = device.bus,
            .device = device.dev,
            .function = device.func};
}

/// The BARs that exist. The low bits of an address are flags: bit 0 for I/O ports, bit 3 for
/// prefetchable memory. Source: PCI Local Bus Specification 3.0, 6.2.5.1.
Value bars_of(const pci_dev& device) {
    Value::Array list;
    for (std::size_t i = 0; i < std::size(device.size); ++i) {
        if (device.size[i] == 0)
            continue;
        const auto flags = device.base_addr[i] & PCI_ADDR_FLAG_MASK;
        const bool is_io = (flags & 0x1) != 0;
        Value bar{Value::Object{}};
        bar["index"] = i;
        bar["size"] = device.size[i];
        bar["io"] = is_io;
        bar["prefetchable"] = !is_io && (flags & 0x8) != 0;
        list.push_back(std::move(bar));
    }
    return Value{std::move(list)};
}

/// The facts of one device; absent values become null.
DeviceFacts facts_of(const pci_dev& device, PciLibrary& library) {
    DeviceFacts facts{
        .name = library.device_name(device),
        .vendor_id = hexadecimal(device.vendor_id, 4),
        .device_id = hexadecimal(device.device_id, 4),
        .pci = address_of(device),
    };
    const bool has_subsystem = device.subsys_vendor_id != 0;
    Value& extra = facts.extra;
    extra["vendor_name"] = to_value(library.vendor_name(device));
    extra["subsystem_name"] = to_value(library.subsystem_name(device));
    extra["subsystem_vendor_id"] =
        has_subsystem ? Value{hexadecimal(device.subsys_vendor_id, 4)} : Value{};
    extra["subsystem_device_id"] =
        has_subsystem ? Value{hexadecimal(device.subsys_id, 4)} : Value{};
    extra["class"] = hexadecimal(device.device_class, 4);
    extra["programming_interface"] = hexadecimal(device.prog_if, 2);
    extra["revision"] = hexadecimal(device.rev_id, 2);
    extra["numa_node"] = device.numa_node >= 0 ? Value{device.numa_node} : Value{};
    extra["bars"] = bars_of(device);
    return facts;
}

/// Selects the devices of relevant classes, sorted by address. Returns false if libpci gave up on a
/// device.
bool select_devices(PciLibrary& library, std::vector<const pci_dev*>& chosen) {
    for (pci_dev* device = library.devices(); device; device = device->next) {
        if (!library.fill(*device))
            return false;
        if (is_gpu_class(device->device_class) && chosen.size() < kMaxPciDevices)
            chosen.push_back(device);
    }
    std::sort(chosen.begin(), chosen.end(),
              [](const pci_dev* a, const pci_dev* b) { return address_of(*a) < address_of(*b); });
    return true;
}

Answer given_up(const PciLibrary& library) {
    return {.outcome = Outcome::Failed,
            .note = "libpci: " + library.error().value_or("gave up without an error message")};
}

}  // namespace

bool is_gpu_class(std::uint16_t pci_class) {
    const unsigned base = pci_class >> 8;
    return base == 0x03 || base == 0x12 || pci_class == 0x0b40 || pci_class == 0x1180;
}

Answer query_pci_at(const PciSources& sources, Sink& sink) {
    sink.runtime(
        Value{Value::Object{{"loader", Value{"libpci.so.3"}}, {"version", Value{PCILIB_VERSION}}}});
    // Without the folder "devices", libpci would end the process instead of returning an error.
    if (!RootedFiles{}.exists(sources.sysfs + "/devices"))
        return {.outcome = Outcome::Absent, .note = "this machine has no PCI bus"};
    sink.phase("enumerate");
    PciLibrary library{sources};
    if (!library.scan())
        return given_up(library);
    sink.phase("query");
    std::vector<const pci_dev*> devices;
    if (!select_devices(library, devices))
        return given_up(library);
    for (const pci_dev* device : devices)
        sink.device(facts_of(*device, library));
    return {.note = library.error() ? std::optional{"names: " + *library.error()} : std::nullopt};
}

Answer query_pci(const ProbeTarget&, Sink& sink) {
    return query_pci_at(PciSources{}, sink);
}

}  // namespace gpuprobe::backends
