// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// Hears from logind that the machine is about to sleep, and that it is awake again.
/// Source: org.freedesktop.login1(5), PrepareForSleep.
class SleepWatch {
public:
    using Told = std::function<void(bool is_about_to_sleep)>;

    /// `connection` must outlive this. Without logind, `told` is never called.
    SleepWatch(sdbus::IConnection& connection, Told told);

private:
    std::unique_ptr<sdbus::IProxy> login_;
};

}  // namespace gpuprobe::inline service
