// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace gpuprobe::inline plan {

/// Walks through bytes, little-endian. Each read is nullopt at the end, and nothing is read then.
class ByteCursor {
public:
    explicit ByteCursor(std::string_view bytes) : bytes_{bytes} {}

    [[nodiscard]] std::uint64_t position() const { return position_; }
    [[nodiscard]] std::uint64_t left() const { return bytes_.size() - position_; }

    template <std::unsigned_integral T>
    std::optional<T> take() {
        const auto raw = take_bytes(sizeof(T));
        if (!raw)
            return std::nullopt;
        T number = 0;
        for (std::size_t i = sizeof(T); i-- > 0;)
            number = static_cast<T>((static_cast<std::uint64_t>(number) << 8U) |
                                    static_cast<unsigned char>((*raw)[i]));
        return number;
    }

    std::optional<std::string_view> take_bytes(std::uint64_t count) {
        if (count > left())
            return std::nullopt;
        const auto piece = bytes_.substr(position_, count);
        position_ += count;
        return piece;
    }

private:
    std::string_view bytes_;
    std::size_t position_ = 0;
};

}  // namespace gpuprobe::inline plan
