// SPDX-License-Identifier: Apache-2.0
#include "service/service.h"

#include "wire/names.h"

namespace gpuprobe {

Service::Root::Root(sdbus::IConnection& connection) {
    bus::add_object_manager(connection, bus::kRootPath);
}

Service::Service(bus::Connection& connection, const ServiceContext& context, Log& log)
    : connection_{connection},
      root_{connection.bus()},
      callers_{connection.bus()},
      views_{context.engine},
      authority_{connection.bus()},
      access_{.callers = callers_, .views = views_, .authority = authority_},
      gpus_{connection.bus(), context, access_},
      jobs_{connection, context},
      advice_{context, access_},
      manager_{connection, context, gpus_, jobs_, access_, advice_},
      log_control_{connection.bus(), log},
      sleep_{connection.bus(),
             [&engine = context.engine](bool is_about_to) { engine.sleeps(is_about_to); }} {
    update();
}

void Service::update() {
    gpus_.update();
    manager_.update();
    connection_.update();
}

}  // namespace gpuprobe
