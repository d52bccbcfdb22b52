// SPDX-License-Identifier: Apache-2.0
#include "service/bus_session.h"

#include <algorithm>

#include "base/process.h"
#include "wire/reply.h"

namespace gpuprobe::inline service {

BusSession::BusSession(
    std::string where, std::string name, EventLoop& loop, const ServiceContext& context, Log& log)
    : where_{std::move(where)}, name_{std::move(name)}, loop_{loop}, context_{context}, log_{log} {}

void BusSession::update() {
    if (service_)
        service_->update();
    if (switcheroo_)
        switcheroo_->update();
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

/// Exports the objects. Losing the bus during this is handled like losing it later.
void BusSession::show() try {
    service_ = std::make_unique<Service>(*connection_, loop_, context_, log_);
    if (serves_switcheroo_)
        show_switcheroo(*connection_);
    connection_->on_use([this] {
        if (used_)
            used_();
    });
    connection_->start([this](const std::string& reason) { lost(reason); });
} catch (const sdbus::Error& problem) {
    lost(problem.getMessage());
}

/// Exports the switcheroo-control interface. The object comes before the name, so that clients that
/// wait for the name find it. If switcheroo-control owns the name, the object is removed again.
void BusSession::show_switcheroo(bus::Connection& connection) {
    switcheroo_ = std::make_unique<SwitcherooObject>(connection.bus(), context_.engine);
    if (const auto owned = connection.own_name(SwitcherooObject::kName); !owned) {
        switcheroo_.reset();
        log_.write(LogLevel::Warning, owned.error().text);
    }
}

void BusSession::lost(const std::string& reason) {
    log_.write(LogLevel::Warning, "bus " + where_ + ": lost: " + reason);
    // In this order: the objects use the connection.
    switcheroo_.reset();
    service_.reset();
    connection_.reset();
    wait_ = kFirstRetry;
    retry();
}

/// Tries to connect after wait_, which doubles up to kLastRetry with each failure.
void BusSession::retry() {
    retry_ = loop_.after(wait_, [this] {
        const auto connected = connect(Duration::zero());  // no need to wait: retry() repeats
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
