// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

constexpr Bytes kMaxAttribute = kib(64);
constexpr Bytes kMaxPlausibleMemory =
    gib(16384);  ///< larger sizes that a driver reports are considered wrong
constexpr std::size_t kMaxNotes = 64;

/// The KEY=value lines of a uevent file.
using KeyValues = std::map<std::string, std::string, std::less<>>;

/// Reads sysfs and procfs for a scan. If a file is missing, the functions return nullopt or an
/// empty list. If a file exists but cannot be read, the functions also add a note. Text from
/// drivers is limited in length and scrubbed.
class Sysfs {
public:
    /// `files` and `notes` are borrowed and must outlive this object.
    Sysfs(const FileSystem& files, std::vector<std::string>& notes)
        : files_{files}, notes_{notes} {}

    /// The first line of the file, without surrounding white space; nullopt if the line is empty.
    [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
    /// The content of the file, at most kMaxAttribute bytes, not scrubbed.
    [[nodiscard]] std::optional<std::string> content(const std::string& path) const;
    /// The first line of the file as a non-negative decimal number; nullopt if the line isn't such
    /// a number.
    [[nodiscard]] std::optional<std::uint64_t> number(const std::string& path) const;
    /// The sorted names in a folder.
    [[nodiscard]] std::vector<std::string> names(const std::string& folder) const;
    /// The last component of the target of a symbolic link, such as `driver` or `subsystem`.
    [[nodiscard]] std::optional<std::string> link_name(const std::string& path) const;
    /// The path in which every symbolic link has been resolved; nullopt if the path does not exist.
    [[nodiscard]] std::optional<std::string> resolved(const std::string& path) const;
    [[nodiscard]] bool exists(const std::string& path) const { return files_.exists(path); }
    /// The KEY=value lines of the file; empty if the file cannot be read. Other lines are skipped.
    [[nodiscard]] KeyValues key_values(const std::string& path) const;
    /// Adds a scrubbed note; notes after the first kMaxNotes are dropped.
    void note(std::string text) const;

private:
    void note(const Error& error) const;

    const FileSystem& files_;
    std::vector<std::string>& notes_;
};

/// The part of a path after its last slash.
std::string_view base_name(std::string_view path);
/// The part of a path before its last slash; "/" if the path is directly in the root folder.
std::string_view folder_of(std::string_view path);
/// Up to eight bytes of a binary attribute as a little-endian number.
std::uint64_t little_endian(std::string_view bytes);
/// Converts a string such as "0x10DE" or "10DE" to `digits` lower-case hexadecimal digits; nullopt
/// if the string isn't hexadecimal or needs more digits.
std::optional<std::string> hex_digits(std::string_view text, std::size_t digits);

/// The PCI ids of a function, each as four lower-case hexadecimal digits.
struct PciIds {
    std::optional<std::string> vendor = {};
    std::optional<std::string> device = {};
    std::optional<std::string> subsystem_vendor = {};
    std::optional<std::string> subsystem_device = {};
    bool operator==(const PciIds&) const = default;
};

/// The ids in a modalias such as "pci:v00001002d000015BFsv000017AAsd000050DAbc03sc00i00". Source:
/// drivers/pci/pci-sysfs.c, modalias_show().
PciIds ids_from_modalias(std::string_view modalias);
/// The class, subclass and programming interface in a modalias, as six hexadecimal digits.
std::optional<std::string> class_from_modalias(std::string_view modalias);

/// The size of the largest prefetchable 64-bit memory BAR in a `resource` file, which is the window
/// through which the CPU accesses VRAM. The BAR with VRAM has different indices on different
/// boards, so an index would not identify the BAR.
///
/// Only the first six lines are BARs of the function; the windows of the ROM, of SR-IOV and of
/// bridges follow. Source: drivers/pci/pci-sysfs.c, resource_show(); include/linux/ioport.h for the
/// flags.
std::optional<Bytes> largest_aperture(std::string_view resource);

/// The folder of one device below /sys/devices. If the file for a fact is missing, the fact is
/// taken from the device's uevent or modalias, because captures often lack most of the files.
///
/// Reads only values that the kernel has cached. Never reads `config`, the link's speed, or
/// sensors, because reading them would wake the device (drivers/pci/pci-sysfs.c, pci_read_config).
/// The link's width is read only while the device is awake.
class DeviceFolder {
public:
    /// `path` must be resolved. `sysfs` is borrowed and must outlive this object.
    DeviceFolder(const Sysfs& sysfs, std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    /// The last component of the path. In some captures, the device is a plain folder called
    /// "device"; in this case, the result is the name of the class member, such as "card0" for
    /// /sys/class/drm/card0/device.
    [[nodiscard]] std::string_view name() const;
    /// The first line of a file in the device's folder, without surrounding white space.
    [[nodiscard]] std::optional<std::string> text(std::string_view attribute) const;
    /// The value of a key in the device's uevent; nullopt if the value is missing or empty.
    [[nodiscard]] std::optional<std::string> uevent(std::string_view key) const;
    /// False if a capture does not contain the uevent. Without the uevent, a missing driver proves
    /// nothing.
    [[nodiscard]] bool has_uevent() const { return !uevent_.empty(); }

    /// The subsystem of the device, such as "pci", "platform" or "virtio"; derived from other files
    /// if the `subsystem` link is missing.
    [[nodiscard]] std::optional<std::string> subsystem() const;
    /// The name of the bound driver; nullopt if the device has no driver.
    [[nodiscard]] std::optional<std::string> driver() const;
    [[nodiscard]] std::optional<std::string> modalias() const;
    [[nodiscard]] std::optional<PciAddress> pci_address() const;
    /// The PCI class as six hexadecimal digits: class, subclass and programming interface.
    [[nodiscard]] std::optional<std::string> pci_class() const;

private:
    const Sysfs& sysfs_;
    std::string path_ = {};
    KeyValues uevent_ = {};
};

/// The `compatible` strings from the device tree, at most 16, beginning with the most specific
/// string. NULs separate the strings in the file (Devicetree specification 0.4, section 2.3.1).
std::vector<std::string> compatible_of(const Sysfs& sysfs, const DeviceFolder& folder);

/// The device in a folder, with all facts from the files in the same folder.
HardwareDevice device_from(const Sysfs& sysfs, const DeviceFolder& folder);

}  // namespace gpuprobe::inline inventory
