// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/bus_message.h"
#include "wire/sdbus.h"

/// Objects whose methods and properties come from tables. These objects use sd-bus directly,
/// because the adaptors of sdbus-c++ need a function for each method and property.

namespace gpuprobe::bus {

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
