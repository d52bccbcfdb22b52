// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/gpu_object.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {

/// The GPU objects of one connection: one for each GPU of the report.
class GpuObjects {
public:
    GpuObjects(bus::Connection& connection,
               const ServiceContext& context,
               const CallerAccess& access)
        : connection_{connection}, context_{context}, access_{access} {}

    /// Updates the objects to match the report and signals each difference. Objects that exist
    /// before the first message is read are not announced.
    void update();
    /// All object paths, best GPU first.
    [[nodiscard]] std::vector<sdbus::ObjectPath> paths() const;
    /// The object path of a GPU or partition; "/" if the GPU does not exist.
    [[nodiscard]] sdbus::ObjectPath path_of(const std::string& id) const;
    /// The GPU with this object path; nullptr if there is no such GPU.
    [[nodiscard]] const Gpu* at(const std::string& path) const;

private:
    [[nodiscard]] std::string free_path(const std::string& id) const;
    void add(const Gpu& gpu, const Report& open_to_all);
    [[nodiscard]] const std::vector<Finding>& findings();

    bus::Connection& connection_;
    const ServiceContext& context_;
    const CallerAccess& access_;
    std::map<std::string, std::unique_ptr<GpuObject>> by_path_ = {};
    /// The doctor's findings, computed on first use, because reading the causes takes a third of
    /// the daemon's start time.
    std::optional<std::vector<Finding>> findings_ = {};
};

}  // namespace gpuprobe::inline service
