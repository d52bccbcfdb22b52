// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "base/value.h"
#include "wire/sdbus.h"

/// Value and D-Bus variants. D-Bus has no null, and libdbus refuses messages nested over 64 levels
/// (a dictionary of variants takes three of them), so both directions have limits.
namespace gpuprobe::bus {

constexpr int kMaxDepth = 12;              ///< containers within containers that we send
constexpr int kMaxReceivedDepth = 4;       ///< that we accept; no request of ours nests more than 2
constexpr std::size_t kMaxItems = 4096;    ///< of one container that we send
constexpr std::size_t kMaxReceived = 256;  ///< values in all that one request may hold
constexpr Bytes kMaxReceivedText = kib(4);

/// The value that a peer sent. Numbers of any width become integers, object paths and signatures
/// strings.
///
/// Errors: InvalidRequest for a type that no interface of ours uses (structs, descriptors, maps
/// with other keys) and over a limit.
Result<Value> value_from(const sdbus::Variant& variant);
Result<Value> value_from(const Dictionary& dictionary);

/// The members of an object as a dictionary; empty for anything else.
///
/// Booleans are `b`, numbers `d`, integers `x` (`t` above INT64_MAX), strings `s`, objects `a{sv}`;
/// arrays are `as`, `ax`, `aa{sv}` or, when mixed, `av`; an empty one is `as`. Nulls are left out,
/// and so is what is over a limit.
Dictionary dictionary_from(const Value& object);
/// The same with keys as D-Bus spells them: "duration_usec" becomes "DurationUsec". Below "Detail"
/// and "Device", which hold data and not members of ours, keys stay as they are.
Dictionary record_dictionary(const Value& record);
/// An array of records; what is no object is left out.
std::vector<Dictionary> record_dictionaries(const Value& records);

}  // namespace gpuprobe::bus
