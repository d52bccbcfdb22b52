// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "service/service.h"
#include "service/switcheroo_object.h"

namespace gpuprobe::inline service {

/// The daemon on a bus: connection, name and objects. When the bus goes away, this reconnects by
/// itself and shows the engine's current state.
class BusSession {
public:
    static constexpr Duration kFirstRetry = std::chrono::milliseconds{250};
    static constexpr Duration kLastRetry = std::chrono::seconds{2};

    BusSession(std::string where,
               std::string name,
               EventLoop& loop,
               const ServiceContext& context,
               Log& log);

    /// Sets what to call some time after messages came. To be called before start().
    void on_use(std::function<void()> used) { used_ = std::move(used); }
    /// Answers for switcheroo-control too, if nobody else does. To be called before start().
    void serve_switcheroo() { serves_switcheroo_ = true; }

    /// Connects, owns the name and shows the objects. A daemon that was killed just now may have
    /// the name for a moment more. Errors: as Connection::open and own_name.
    Status start();
    /// To be called when the engine's report has changed.
    void update();
    /// Who asks polkit; null while there is no bus.
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
    std::unique_ptr<Service> service_ = {};  // after connection_: it ends first
    std::unique_ptr<SwitcherooObject> switcheroo_ = {};
    bool serves_switcheroo_ = false;
    std::function<void()> used_ = {};
    EventHandle retry_ = {};
    Duration wait_ = kFirstRetry;
};

}  // namespace gpuprobe::inline service
