// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemd/sd-bus.h>

namespace gpuprobe::bus {

/// The most values that a call may hold: elements of arrays, members of entries and contents of
/// variants, in all arguments together. No method needs more.
constexpr int kMaxElements = 4096;

/// Whether the body of `message` holds more than kMaxElements, or nests deeper than the bus lets
/// anybody. It looks no further than that, takes nothing apart, and leaves the message at its
/// start.
///
/// sdbus-c++ makes a message of each variant before a method sees its arguments. A call of the 32
/// MiB that a bus carries would take two GiB and twenty seconds.
[[nodiscard]] bool holds_too_much(sd_bus_message* message);

}  // namespace gpuprobe::bus
