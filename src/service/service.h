// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "service/advice_calls.h"
#include "service/log_control.h"
#include "service/manager_object.h"
#include "service/sleep_watch.h"
#include "wire/connection.h"

namespace gpuprobe {

/// Everything we show on one connection. Made anew for each connection; the engine stays.
class Service {
public:
    Service(bus::Connection& connection, const ServiceContext& context, Log& log);

    /// The engine has something new: objects first, then the manager's Generation, so that who
    /// waits for that sees everything else in place.
    void update();

private:
    /// First, so that objects below it are announced.
    struct Root {
        explicit Root(sdbus::IConnection& connection);
    };

    bus::Connection& connection_;
    Root root_;
    bus::Callers callers_;
    ReportViews views_;
    Authority authority_;
    CallerAccess access_;
    GpuObjects gpus_;
    Jobs jobs_;
    AdviceCalls advice_;
    ManagerObject manager_;
    LogControl log_control_;
    SleepWatch sleep_;
};

}  // namespace gpuprobe
