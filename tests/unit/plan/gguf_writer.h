// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::support {

/// Writes the header of a GGUF file field by field, so that a test can write any field incorrectly.
class GgufWriter {
public:
    explicit GgufWriter(std::uint64_t tensors = 0,
                        std::uint64_t keys = 0,
                        std::uint32_t version = 3) {
        raw("GGUF").u32(version).u64(tensors).u64(keys);
    }

    GgufWriter& raw(std::string_view bytes) {
        bytes_ += bytes;
        return *this;
    }
    GgufWriter& u8(std::uint8_t number) { return little(number, 1); }
    GgufWriter& u32(std::uint32_t number) { return little(number, 4); }
    GgufWriter& u64(std::uint64_t number) { return little(number, 8); }
    GgufWriter& text(std::string_view text) { return u64(text.size()).raw(text); }

    GgufWriter& key(std::string_view name, std::uint32_t type) { return text(name).u32(type); }
    GgufWriter& number(std::string_view name, std::uint32_t value) {
        return key(name, 4).u32(value);
    }
    GgufWriter& words(std::string_view name, std::string_view value) {
        return key(name, 8).text(value);
    }
    /// A list of uint32.
    GgufWriter& list(std::string_view name, const std::vector<std::uint32_t>& items) {
        key(name, 9).u32(4).u64(items.size());
        for (const auto item : items)
            u32(item);
        return *this;
    }
    GgufWriter& tensor(std::string_view name,
                       const std::vector<std::uint64_t>& shape,
                       std::uint32_t type,
                       std::uint64_t offset) {
        text(name).u32(static_cast<std::uint32_t>(shape.size()));
        for (const auto length : shape)
            u64(length);
        return u32(type).u64(offset);
    }
    /// The header, padded with zeros to a multiple of `step` and followed by `more` bytes.
    GgufWriter& padded(std::size_t step, std::size_t more = 0) {
        bytes_.resize((bytes_.size() + step - 1) / step * step + more);
        return *this;
    }

    [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
    GgufWriter& little(std::uint64_t number, int width) {
        for (int i = 0; i < width; ++i)
            bytes_ += static_cast<char>(number >> static_cast<unsigned>(8 * i));
        return *this;
    }
    std::string bytes_ = {};
};

}  // namespace gpuprobe::support
