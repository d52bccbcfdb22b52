// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <systemd/sd-bus.h>

namespace gpuprobe::bus {

/// Elements of arrays, members of entries and what is in variants, of all of a call's arguments: of
/// what has more, no method of ours has any use.
constexpr int kMaxElements = 4096;

/// Whether the body of `message` holds more than kMaxElements, or nests deeper than the bus lets
/// anybody. It looks no further than that, takes nothing apart, and leaves the message at its
/// start.
///
/// sdbus-c++ makes a message of each variant before a method sees its arguments: of the 32 MiB that
/// a bus carries, two GiB, in a turn of twenty seconds.
[[nodiscard]] bool holds_too_much(sd_bus_message* message);

}  // namespace gpuprobe::bus
