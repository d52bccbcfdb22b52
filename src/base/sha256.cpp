// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <array>

#include <nettle/sha2.h>

namespace gpuprobe::inline base {

struct Sha256::State {
    sha256_ctx context = {};
};

Sha256::Sha256() : state_{std::make_unique<State>()} {
    sha256_init(&state_->context);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) {
    sha256_update(&state_->context, bytes.size(),
                  reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string Sha256::take() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest = {};
    // sha256_digest() also resets the context.
    sha256_digest(&state_->context, digest.size(), digest.data());
    std::string text;
    for (const auto byte : digest) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 0xfU];
    }
    return text;
}

std::string sha256_of(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.take();
}

}  // namespace gpuprobe::inline base
