// SPDX-License-Identifier: Apache-2.0
#include "service/service.h"

#include "wire/names.h"

namespace gpuprobe::inline service {

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
