// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "inventory/object_file.h"

namespace gpuprobe {

/// Provides a string as the content of a file.
class TextPieces final : public Pieces {
public:
    explicit TextPieces(std::string text) : text_{std::move(text)} {}
    [[nodiscard]] std::uint64_t size() const override { return text_.size(); }
    Result<std::string> read(std::uint64_t offset, std::uint64_t count) override {
        return offset >= text_.size() ? std::string{} : text_.substr(offset, count);
    }

private:
    std::string text_;
};

}  // namespace gpuprobe
