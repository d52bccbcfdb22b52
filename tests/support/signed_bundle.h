// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nettle/base64.h>
#include <nettle/eddsa.h>

#include "base/sha256.h"
#include "base/value.h"
#include "knowledge/library.h"

/// Signs bundles for tests. Each key consists of one repeated byte, and signs nothing else.
namespace gpuprobe::support {

using SecretKey = std::array<std::uint8_t, ED25519_KEY_SIZE>;

inline SecretKey secret_key(std::uint8_t seed) {
    SecretKey key;
    key.fill(seed);
    return key;
}

inline std::string base64_line(std::string_view bytes) {
    std::string line(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
    base64_encode_raw(line.data(), bytes.size(),
                      reinterpret_cast<const std::uint8_t*>(bytes.data()));
    return line + "\n";
}

/// The base64 line with "Ed", a key number of eight bytes, and the content.
template <std::size_t Size>
std::string base64_line(std::uint8_t number, const std::array<std::uint8_t, Size>& content) {
    std::string bytes = "Ed" + std::string(8, static_cast<char>(number));
    bytes.append(reinterpret_cast<const char*>(content.data()), content.size());
    return base64_line(bytes);
}

inline std::string public_key_file(std::uint8_t seed, std::string_view comment = "test") {
    std::array<std::uint8_t, ED25519_KEY_SIZE> bytes = {};
    ed25519_sha512_public_key(bytes.data(), secret_key(seed).data());
    return "untrusted comment: " + std::string{comment} + "\n" + base64_line(seed, bytes);
}

inline std::string signed_by(std::uint8_t seed, std::string_view message) {
    const auto secret = secret_key(seed);
    std::array<std::uint8_t, ED25519_KEY_SIZE> own = {};
    ed25519_sha512_public_key(own.data(), secret.data());
    std::array<std::uint8_t, ED25519_SIGNATURE_SIZE> signature = {};
    ed25519_sha512_sign(own.data(), secret.data(), message.size(),
                        reinterpret_cast<const std::uint8_t*>(message.data()), signature.data());
    return "untrusted comment: verify with test.pub\n" + base64_line(seed, signature) +
           std::string{message};
}

inline std::string release_of(std::string_view version, std::string_view expires) {
    return R"({"schema":"gpuprobe.knowledge/1","version":")" + std::string{version} +
           R"(","issued":"2026-12-01","expires":")" + std::string{expires} + R"("})";
}

/// The head of a bundle that contains these documents.
inline Value head_for(const std::map<std::string, std::string>& documents,
                      std::string_view version,
                      std::string_view expires) {
    Value head;
    head["schema"] = "gpuprobe.bundle/1";
    head["version"] = version;
    head["issued"] = "2026-12-01";
    head["expires"] = expires;
    head["documents"] = Value{Value::Array{}};
    for (const auto& [name, text] : documents) {
        Value entry;
        entry["name"] = name;
        entry["sha256"] = sha256_of(text);
        entry["bytes"] = to_value(static_cast<std::uint64_t>(text.size()));
        head["documents"].push_back(std::move(entry));
    }
    return head;
}

inline std::string message_of(const Value& head,
                              const std::map<std::string, std::string>& documents) {
    auto message = json_line(head) + "\n";
    for (const auto& [name, text] : documents)
        message += text;
    return message;
}

/// The message of a bundle that contains these documents and a release.
inline std::string bundle_message(std::map<std::string, std::string> documents,
                                  std::string_view version = "2027.1.1",
                                  std::string_view expires = "2028-01-01") {
    documents.emplace("release", release_of(version, expires));
    return message_of(head_for(documents, version, expires), documents);
}

}  // namespace gpuprobe::support
