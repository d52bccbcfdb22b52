// SPDX-License-Identifier: Apache-2.0
#include "store/fingerprint.h"

#include "base/value_json.h"

namespace gpuprobe {
namespace {

/// A node that became usable changes what a driver can answer. Who else may use it does not: with
/// each login in front of the machine, logind changes the access control lists.
Value node_print(DeviceNode node) {
    node.acl.clear();
    if (node.accessible)
        node.mode.reset();
    return to_value(node);
}

/// What stays from boot to boot.
Value board_print(const HardwareDevice& device) {
    Value print;
    print["id"] = device.id;
    print["vendor"] = to_value(device.vendor_id);
    print["device"] = to_value(device.device_id);
    print["subsystem_vendor"] = to_value(device.subsystem_vendor_id);
    print["subsystem"] = to_value(device.subsystem_device_id);
    print["driver"] = to_value(device.driver);
    print["version"] = to_value(device.driver_version);
    return print;
}

Value device_print(const HardwareDevice& device) {
    auto print = board_print(device);
    print["drm"] = to_value(device.drm);
    print["partitions"] = to_value(device.partitions);
    for (const auto& node : device.nodes)
        print["nodes"].push_back(node_print(node));
    return print;
}

Value file_print(const FileSystem& files, const std::string& path) {
    Value print;
    print["path"] = path;
    if (const auto status = files.status(path)) {
        print["inode"] = Value{static_cast<unsigned long long>(status->inode)};
        print["size"] = to_value(status->size);
        print["modified"] = to_value(status->modified);
    }
    return print;
}

}  // namespace

std::string fingerprint_of(const Machine& machine,
                           const FileSystem& files,
                           const std::vector<std::string>& watched,
                           std::string_view program_version) {
    Value print;
    print["program"] = Value{program_version};
    print["kernel"] = to_value(machine.host.kernel);
    for (const auto& device : machine.devices)
        print["devices"].push_back(device_print(device));
    for (const auto& node : machine.shared_nodes)
        print["nodes"].push_back(node_print(node));
    for (const auto& path : watched)
        print["files"].push_back(file_print(files, path));
    return json_line(print);
}

std::string driver_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                  const std::optional<std::string>& kernel,
                                  const FileSystem& files,
                                  const std::vector<std::string>& watched,
                                  std::string_view program_version) {
    Value print;
    print["program"] = Value{program_version};
    print["kernel"] = to_value(kernel);
    for (const auto* device : devices)
        print["devices"].push_back(board_print(*device));
    for (const auto& path : watched)
        print["files"].push_back(file_print(files, path));
    return json_line(print);
}

std::string trial_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                 const Host& host,
                                 const FileSystem& files,
                                 const std::vector<std::string>& watched,
                                 std::string_view program_version) {
    Value print;
    print["program"] = Value{program_version};
    print["kernel"] = to_value(host.kernel);
    if (devices.empty())
        print["cpu"] = to_value(host.cpu.model);
    for (const auto* device : devices) {
        auto board = board_print(*device);
        board["partitions"] = to_value(device->partitions);
        print["devices"].push_back(std::move(board));
    }
    for (const auto& path : watched)
        print["files"].push_back(file_print(files, path));
    return json_line(print);
}

}  // namespace gpuprobe
