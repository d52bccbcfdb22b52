// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "inventory/udev.h"

namespace gpuprobe {
namespace event_filter_test {

TEST(EventFilter, AcceptsEventsThatAffectAScan) {
    for (const auto& event : {
             KernelEvent{.subsystem = "drm", .device_type = "drm_minor"},
             KernelEvent{.subsystem = "drm"},
             KernelEvent{.subsystem = "drm", .device_type = "drm_minor"},
             KernelEvent{.subsystem = "accel"},
             KernelEvent{.subsystem = "kfd"},
             KernelEvent{.subsystem = "video4linux",
             .sysfs_path = "/sys/devices/platform/a.video-codec/video4linux/video1"},
             KernelEvent{.subsystem = "pci", .pci_class = "30000"},
             KernelEvent{.subsystem = "pci", .pci_class = "30200"},
             KernelEvent{.subsystem = "pci", .pci_class = "120000"},
             KernelEvent{.subsystem = "pci", .pci_class = "B4000"},
             KernelEvent{.subsystem = "pci"},
             KernelEvent{.subsystem = "pci", .pci_class = "88000", .pci_id = "1AC1:089A"},
             KernelEvent{.subsystem = "pci", .pci_class = "118000", .pci_id = "1022:1502"},
             KernelEvent{.subsystem = "module", .sysfs_path = "/sys/module/nvidia_uvm"},
             KernelEvent{.subsystem = "module", .sysfs_path = "/sys/module/amdgpu"},
             KernelEvent{.subsystem = "module", .sysfs_path = "/sys/module/vfio_pci"},
             KernelEvent{.subsystem = "module", .sysfs_path = "/sys/module/apex"},
         })
        EXPECT_TRUE(concerns_gpus(event)) << event.subsystem << event.pci_class << event.sysfs_path;
}

TEST(EventFilter, KeepsOutTheRest) {
    for (const auto& event : {
             KernelEvent{.subsystem = "drm", .is_connector_change = true},
             KernelEvent{.subsystem = "drm", .device_type = "drm_connector"},
             KernelEvent{.subsystem = "pci", .pci_class = "10802"},
             KernelEvent{.subsystem = "pci", .pci_class = "120100"},
             KernelEvent{.subsystem = "pci", .pci_class = "88000", .pci_id = "8086:9A13"},
             KernelEvent{.subsystem = "pci", .pci_class = "88000", .pci_id = ":"},
             KernelEvent{.subsystem = "module", .sysfs_path = "/sys/module/ast"},
             KernelEvent{.subsystem = "module", .sysfs_path = "/sys/module/nvme"},
             KernelEvent{.subsystem = "module", .sysfs_path = "/sys/module/i915_extra"},
             KernelEvent{.subsystem = "usb"},
             KernelEvent{.subsystem = "video4linux",
             .sysfs_path = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/"
                           "video4linux/video0"},
             KernelEvent{.subsystem = "video4linux",
             .sysfs_path = "/sys/devices/virtual/video4linux/video9"},
             KernelEvent{},
         })
        EXPECT_FALSE(concerns_gpus(event))
            << event.subsystem << event.pci_class << event.sysfs_path;
}

}  // namespace event_filter_test
}  // namespace gpuprobe
