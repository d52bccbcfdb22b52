// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/value.h"
#include "wire/sdbus.h"

/// Value and D-Bus variants. libdbus refuses messages that are nested over 64 levels (a dictionary
/// of variants takes three of them), so both directions have limits.
///
/// D-Bus has no null. Members of our records are left out when they are unknown (wire/record.h),
/// but data that is passed on as it is keeps its nulls: each is an empty array of variants.
namespace gpuprobe::bus {

constexpr int kMaxDepth = 12;            ///< containers within containers that we send
constexpr int kMaxReceivedDepth = 4;     ///< that we accept; no request of ours nests more than 3
constexpr std::size_t kMaxItems = 4096;  ///< of one container that we send
constexpr std::size_t kMaxReceived = 1024;  ///< values in all that one request may hold
constexpr Bytes kMaxReceivedText = kib(4);

/// a{sv} in the order in which it was written.
struct Members {
    std::vector<std::pair<std::string, sdbus::Variant>> list = {};
};
sdbus::Message& operator<<(sdbus::Message& message, const Members& members);
sdbus::Message& operator>>(sdbus::Message& message, Members& members);

/// What a caller sent. Numbers of any width become integers, object paths and signatures strings.
///
/// Errors: InvalidRequest for a type that no interface of ours uses (structs, descriptors, maps
/// with other keys) and over a limit.
Result<Value> value_from(const sdbus::Variant& variant);
Result<Value> value_from(const Dictionary& dictionary);

/// Data that the daemon sent, which may be as large as it says and holds nulls.
/// Errors: Malformed for types of which variant_from() makes none, and over kMaxDepth.
Result<Value> data_from(const sdbus::Variant& variant);

/// Booleans are `b`, numbers `d`, integers `x` (`t` above INT64_MAX), strings `s`, objects `a{sv}`;
/// arrays are `as`, `ax`, `aa{sv}` or, when mixed, `av`; an empty one is `as`, and a null an empty
/// `av`. What is over a limit is left out.
sdbus::Variant variant_from(const Value& value);

/// The members of an object as a dictionary; empty for anything else.
Dictionary dictionary_from(const Value& object);

}  // namespace gpuprobe::bus

template <>
struct sdbus::signature_of<gpuprobe::bus::Members>
    : sdbus::signature_of<gpuprobe::bus::Dictionary> {};
