// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// One device's folder below /sys/devices. If the file for a fact is missing, the fact is taken
/// from the device's uevent or modalias, because captures often contain only a few of the files.
///
/// Reads only values that the kernel has cached: never `config`, the link's speed, or sensors,
/// which would wake the device (drivers/pci/pci-sysfs.c, pci_read_config). The link's width is read
/// only while the device is awake.
class DeviceFolder {
public:
    /// `path` must be resolved. `sysfs` is borrowed and must outlive this object.
    DeviceFolder(const Sysfs& sysfs, std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    /// The last component of the path. If a capture has the device as a plain folder called
    /// "device", the class member's name instead: "card0" for /sys/class/drm/card0/device.
    [[nodiscard]] std::string_view name() const;
    /// The first line of a file in the folder, trimmed.
    [[nodiscard]] std::optional<std::string> text(std::string_view attribute) const;
    /// The value of a key in the device's uevent; nullopt if it is missing or empty.
    [[nodiscard]] std::optional<std::string> uevent(std::string_view key) const;
    /// False if a capture left the uevent out; a missing driver then proves nothing.
    [[nodiscard]] bool has_uevent() const { return !uevent_.empty(); }

    /// "pci", "platform", "virtio" …; derived from other files if the `subsystem` link is missing.
    [[nodiscard]] std::optional<std::string> subsystem() const;
    /// The name of the bound driver; nullopt if the device has no driver.
    [[nodiscard]] std::optional<std::string> driver() const;
    [[nodiscard]] std::optional<std::string> modalias() const;
    [[nodiscard]] std::optional<PciAddress> pci_address() const;
    /// Six hexadecimal digits: class, subclass, programming interface.
    [[nodiscard]] std::optional<std::string> pci_class() const;

private:
    const Sysfs& sysfs_;
    std::string path_ = {};
    KeyValues uevent_ = {};
};

/// The device in a folder, with all facts from the folder's own files.
HardwareDevice device_from(const Sysfs& sysfs, const DeviceFolder& folder);

}  // namespace gpuprobe::inline inventory
