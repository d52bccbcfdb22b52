// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "service/service.h"
#include "service/switcheroo_object.h"

namespace gpuprobe::inline service {

/// The daemon's presence on a bus: connection, name and objects. If the connection is lost, this
/// reconnects automatically and exports the engine's current state.
class BusSession {
public:
    static constexpr Duration kFirstRetry = std::chrono::milliseconds{250};
    static constexpr Duration kLastRetry = std::chrono::seconds{2};

    BusSession(std::string where,
               std::string name,
               EventLoop& loop,
               const ServiceContext& context,
               Log& log);

    /// Sets the callback for some time after messages arrived. Call this before start().
    void on_use(std::function<void()> used) { used_ = std::move(used); }
    /// Enables the interface of switcheroo-control, unless another process owns that name. Call
    /// this before start().
    void serve_switcheroo() { serves_switcheroo_ = true; }

    /// Connects, acquires the name and exports the objects. Waits a moment for the name, which a
    /// daemon that was just killed may still own. Errors: the same as Connection::open and
    /// own_name.
    Status start();
    /// Call this when the engine's report has changed.
    void update();
    /// The object that checks permissions with polkit; null while there is no bus connection.
    [[nodiscard]] Authority* authority() { return service_ ? &service_->authority() : nullptr; }

private:
    Status connect(Duration patience);
    void show();
    void show_switcheroo(bus::Connection& connection);
    void lost(const std::string& reason);
    void retry();

    std::string where_;
    std::string name_;
    EventLoop& loop_;
    const ServiceContext& context_;
    Log& log_;
    std::unique_ptr<bus::Connection> connection_ = {};
    std::unique_ptr<Service> service_ = {};  // after connection_, so that it is destroyed first
    std::unique_ptr<SwitcherooObject> switcheroo_ = {};
    bool serves_switcheroo_ = false;
    std::function<void()> used_ = {};
    EventHandle retry_ = {};
    Duration wait_ = kFirstRetry;
};

}  // namespace gpuprobe::inline service
