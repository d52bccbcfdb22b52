// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// One device's folder below /sys/devices. A fact that its file does not give comes from the
/// device's uevent or modalias: captures often hold only a few of the files.
///
/// Reads only what is cached in the kernel: never `config`, link speeds or sensors, which wake the
/// device (drivers/pci/pci-sysfs.c, pci_read_config). The width of the link is read of a device
/// that is awake.
class DeviceFolder {
public:
    /// `path` is resolved. `sysfs` is borrowed for as long as this lives.
    DeviceFolder(const Sysfs& sysfs, std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    /// The last part of the path, or the class member's where a capture holds the device as a plain
    /// folder ("card0" of /sys/class/drm/card0/device).
    [[nodiscard]] std::string_view name() const;
    [[nodiscard]] std::optional<std::string> text(std::string_view attribute) const;
    [[nodiscard]] std::optional<std::string> uevent(std::string_view key) const;
    /// False in captures that left it out: then a missing driver proves nothing.
    [[nodiscard]] bool has_uevent() const { return !uevent_.empty(); }

    /// "pci", "platform", "virtio" …, also where the `subsystem` link is missing but other files
    /// tell.
    [[nodiscard]] std::optional<std::string> subsystem() const;
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

/// The device of a folder with everything that its own files say.
HardwareDevice device_from(const Sysfs& sysfs, const DeviceFolder& folder);

}  // namespace gpuprobe::inline inventory
