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

    /// Makes the objects agree with the report, with a signal for each difference; but for what is
    /// there from the first, of which nobody has asked yet.
    void update();
    /// Every path, best GPU first.
    [[nodiscard]] std::vector<sdbus::ObjectPath> paths() const;
    /// "/" for a GPU that is not there.
    [[nodiscard]] sdbus::ObjectPath path_of(const std::string& id) const;
    /// nullptr when no GPU has that path.
    [[nodiscard]] const Gpu* at(const std::string& path) const;

private:
    [[nodiscard]] std::string free_path(const std::string& id) const;
    void add(const Gpu& gpu, const Report& open_to_all);
    [[nodiscard]] const std::vector<Finding>& findings();

    bus::Connection& connection_;
    const ServiceContext& context_;
    const CallerAccess& access_;
    std::map<std::string, std::unique_ptr<GpuObject>> by_path_ = {};
    /// The doctor's, once somebody was told of them: reading the causes takes a third of what a
    /// start takes.
    std::optional<std::vector<Finding>> findings_ = {};
};

}  // namespace gpuprobe::inline service
