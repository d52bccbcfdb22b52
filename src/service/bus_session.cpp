// SPDX-License-Identifier: Apache-2.0
#include "service/bus_session.h"

#include <algorithm>

#include "base/process.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {
namespace {

constexpr const char* kLogin = "org.freedesktop.login1";
constexpr const char* kLoginPath = "/org/freedesktop/login1";
constexpr const char* kLoginInterface = "org.freedesktop.login1.Manager";

}  // namespace

SleepWatch::SleepWatch(sdbus::IConnection& connection, Callback callback)
    : login_{bus::make_proxy(connection, kLogin, kLoginPath)} {
    login_->uponSignal("PrepareForSleep")
        .onInterface(kLoginInterface)
        .call([callback = std::move(callback)](bool is_about_to_sleep) {
            (void)bus::attempt([&] { callback(is_about_to_sleep); });
        });
#ifndef GPUPROBE_SDBUS_2  // sdbus-c++ 2 registers signal handlers immediately
    login_->finishRegistration();
#endif
}

LogControl::LogControl(sdbus::IConnection& connection, Log& log)
    : AdaptorInterfaces{connection, sdbus::ObjectPath{bus::kLogControlPath}}, log_{log} {
    registerAdaptor();
}

LogControl::~LogControl() {
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

std::string LogControl::LogLevel() {
    return std::string{name_of(log_.level())};
}

std::string LogControl::LogTarget() {
    return std::string{name_of(log_.target())};
}

/// The function is never called in practice, because Service::decide_write() handles all writes
/// first.
void LogControl::refuse() {
    throw bus::sdbus_error(
        Error{ErrorCode::NotAuthorized, "only root may change the log settings"});
}

Status LogControl::set(const std::string& property, const std::string& word) {
    // Use the full names, because inside this class LogLevel and LogTarget are the property
    // functions.
    const auto level = enum_from<gpuprobe::LogLevel>(word);
    const auto target = enum_from<gpuprobe::LogTarget>(word);
    if (property == "LogLevel" && level)
        log_.set_level(*level);
    else if (property == "LogTarget" && target)
        log_.set_target(*target);
    else
        return Error{ErrorCode::InvalidRequest, property + ": unknown property or value"};
    return Done{};
}

Service::Root::Root(sdbus::IConnection& connection) {
    bus::add_object_manager(connection, bus::kRootPath);
}

// The members are initialized in the order of their declaration: first the parts that decide who
// may do what, then the objects that use them.
Service::Service(bus::Connection& connection, EventLoop& loop, CallServer& server, Log& log)
    : connection_{connection},
      root_{connection.bus()},
      callers_{connection.bus()},
      authority_{connection.bus(), callers_, server.admission()},
      calls_{connection, loop, server, callers_, authority_, gpus_},
      gpus_{connection, server},
      manager_{connection, server, gpus_, calls_},
      log_control_{connection.bus(), log},
      sleep_{connection.bus(),
             [&engine = server.engine()](bool is_about_to) { engine.sleeps(is_about_to); }} {
    connection.on_write([this](const bus::PropertyWrite& write, bus::Connection::WriteDone done) {
        return decide_write(write, std::move(done));
    });
    update();
}

Service::~Service() {
    connection_.on_write({});
}

bool Service::decide_write(const bus::PropertyWrite& write, bus::Connection::WriteDone done) {
    if (write.interface != LogControl::INTERFACE_NAME)
        return false;
    callers_.credentials_of(write.sender, [this, write, done = std::move(done)](
                                              const Result<bus::Credentials>& caller) {
        if (!caller)
            done(caller.error());
        else if (Authority::is_trusted(*caller))
            done(log_control_.set(write.property, write.text));
        else
            done(Error{ErrorCode::NotAuthorized, "only root may change " + write.property});
    });
    return true;
}

void Service::update() {
    gpus_.update(calls_);
    manager_.update();
    connection_.update();
}

BusSession::BusSession(
    std::string where, std::string name, EventLoop& loop, CallServer& server, Log& log)
    : where_{std::move(where)}, name_{std::move(name)}, loop_{loop}, server_{server}, log_{log} {}

void BusSession::update() try {
    if (service_)
        service_->update();
    if (switcheroo_)
        switcheroo_->update();
} catch (const std::exception& problem) {
    lost(problem.what());
}

Status BusSession::start() {
    TRY(connect(kAfterPredecessor));
    show();
    return Done{};
}

/// Connects and waits up to `patience` for the name.
Status BusSession::connect(Duration patience) {
    auto connection = TRY(bus::Connection::open(where_, loop_));
    TRY(connection->own_name(name_, patience));
    connection_ = std::move(connection);
    return Done{};
}

/// Exports the objects. If the bus is lost during the export, the loss is handled like a later
/// loss.
void BusSession::show() try {
    service_ = std::make_unique<Service>(*connection_, loop_, server_, log_);
    if (serves_switcheroo_)
        show_switcheroo(*connection_);
    connection_->on_use([this] {
        if (used_)
            used_();
    });
    connection_->start([this](const std::string& reason) { lost(reason); });
} catch (const std::exception& problem) {
    lost(problem.what());
}

/// Exports the switcheroo-control interface. Export the object before acquiring the name, so that
/// clients that wait for the name find the object. If switcheroo-control owns the name, the object
/// is removed again.
void BusSession::show_switcheroo(bus::Connection& connection) {
    switcheroo_ = std::make_unique<SwitcherooObject>(connection.bus(), server_.engine());
    if (const auto owned = connection.own_name(SwitcherooObject::kName); !owned) {
        switcheroo_.reset();
        log_.write(LogLevel::Warning, owned.error().text);
    }
}

void BusSession::lost(const std::string& reason) {
    log_.write(LogLevel::Warning, "bus " + where_ + ": lost: " + reason);
    // Keep this order, because the objects use the connection.
    switcheroo_.reset();
    service_.reset();
    connection_.reset();
    wait_ = kFirstRetry;
    retry();
}

/// Tries to connect after wait_, which doubles up to kLastRetry with each failure.
void BusSession::retry() {
    retry_ = loop_.after(wait_, [this] {
        const auto connected = connect(Duration::zero());  // no need to wait: retry() tries again
        if (connected) {
            log_.write(LogLevel::Notice, "bus " + where_ + ": back");
            return show();
        }
        log_.write(LogLevel::Debug, connected.error().text);
        wait_ = std::min(2 * wait_, kLastRetry);
        retry();
    });
}

}  // namespace gpuprobe::inline service
