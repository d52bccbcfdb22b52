// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record_type.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"
#include "wire/sdbus.h"

/// Values in D-Bus messages. An answer on D-Bus is written from the same value as the answer in
/// JSON; the D-Bus types come from the description of the record (base/record_type.h).
///
/// D-Bus has no null. Members of records are left out when they are null. Data without a record
/// keeps its nulls: each null becomes an empty array of variants.

namespace gpuprobe::bus {

constexpr int kMaxDepth = 12;  ///< maximum depth of containers that we send
/// maximum depth of containers that we accept; requests need 3
constexpr int kMaxReceivedDepth = 4;
constexpr std::size_t kMaxItems = 4096;     ///< maximum number of items in a container that we send
constexpr std::size_t kMaxReceived = 1024;  ///< maximum number of values in a dictionary or array
constexpr Bytes kMaxReceivedText = kib(4);  ///< maximum size of a string in a dictionary or array

/// Reads the next argument of a call. Integers of all widths become integers, object paths and
/// signatures become strings.
///
/// Errors: InvalidRequest if our interfaces do not use the argument's type (structs, descriptors,
/// maps with other keys), if the message has no more arguments, or if a limit is exceeded. A string
/// that is a separate argument is limited only by the size of the message. If the argument is a
/// dictionary, `wants` decides which members to read; without `wants`, all members are read.
/// Members that aren't read may have any type.
Result<Value> read_argument(sd_bus_message* message,
                            const std::function<bool(std::string_view key)>& wants = {});

/// Whether the value is null, or a list or an object without content.
bool is_empty(const Value& value);

/// The key in the style of D-Bus: "duration_usec" → "DurationUsec".
std::string bus_key(std::string_view key);

/// The contents of a message, which can be appended to any number of messages. Everything is
/// already converted, so appending only takes the time that sd-bus needs.
class MessageBody {
public:
    /// Opens an array ('a'), a variant ('v') or a dictionary entry ('e') with these contents.
    void open(char type, std::string_view contents);
    void close();
    /// Adds a string of the given type. The string must be valid on the bus.
    void add_text(char type, std::string_view text);
    /// Adds a number, boolean or file descriptor of the given type. `bits` is the number, or the
    /// bits of a double. The descriptor must stay open until append_to() has duplicated it.
    void add_number(char type, std::uint64_t bits);
    /// Throws std::system_error if the message cannot be extended.
    void append_to(sd_bus_message* message) const;
    /// The memory that the contents use, which is approximately their size in a message.
    [[nodiscard]] std::size_t bytes() const { return texts_.size() + steps_.size() * sizeof(Step); }

private:
    struct Step {
        char kind = 0;            ///< the D-Bus type, or ')' to close a container
        std::uint64_t value = 0;  ///< a number, or the position of a string in texts_
    };
    std::vector<Step> steps_ = {};
    std::string texts_ = {};  ///< the strings, each with a NUL at its end
};

/// Appends values to the contents of a message.
class MessageWriter {
public:
    /// Maps a GPU's id to its object path.
    using PathOf = std::function<std::string(const std::string& id)>;

    /// `types` contains the definitions to which the written types refer. All arguments must
    /// outlive the writer.
    MessageWriter(MessageBody& body, const TypeTable& types, const PathOf& path_of)
        : body_{body}, types_{types}, path_of_{path_of} {}

    /// Appends a value of `type` as the D-Bus type `signature`. Keys of records are written in the
    /// style of D-Bus. Ids of GPUs, which are the members called `gpu`, `gpus` and `also`, become
    /// object paths. The D-Bus type of a variant depends on the member's type: a string or an
    /// enumeration becomes `s`, a number has the type in MemberType::bus, a list becomes `as`,
    /// `aa{sv}` and so on, a map of strings becomes `a{ss}`, and a record or another map becomes
    /// `a{sv}`. The type of a JSON value depends on the value. If a null can't be left out, it
    /// becomes 0 or "". If a map of strings is a separate argument, its keys are also written in
    /// the style of D-Bus.
    void append(std::string_view signature, const Value& value, const MemberType& type);

private:
    void content(std::string_view signature, const Value& value, const MemberType& type, int depth);
    void dictionary(std::string_view signature,
                    const Value& value,
                    const MemberType& type,
                    int depth);
    void list(std::string_view signature, const Value& value, const MemberType& type, int depth);
    void variant(std::string_view key, const Value& value, const MemberType& type, int depth);
    void text(char type, std::string_view text);
    [[nodiscard]] std::string signature_of(std::string_view key,
                                           const Value& value,
                                           const MemberType& type,
                                           int depth) const;
    [[nodiscard]] const MemberType& type_of_member(const MemberType& type,
                                                   std::string_view key) const;

    MessageBody& body_;
    const TypeTable& types_;
    const PathOf& path_of_;
};

}  // namespace gpuprobe::bus
