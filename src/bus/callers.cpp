// SPDX-License-Identifier: Apache-2.0
#include "bus/callers.h"

#include <utility>

#include "bus/errors.h"

namespace gpuprobe::bus {

constexpr const char* kDriver = "org.freedesktop.DBus";

Callers::Callers(sdbus::IConnection& connection)
    : bus_{make_proxy(connection, kDriver, "/org/freedesktop/DBus")} {
#ifndef GPUPROBE_SDBUS_2
    bus_->finishRegistration();
#endif
}

Callers::~Callers() = default;

void Callers::uid_of(const std::string& sender, std::function<void(Result<uid_t>)> answer) {
    const auto reply = [answer](ReplyError problem, std::uint32_t uid) {
        if (problem)
            answer(Error{ErrorCode::NotAuthorized, "the bus does not know the caller"});
        else
            answer(static_cast<uid_t>(uid));
    };
    const bool asked = attempt([&] {
        bus_->callMethodAsync("GetConnectionUnixUser")
            .onInterface(kDriver)
            .withArguments(sender)
            .uponReplyInvoke(reply);
    });
    if (!asked)
        answer(Error{ErrorCode::Unavailable, "the bus does not answer"});
}

}  // namespace gpuprobe::bus
