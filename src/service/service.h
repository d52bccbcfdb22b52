// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "service/advice_calls.h"
#include "service/log_control.h"
#include "service/manager_object.h"
#include "service/sleep_watch.h"
#include "wire/connection.h"

namespace gpuprobe {

/// All objects on one connection. A new connection gets new ones; the engine stays.
class Service {
public:
    Service(bus::Connection& connection, const ServiceContext& context, Log& log);

    /// To be called when the engine's report has changed. It updates the objects first and the
    /// manager's Generation last, so that clients that wait for a generation see its objects.
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
