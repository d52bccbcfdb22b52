// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <org.freedesktop.LogControl1.adaptor.h>

#include "base/event_loop.h"
#include "service/bus_objects.h"
#include "service/daemon_process.h"
#include "service/switcheroo_object.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {

/// Receives logind's signals before the machine sleeps and after it has woken up.
/// Source: org.freedesktop.login1(5), PrepareForSleep.
class SleepWatch {
public:
    using Callback = std::function<void(bool is_about_to_sleep)>;

    /// `connection` must outlive this object. Without logind, the callback is never called.
    SleepWatch(sdbus::IConnection& connection, Callback callback);

private:
    std::unique_ptr<sdbus::IProxy> login_;
};

/// The interface behind `systemctl service-log-level`. All users may read the properties. Writes go
/// through set(), after the caller was checked. Source: org.freedesktop.LogControl1(5).
class LogControl final : public sdbus::AdaptorInterfaces<org::freedesktop::LogControl1_adaptor> {
public:
    LogControl(sdbus::IConnection& connection, Log& log);
    ~LogControl();

    /// Sets LogLevel or LogTarget. Errors: InvalidRequest for another property or an invalid value.
    Status set(const std::string& property, const std::string& word);

private:
    std::string LogLevel() override;
    void LogLevel(const std::string& /*value*/) override { refuse(); }
    std::string LogTarget() override;
    void LogTarget(const std::string& /*value*/) override { refuse(); }
    std::string SyslogIdentifier() override { return log_.identifier(); }
    [[noreturn]] static void refuse();

    Log& log_;
};

/// All objects on one bus connection. A new connection gets a new Service; the engine stays.
class Service {
public:
    Service(bus::Connection& connection, EventLoop& loop, CallServer& server, Log& log);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Call this when the engine's report has changed. Updates the GPU objects first and the
    /// manager's Generation last, so that clients that wait for a generation find its objects.
    void update();
    [[nodiscard]] Authority& authority() { return authority_; }

private:
    /// The ObjectManager at the root path. This object is created first, so that it announces the
    /// objects below.
    struct Root {
        explicit Root(sdbus::IConnection& connection);
    };

    /// Lets root and the daemon's own user set the LogControl properties. Returns false if the
    /// write is for another interface.
    bool decide_write(const bus::PropertyWrite& write, bus::Connection::WriteDone done);

    bus::Connection& connection_;
    Root root_;
    bus::Callers callers_;
    Authority authority_;
    BusCalls calls_;
    GpuObjects gpus_;
    ManagerObject manager_;
    LogControl log_control_;
    SleepWatch sleep_;
};

/// The daemon's presence on a bus: connection, name and objects. If the connection is lost, the
/// session reconnects automatically and exports the engine's current state.
class BusSession {
public:
    static constexpr Duration kFirstRetry = std::chrono::milliseconds{250};
    static constexpr Duration kLastRetry = std::chrono::seconds{2};

    BusSession(std::string where, std::string name, EventLoop& loop, CallServer& server, Log& log);

    /// Sets a callback that runs some time after messages have arrived. Call this before start().
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
    CallServer& server_;
    Log& log_;
    std::unique_ptr<bus::Connection> connection_ = {};
    std::unique_ptr<Service> service_ = {};  // declared after connection_, so it is destroyed first
    std::unique_ptr<SwitcherooObject> switcheroo_ = {};
    bool serves_switcheroo_ = false;
    std::function<void()> used_ = {};
    EventHandle retry_ = {};
    Duration wait_ = kFirstRetry;
};

}  // namespace gpuprobe::inline service
