// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"
#include "report/outcome.h"
#include "wire/reply.h"
#include "wire/sdbus.h"

/// Converts values to and from D-Bus variants. Both directions have limits, because libdbus refuses
/// messages with more than 64 levels, and a dictionary of variants takes three of them.
///
/// D-Bus has no null. Members of records are omitted when they are unknown (wire/dictionary.h).
/// Data that is passed through keeps its nulls: each becomes an empty array of variants.

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

/// Converts records to dictionaries (a{sv}) and back. It uses the same descriptions as the
/// conversion to JSON (base/record.h).
///
/// Keys are written in D-Bus's style: "duration_usec" becomes "DurationUsec". The D-Bus type of a
/// member follows from its C++ type: text, enumerations and textual types `s`, bool `b`, signed
/// integers, durations and instants `x`, std::uint32_t `u`, other unsigned integers and sizes `t`,
/// double `d`, lists `as` or `aa{sv}`, maps of text `a{ss}`, records and other maps `a{sv}`, and
/// Value as in variant_from(). Ids of GPUs, that is members called `gpu` and `gpus`, are object
/// paths. Unknown members are left out.

namespace gpuprobe::bus {

/// Converts a key: "duration_usec" → "DurationUsec".
std::string bus_key(std::string_view key);

/// Whether the member with this key holds ids of GPUs.
inline bool names_gpus(std::string_view key) {
    return key == "gpu" || key == "gpus";
}

/// The GPU and backend of the record that contains a reason; empty if it has none.
struct ReasonOwner {
    std::string gpu = {};
    std::string backend = {};
};

/// Information that is not part of a record. It must live as long as the writer.
struct BusEncoding {
    std::function<std::string(const std::string& id)> path_of = {};
    /// Adds display texts of a reason: "Text", and also "Fix" if there is one.
    std::function<void(const Reason&, const ReasonOwner&, Dictionary&)> add_words = {};
};

/// A visitor that writes a record's members into a dictionary.
class DictionaryWriter {
public:
    /// `left_out`: keys of members to omit.
    explicit DictionaryWriter(const BusEncoding& encoding,
                              std::vector<std::string_view> left_out = {})
        : encoding_{encoding}, left_out_{std::move(left_out)} {}

    template <class T>
    void operator()(std::string_view key, const T& member) {
        if constexpr (std::convertible_to<const T&, std::optional<std::string>>)
            note(key, member);
        if (std::ranges::find(left_out_, key) == left_out_.end())
            add(key, member);
    }
    Dictionary take() { return std::move(dictionary_); }

private:
    /// Remembers the owner of the reasons that follow.
    void note(std::string_view key, const std::optional<std::string>& member) {
        if (key == "gpu")
            owner_.gpu = member.value_or("");
        else if (key == "backend")
            owner_.backend = member.value_or("");
    }
    template <class T>
    void add(std::string_view key, const T& member) {
        dictionary_.emplace(bus_key(key), variant_of(member, names_gpus(key)));
    }
    template <class T>
    void add(std::string_view key, const std::optional<T>& member) {
        if (member)
            add(key, *member);
    }
    void add(std::string_view key, const Value& member) {
        if (!member.is_null())
            dictionary_.emplace(bus_key(key), variant_from(member));
    }

    [[nodiscard]] sdbus::Variant variant_of(const std::string& text, bool is_gpu) const {
        return is_gpu ? sdbus::Variant{path_of(text)} : sdbus::Variant{bus_text(text)};
    }
    [[nodiscard]] sdbus::Variant variant_of(const std::vector<std::string>& texts,
                                            bool are_gpus) const;
    [[nodiscard]] sdbus::Variant variant_of(const std::map<std::string, std::string>& texts,
                                            bool) const;
    template <class T>
    [[nodiscard]] sdbus::Variant variant_of(const T& item, bool) const {
        if constexpr (std::same_as<T, Bytes>)
            return sdbus::Variant{item.count};
        else if constexpr (std::same_as<T, Duration>)
            return sdbus::Variant{std::int64_t{item.count()}};
        else if constexpr (std::same_as<T, WallTime>)
            return sdbus::Variant{std::int64_t{item.time_since_epoch().count()}};
        else if constexpr (NamedEnum<T>)
            return sdbus::Variant{std::string{name_of(item)}};
        else if constexpr (Textual<T>)
            return sdbus::Variant{bus_text(text_of(item))};
        else if constexpr (Described<T>)
            return sdbus::Variant{dictionary_of(item)};
        else if constexpr (std::signed_integral<T>)
            return sdbus::Variant{std::int64_t{item}};
        else if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool> &&
                           sizeof(T) > sizeof(std::uint32_t))
            return sdbus::Variant{std::uint64_t{item}};
        else
            return sdbus::Variant{item};
    }
    template <Described T>
    [[nodiscard]] sdbus::Variant variant_of(const std::vector<T>& records, bool) const {
        std::vector<Dictionary> list;
        list.reserve(records.size());
        for (const auto& record : records)
            list.push_back(dictionary_of(record));
        return sdbus::Variant{list};
    }
    template <class T>
    [[nodiscard]] sdbus::Variant variant_of(const std::map<std::string, T>& items, bool) const {
        Dictionary dictionary;
        for (const auto& [key, item] : items)
            dictionary.emplace(bus_text(key), variant_of(item, false));
        return sdbus::Variant{dictionary};
    }

