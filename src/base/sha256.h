// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace gpuprobe::inline base {

/// SHA-256 over data that is added piece by piece. Source: FIPS 180-4; implemented by nettle.
class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    void add(std::string_view bytes);
    /// Returns the hash as 64 lower-case hexadecimal digits, and resets the object.
    [[nodiscard]] std::string take();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The hash of one string, in the format of Sha256::take().
std::string sha256_of(std::string_view bytes);

}  // namespace gpuprobe::inline base
