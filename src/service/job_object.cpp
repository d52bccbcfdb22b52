// SPDX-License-Identifier: Apache-2.0
#include "service/job_object.h"

#include <algorithm>
#include <utility>

namespace gpuprobe::inline service {

JobObject::JobObject(sdbus::IConnection& connection,
                     const std::string& path,
                     uid_t started_by,
                     bus::Reply<bus::Dictionary> reply,
                     OnCancel on_cancel)
    : AdaptorInterfaces{connection, sdbus::ObjectPath{path}},
      started_by_{started_by},
      reply_{std::move(reply)},
      on_cancel_{std::move(on_cancel)} {
    registerAdaptor();
    (void)bus::attempt([this] { emitInterfacesAddedSignal(); });
}

JobObject::~JobObject() {
    if (!ended_)
        fail(Error{ErrorCode::Cancelled, "the operation was given up"});
    (void)bus::attempt([this] { emitInterfacesRemovedSignal(); });
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

void JobObject::set_progress(double part) {
    constexpr double kStep = 0.01;  // finer steps would only wake listeners
    part = std::clamp(part, 0.0, 1.0);
    if (part < progress_ + kStep)
        return;
    progress_ = part;
    (void)bus::attempt([this] {
        emitPropertiesChangedSignal(Job_adaptor::INTERFACE_NAME, bus::property_names({"Progress"}));
    });
}

void JobObject::succeed(const bus::Dictionary& answer) {
    ended_ = true;
    reply_.send(answer);
    (void)bus::attempt([this] { emitCompleted(true, ""); });
}

void JobObject::fail(const Error& error) {
    ended_ = true;
    reply_.fail(error);
    (void)bus::attempt([&] { emitCompleted(false, bus::error_name(error.code)); });
}

void JobObject::Cancel(sdbus::Result<>&& result) {
    bus::guard(
        [&] { on_cancel_(bus::current_sender(getObject()), bus::Reply<>{std::move(result)}); });
}

}  // namespace gpuprobe::inline service
