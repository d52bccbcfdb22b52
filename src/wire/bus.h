// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sdbus-c++/sdbus-c++.h>
#include <systemd/sd-bus.h>

#include "base/record_type.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"
#if __has_include(<sdbus-c++/VTableItems.h>)
#define GPUPROBE_SDBUS_2 1
#endif

/// Values, texts and errors in D-Bus messages, and objects on D-Bus. An answer on D-Bus is written
/// from the same value as the answer in JSON; the D-Bus types come from the description of the
/// record (base/record_type.h).
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

/// Limit for every string that we put on the bus.
constexpr Bytes kMaxText = kib(256);

/// Makes a string valid for a bus message: each invalid byte or character becomes U+FFFD, and the
/// string is shortened to at most `limit` bytes without splitting a character.
///
/// sd-bus is stricter than the specification. sd-bus refuses NUL, invalid UTF-8, surrogates and
/// noncharacters (U+FDD0–FDEF and the last two code points of each plane). Source: D-Bus
/// specification, "Valid Strings"; systemd src/basic/utf8.c, unichar_is_valid.
std::string bus_text(std::string_view text, Bytes limit = kMaxText);

/// Whether the caller allows polkit to ask its user for a password.
inline bool allows_questions(sd_bus_message* call) {
    return call != nullptr && sd_bus_message_get_allow_interactive_authorization(call) > 0;
}

/// Limit for the message of an error.
constexpr Bytes kMaxErrorText = kib(4);

/// The error for a reply, with a valid and short message.
sdbus::Error sdbus_error(const Error& error);

/// Runs the body of a bus method or property. sdbus-c++ 1.2 catches only sdbus::Error; any other
/// exception would end the process.
template <class Body>
auto guard(Body&& body) -> decltype(body()) try {
    return body();
} catch (const sdbus::Error&) {
    throw;
} catch (const std::exception& problem) {
    throw sdbus_error(Error{ErrorCode::Internal, problem.what()});
} catch (...) {
    throw sdbus_error(Error{ErrorCode::Internal, "unexpected exception"});
}

/// Runs a function that sends a message. Returns false if the function failed; no caller can be
/// informed about the error. A broken connection is detected by the code that drives the
/// connection.
template <class Body>
bool attempt(Body&& body) noexcept try {
    body();
    return true;
} catch (...) {
    return false;
}

// Objects ----------------------------------------------------------------------------------------
//
// Objects whose methods and properties come from tables. These objects use sd-bus directly, because
// the adaptors of sdbus-c++ need a function for each method and property.

/// An argument of a method or signal, or a property.
struct BusArgument {
    std::string name = {};
    std::string signature = {};
};

struct BusMethod {
    std::string name = {};
    std::vector<BusArgument> in = {};
    std::vector<BusArgument> out = {};
};

struct BusProperty {
    /// How clients learn of a new value. Source: D-Bus specification, EmitsChangedSignal.
    enum class Change {
        Const,
        Signaled,
        Invalidated,  ///< the signal names the property without the new value
        Silent
    };
    std::string name = {};
    std::string signature = {};
    Change change = Change::Signaled;
};

struct BusSignal {
    std::string name = {};
    std::vector<BusArgument> arguments = {};
};

/// The reply that a call waits for. The reply is sent exactly once. If this object is destroyed
/// before a reply was sent, the error Cancelled is sent. Use this object only in the event loop's
/// thread.
class BusReply {
public:
    /// `sent` runs after the reply was handed to the connection.
    BusReply(sd_bus_message* call, std::function<void()> sent);
    ~BusReply();
    BusReply(const BusReply&) = delete;
    BusReply& operator=(const BusReply&) = delete;

    /// Sends a reply with this body. If the body cannot be appended, sends the error Internal.
    void send(const MessageBody& body);
    void fail(const Error& error);
    [[nodiscard]] bool is_open() const { return call_ != nullptr; }
    [[nodiscard]] sd_bus_message* call() const { return call_.get(); }

private:
    std::shared_ptr<sd_bus_message> call_;
    std::function<void()> sent_;
};

/// An interface as a vtable for sd-bus. The BusInterface must outlive all objects that have
/// this interface.
class BusInterface {
public:
    BusInterface(std::string name,
                 const std::vector<BusMethod>& methods,
                 const std::vector<BusProperty>& properties,
                 const std::vector<BusSignal>& signals = {});
    BusInterface(const BusInterface&) = delete;
    BusInterface& operator=(const BusInterface&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const sd_bus_vtable* rows() const { return rows_.data(); }

private:
    const char* keep(std::string text);

    std::string name_;
    std::deque<std::string> texts_ = {};  ///< the strings to which rows_ points
    std::vector<sd_bus_vtable> rows_ = {};
};

/// A bus object with one interface, which is exported while this object exists. Derived classes
/// answer calls and reads of properties.
class BusObject {
public:
    /// `bus` is the connection, and must outlive the object. Throws std::system_error.
    BusObject(sd_bus* bus, std::string path, const BusInterface& interface);
    virtual ~BusObject();
    BusObject(const BusObject&) = delete;
    BusObject& operator=(const BusObject&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Emits InterfacesAdded, for clients that already have a list of objects.
    void announce() const;
    /// Emits InterfacesRemoved. Call this before the object is destroyed.
    void retract() const;
    /// Emits PropertiesChanged with the new values of signaled properties.
    void signal_changes(const std::vector<std::string>& properties) const;

private:
    /// Answers a call immediately or later.
    virtual void called(sd_bus_message* call) = 0;
    /// The value of a property.
    virtual MessageBody read(std::string_view property) = 0;

    friend struct BusObjectAccess;

    sd_bus* bus_;
    std::string path_;
    const BusInterface& interface_;
    std::shared_ptr<sd_bus_slot> slot_ = {};
};

}  // namespace gpuprobe::bus
