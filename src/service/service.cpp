// SPDX-License-Identifier: Apache-2.0
#include "service/service.h"

#include "wire/errors.h"
#include "wire/names.h"

namespace gpuprobe::inline service {
namespace {

constexpr const char* kLogin = "org.freedesktop.login1";
constexpr const char* kLoginPath = "/org/freedesktop/login1";
constexpr const char* kLoginInterface = "org.freedesktop.login1.Manager";

template <class Word>
Word word_from(const std::string& text) {
    const auto word = enum_from<Word>(text);
    if (!word)
        throw bus::make_error("org.freedesktop.DBus.Error.InvalidArgs", "unknown word");
    return *word;
}

}  // namespace

SleepWatch::SleepWatch(sdbus::IConnection& connection, Told told)
    : login_{bus::make_proxy(connection, kLogin, kLoginPath)} {
    login_->uponSignal("PrepareForSleep")
        .onInterface(kLoginInterface)
        .call([told = std::move(told)](bool is_about_to_sleep) {
            (void)bus::attempt([&] { told(is_about_to_sleep); });
        });
#ifndef GPUPROBE_SDBUS_2
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

void LogControl::LogLevel(const std::string& value) {
    bus::guard([&] { log_.set_level(word_from<gpuprobe::LogLevel>(value)); });
}

std::string LogControl::LogTarget() {
    return std::string{name_of(log_.target())};
}

void LogControl::LogTarget(const std::string& value) {
    bus::guard([&] { log_.set_target(word_from<gpuprobe::LogTarget>(value)); });
}

Service::Root::Root(sdbus::IConnection& connection) {
    bus::add_object_manager(connection, bus::kRootPath);
}

Service::Service(bus::Connection& connection,
                 EventLoop& loop,
                 const ServiceContext& context,
                 Log& log)
    : connection_{connection},
      root_{connection.bus()},
      callers_{connection.bus()},
      views_{context.engine},
      authority_{connection.bus()},
      turns_{loop, [&connection] { connection.update(); },
             [&connection] { return connection.has_input(); },
             [&connection] { return connection.untaken(); }},
      access_{.callers = callers_, .views = views_, .authority = authority_, .turns = turns_},
      gpus_{connection, context, access_},
      jobs_{connection, context},
      manager_{connection, context, gpus_, jobs_, access_},
      log_control_{connection.bus(), log},
      sleep_{connection.bus(),
             [&engine = context.engine](bool is_about_to) { engine.sleeps(is_about_to); }} {
    connection.admit_by([this](const std::string& sender) { return admit(sender); },
                        [this](Duration time) { turns_.spent(time); });
    connection.on_taken([this] { turns_.go_on(); });
    connection.before_reading([this] { turns_.before_reading(); });
    update();
}

Service::~Service() {
    connection_.admit_by({}, {});
    connection_.on_taken({});
    connection_.before_reading({});
}

Status Service::admit(const std::string& sender) {
    if (const auto* known = callers_.known(sender))
        return turns_.admit(known->uid);
    const auto waiting = callers_.waiting(sender);
    const bool are_many = waiting >= kMaxUnknown && callers_.waiting() >= kMaxUnknownOfAll;
    if (are_many || connection_.untaken() >= kMaxUntaken)
        return Error{ErrorCode::TooManyRequests,
                     "too many calls before the bus said whose they are"};
    if (waiting == 0)
        callers_.credentials_of(sender, [](const Result<bus::Credentials>&) {});
    return Done{};
}

void Service::update() {
    gpus_.update();
    manager_.update();
    connection_.update();
}

}  // namespace gpuprobe::inline service
