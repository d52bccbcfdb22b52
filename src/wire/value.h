// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "base/value.h"
#include "wire/sdbus.h"

/// Converts values to and from D-Bus variants. Both directions have limits, because libdbus refuses
/// messages with more than 64 levels, and a dictionary of variants takes three of them.
///
/// D-Bus has no null. Members of records are omitted when they are unknown (wire/record.h). Data
/// that is passed through keeps its nulls: each becomes an empty array of variants.
namespace gpuprobe::bus {

constexpr int kMaxDepth = 12;               ///< nested containers that we send
constexpr int kMaxReceivedDepth = 4;        ///< nested containers that we accept; requests need 3
constexpr std::size_t kMaxItems = 4096;     ///< items of a container that we send
constexpr std::size_t kMaxReceived = 1024;  ///< total number of values in a request
constexpr Bytes kMaxReceivedText = kib(4);

/// The members of a{sv}, in their original order.
struct Members {
    std::vector<std::pair<std::string, sdbus::Variant>> list = {};
};
sdbus::Message& operator<<(sdbus::Message& message, const Members& members);
sdbus::Message& operator>>(sdbus::Message& message, Members& members);

/// Converts a caller's data. Integers of all widths become integers, object paths and signatures
/// become strings.
///
/// Errors: InvalidRequest for types that our interfaces do not use (structs, descriptors, maps with
/// other keys), and over a limit.
Result<Value> value_from(const sdbus::Variant& variant);
Result<Value> value_from(const Dictionary& dictionary);

/// Converts data from the daemon, which may be large and contain nulls. Errors: Malformed for types
/// that variant_from() does not produce, and beyond kMaxDepth.
Result<Value> data_from(const sdbus::Variant& variant);

/// Converts a value: booleans to `b`, numbers to `d`, integers to `x` (`t` above INT64_MAX),
/// strings to `s`, objects to `a{sv}`. Arrays become `as`, `ax`, `aa{sv}`, or `av` if their items
/// differ in type. An empty array becomes `as`, and null an empty `av`. Content over a limit is
/// omitted.
sdbus::Variant variant_from(const Value& value);

/// The members of an object as a dictionary; empty for other values.
Dictionary dictionary_from(const Value& object);

}  // namespace gpuprobe::bus

template <>
struct sdbus::signature_of<gpuprobe::bus::Members>
    : sdbus::signature_of<gpuprobe::bus::Dictionary> {};
