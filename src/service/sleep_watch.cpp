// SPDX-License-Identifier: Apache-2.0
#include "service/sleep_watch.h"

#include "wire/errors.h"

namespace gpuprobe::inline service {
namespace {

constexpr const char* kLogin = "org.freedesktop.login1";
constexpr const char* kLoginPath = "/org/freedesktop/login1";
constexpr const char* kInterface = "org.freedesktop.login1.Manager";

}  // namespace

SleepWatch::SleepWatch(sdbus::IConnection& connection, Told told)
    : login_{bus::make_proxy(connection, kLogin, kLoginPath)} {
    login_->uponSignal("PrepareForSleep")
        .onInterface(kInterface)
        .call([told = std::move(told)](bool is_about_to_sleep) {
            (void)bus::attempt([&] { told(is_about_to_sleep); });
        });
#ifndef GPUPROBE_SDBUS_2
    login_->finishRegistration();
#endif
}

}  // namespace gpuprobe::inline service