    template <class T>
    [[nodiscard]] Dictionary dictionary_of(const T& record) const {
        DictionaryWriter writer{encoding_};
        describe(writer, const_cast<T&>(record));  // the writer takes every member as const
        return writer.take();
    }
    [[nodiscard]] Dictionary dictionary_of(const Reason& reason) const;
    [[nodiscard]] sdbus::ObjectPath path_of(const std::string& id) const;

    const BusEncoding& encoding_;
    std::vector<std::string_view> left_out_;
    ReasonOwner owner_ = {};
    Dictionary dictionary_ = {};
};

template <Described T>
Dictionary dictionary_of(const T& record,
                         const BusEncoding& encoding = {},
                         std::vector<std::string_view> left_out = {}) {
    DictionaryWriter writer{encoding, std::move(left_out)};
    describe(writer, const_cast<T&>(record));
    return writer.take();
}

template <Described T>
std::vector<Dictionary> dictionaries_of(const std::vector<T>& records,
                                        const BusEncoding& encoding = {}) {
    std::vector<Dictionary> list;
    for (const auto& record : records)
        list.push_back(dictionary_of(record, encoding));
    return list;
}

/// Object path → GPU id.
using GpuIds = std::map<std::string, std::string>;

/// A visitor that reads members from a dictionary. Ignores unknown keys and keeps the defaults of
/// missing members. Throws sdbus::Error if a member has an unexpected type.
class DictionaryReader {
public:
    DictionaryReader(const Dictionary& dictionary, const GpuIds& ids)
        : dictionary_{dictionary}, ids_{ids} {}

    template <class T>
    void operator()(std::string_view key, T& member) {
        const auto found = dictionary_.find(bus_key(key));
        if (found != dictionary_.end())
            read(found->second, names_gpus(key), member);
    }

private:
    template <class T>
    void read(const sdbus::Variant& variant, bool is_gpu, std::optional<T>& member) {
        read(variant, is_gpu, member.emplace());
    }
    void read(const sdbus::Variant& variant, bool, Value& member) {
        if (auto value = data_from(variant))
            member = std::move(value).value();
    }
    void read(const sdbus::Variant& variant, bool is_gpu, std::string& member);
    void read(const sdbus::Variant& variant, bool are_gpus, std::vector<std::string>& member);
    template <Described T>
    void read(const sdbus::Variant& variant, bool, std::vector<T>& member) {
        member.clear();
        for (const auto& entry : variant.get<std::vector<Dictionary>>())
            fill(entry, member.emplace_back());
    }
    template <class T>
    void read(const sdbus::Variant& variant, bool, T& member) {
        if constexpr (std::same_as<T, Bytes>)
            member = Bytes{variant.get<std::uint64_t>()};
        else if constexpr (std::same_as<T, Duration>)
            member = Duration{variant.get<std::int64_t>()};
        else if constexpr (std::same_as<T, WallTime>)
            member = WallTime{Duration{variant.get<std::int64_t>()}};
        else if constexpr (NamedEnum<T>)
            member = enum_from<T>(variant.get<std::string>()).value_or(member);
        else if constexpr (Described<T>)
            fill(variant.get<Dictionary>(), member);
        else if constexpr (std::signed_integral<T>)
            member = static_cast<T>(variant.get<std::int64_t>());
        else if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool> &&
                           sizeof(T) > sizeof(std::uint32_t))
            member = variant.get<std::uint64_t>();
        else
            member = variant.get<T>();
    }
    template <class T>
    void fill(const Dictionary& entry, T& record) {
        DictionaryReader reader{entry, ids_};
        describe(reader, record);
    }
    [[nodiscard]] std::string id_of(const std::string& path) const;

    const Dictionary& dictionary_;
    const GpuIds& ids_;
};

/// The record in a dictionary. If a GPU has disappeared in the meantime, its path is kept instead
/// of its id.
template <Described T>
T record_of(const Dictionary& dictionary, const GpuIds& ids = {}) {
    T record{};
    DictionaryReader reader{dictionary, ids};
    describe(reader, record);
    return record;
}

}  // namespace gpuprobe::bus
