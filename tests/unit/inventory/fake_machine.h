// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "inventory/scan.h"

namespace gpuprobe {

/// The root of a machine in a temporary folder, written file by file.
class FakeMachine {
public:
    FakeMachine() {
        std::string pattern = std::filesystem::temp_directory_path() / "gpuprobe-machine-XXXXXX";
        root_ = mkdtemp(pattern.data());
    }
    ~FakeMachine() { std::filesystem::remove_all(root_); }
    FakeMachine(const FakeMachine&) = delete;
    FakeMachine& operator=(const FakeMachine&) = delete;

    [[nodiscard]] const std::string& root() const { return root_; }

    void file(const std::string& path, std::string_view content) const {
        folder(std::filesystem::path{path}.parent_path());
        std::ofstream{root_ + path} << content;
    }
    void folder(const std::string& path) const {
        std::filesystem::create_directories(root_ + path);
    }
    void link(const std::string& path, const std::string& target) const {
        folder(std::filesystem::path{path}.parent_path());
        std::filesystem::create_symlink(target, root_ + path);
    }

    /// Creates a function below /sys/devices, with a link in /sys/bus/pci. Returns its folder.
    std::string pci(const std::string& address,
                    const std::string& vendor,
                    const std::string& device,
                    const std::string& class_code,
                    const std::string& driver = "") const {
        auto path = "/sys/devices/pci" + address.substr(0, address.rfind(':')) + "/" + address;
        file(path + "/vendor", "0x" + vendor + "\n");
        file(path + "/device", "0x" + device + "\n");
        file(path + "/class", "0x" + class_code + "\n");
        file(path + "/uevent",
             (driver.empty() ? "" : "DRIVER=" + driver + "\n") + "PCI_SLOT_NAME=" + address + "\n");
        link(path + "/subsystem", "/sys/bus/pci");
        link("/sys/bus/pci/devices/" + address, path);
        if (!driver.empty())
            link(path + "/driver", "/sys/bus/pci/drivers/" + driver);
        return path;
    }
    /// Creates a platform device. Returns its folder.
    std::string platform(const std::string& name, const std::string& driver) const {
        auto path = "/sys/devices/platform/" + name;
        file(path + "/uevent", "DRIVER=" + driver + "\n");
        link(path + "/subsystem", "/sys/bus/platform");
        link(path + "/driver", "/sys/bus/platform/drivers/" + driver);
        return path;
    }
    /// Creates a member of the class "drm" or "accel" of a device.
    void class_member(const std::string& class_name,
                      const std::string& name,
                      const std::string& device_folder,
                      const std::string& number) const {
        const auto path = device_folder + "/" + class_name + "/" + name;
        file(path + "/dev", number + "\n");
        link(path + "/device", device_folder);
        link("/sys/class/" + class_name + "/" + name, path);
    }

private:
    std::string root_ = {};
};

/// A file system that records which files were read, listed, resolved or examined.
class WatchedFiles final : public FileSystem {
public:
    explicit WatchedFiles(const std::string& root) : files_{root} {}

    [[nodiscard]] Result<std::string> read(std::string_view path, Bytes limit) const override {
        read_.emplace(path);
        return files_.read(path, limit);
    }
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const override {
        listed_.emplace(path);
        return files_.list(path);
    }
    [[nodiscard]] Result<std::string> link_target(std::string_view path) const override {
        return files_.link_target(path);
    }
    [[nodiscard]] Result<std::string> real_path(std::string_view path) const override {
        return files_.real_path(path);
    }
    [[nodiscard]] Result<FileStatus> status(std::string_view path) const override {
        return files_.status(path);
    }

    [[nodiscard]] const std::set<std::string>& read_paths() const { return read_; }
    [[nodiscard]] const std::set<std::string>& listed_paths() const { return listed_; }

private:
    RootedFiles files_;
    mutable std::set<std::string> read_ = {};
    mutable std::set<std::string> listed_ = {};
};

inline Host test_host() {
    return Host{.arch = "x86_64", .kernel = "6.12.1"};
}

/// Scans a fake machine with the device nodes in a nodes.json.
inline Machine scanned(const FakeMachine& machine, std::string_view nodes_json = "{}") {
    const auto nodes = RecordedNodes::parse(nodes_json);
    return scan_machine(RootedFiles{machine.root()}, *nodes, test_host());
}

/// The device of that id; null when there is none.
inline const HardwareDevice* device_in(const Machine& machine, std::string_view id) {
    for (const auto& device : machine.devices)
        if (device.id == id)
            return &device;
    return nullptr;
}

inline std::vector<std::string> ids_of(const Machine& machine) {
    std::vector<std::string> ids;
    for (const auto& device : machine.devices)
        ids.push_back(device.id);
    return ids;
}

}  // namespace gpuprobe
