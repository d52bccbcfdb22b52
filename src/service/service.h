// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <org.freedesktop.LogControl1.adaptor.h>

#include "service/log.h"
#include "service/manager_object.h"
#include "wire/connection.h"
#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// Hears from logind that the machine is about to sleep, and that it is awake again.
/// Source: org.freedesktop.login1(5), PrepareForSleep.
class SleepWatch {
public:
    using Told = std::function<void(bool is_about_to_sleep)>;

    /// `connection` must outlive this. Without logind, `told` is never called.
    SleepWatch(sdbus::IConnection& connection, Told told);

private:
    std::unique_ptr<sdbus::IProxy> login_;
};

/// `systemctl service-log-level`. Everybody may read; set() is for callers who may write.
/// Source: org.freedesktop.LogControl1(5).
class LogControl final : public sdbus::AdaptorInterfaces<org::freedesktop::LogControl1_adaptor> {
public:
    LogControl(sdbus::IConnection& connection, Log& log);
    ~LogControl();

    /// Errors: InvalidRequest for another property, or a word that it does not take.
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

/// All objects on one connection. A new connection gets new ones; the engine stays.
class Service {
public:
    Service(bus::Connection& connection, EventLoop& loop, const ServiceContext& context, Log& log);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// To be called when the engine's report has changed. It updates the objects first and the
    /// manager's Generation last, so that clients that wait for a generation see its objects.
    void update();
    [[nodiscard]] Authority& authority() { return authority_; }

private:
    /// First, so that objects below it are announced.
    struct Root {
        explicit Root(sdbus::IConnection& connection);
    };

    /// Calls of one sender that wait until the bus has said whose they are: as many as a system bus
    /// lets a connection have on their way. A session bus lets it have more, and so it may, until
    /// there are so many of all senders.
    static constexpr std::size_t kMaxUnknown = 128;
    static constexpr std::size_t kMaxUnknownOfAll = 1024;
    /// Answers that the bus has not taken, to senders whom it has not told.
    static constexpr std::size_t kMaxUntaken = 64;

    /// Whether a call of `sender` may be read. The bus is asked once whose it is.
    Status admit(const std::string& sender);
    /// Lets root and the daemon's own user set what LogControl has.
    bool decide_write(const bus::PropertyWrite& write, bus::Connection::WriteDone done);

    bus::Connection& connection_;
    Admission& admission_;
    Root root_;
    bus::Callers callers_;
    ReportViews views_;
    Authority authority_;
    FairQueue queue_;
    CallerAccess access_;
    GpuObjects gpus_;
    Jobs jobs_;
    ManagerObject manager_;
    LogControl log_control_;
    SleepWatch sleep_;
};

}  // namespace gpuprobe::inline service
