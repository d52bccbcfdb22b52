// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/sdbus.h"

namespace gpuprobe::bus {

/// An answer of type a{sv} that is recorded once and can be sent many times.
///
/// sd-bus can't append a body as a whole. sd_bus_message_copy, which sdbus::Variant uses, reads and
/// checks each value before it appends it. That took 43 µs for a decision with 360 values; to
/// append the values alone, as this does, took 16 µs (libsystemd 252).
class RecordedBody {
public:
    /// A body without any value: the answer of a method that returns nothing.
    RecordedBody() = default;
    /// `maker` makes the message to record from, which is not sent. Errors: Internal for what
    /// cannot be recorded, such as descriptors.
    static Result<RecordedBody> of(const Dictionary& answer, sdbus::IObject& maker);

    /// Answers `call`, which is being handled. Errors: Internal; the call is then unanswered.
    [[nodiscard]] Status answer(sd_bus_message* call) const;

private:
    /// One call to sd_bus_message_open_container, close_container or append_basic.
    struct Step {
        enum class Kind : std::uint8_t { Open, Close, Text, Number };
        Kind kind = Kind::Close;
        char type = 0;
        std::uint32_t text = 0;    ///< where in texts_: a container's contents, or a string
        std::uint64_t number = 0;  ///< as sd_bus_message_read_basic(3) leaves it
    };

    [[nodiscard]] Status record(sd_bus_message* source, int depth);
    [[nodiscard]] Status record_basic(sd_bus_message* source, char type);
    [[nodiscard]] int append(sd_bus_message* message, const Step& step) const;
    std::uint32_t keep(const char* text);

    std::vector<Step> steps_ = {};
    std::string texts_ = {};  ///< each ends with NUL
};

}  // namespace gpuprobe::bus
