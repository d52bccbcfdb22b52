// SPDX-License-Identifier: Apache-2.0
#include "wire/message_size.h"

namespace gpuprobe::bus {
namespace {

/// Arrays and structs may nest 32 levels each. Source: D-Bus Specification, "Valid Signatures".
constexpr int kMaxNesting = 64;

bool is_container(char type) {
    return type == SD_BUS_TYPE_ARRAY || type == SD_BUS_TYPE_VARIANT || type == SD_BUS_TYPE_STRUCT ||
           type == SD_BUS_TYPE_DICT_ENTRY;
}

/// Takes what is left of the container that `message` stands in off `left`. False where that does
/// not suffice. What makes no sense ends it early, for whoever reads it next.
// NOLINTNEXTLINE(misc-no-recursion): as deep as kMaxNesting
bool count(sd_bus_message* message, int& left, int nesting) {
    char type = 0;
    const char* contents = nullptr;
    while (sd_bus_message_peek_type(message, &type, &contents) > 0) {
        if (--left < 0 || nesting > kMaxNesting)
            return false;
        if (!is_container(type)) {
            if (sd_bus_message_skip(message, nullptr) < 0)
                return true;
            continue;
        }
        if (sd_bus_message_enter_container(message, type, contents) < 0)
            return true;
        if (!count(message, left, nesting + 1))
            return false;
        if (sd_bus_message_exit_container(message) < 0)
            return true;
    }
    return true;
}

}  // namespace

bool holds_too_much(sd_bus_message* message) {
    int left = kMaxElements;
    const bool fits = count(message, left, 0);
    (void)sd_bus_message_rewind(message, 1);
    return !fits;
}

}  // namespace gpuprobe::bus
