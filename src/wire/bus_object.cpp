// SPDX-License-Identifier: Apache-2.0
#include "wire/bus_object.h"

#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "wire/sdbus.h"
#include "wire/varlink.h"

namespace gpuprobe::bus {

/// Passes calls of sd-bus on to an object. No exception may enter sd-bus, which is written in C.
struct BusObjectAccess {
    static int call(sd_bus_message* call, void* object) {
        try {
            static_cast<BusObject*>(object)->called(call);
        } catch (const std::exception& problem) {
            (void)sd_bus_reply_method_errorf(call, error_name(ErrorCode::Internal).c_str(), "%s",
                                             problem.what());
        }
        return 1;
    }
    static int read(const char* name, sd_bus_message* reply, void* object, sd_bus_error* problem) {
        try {
            static_cast<BusObject*>(object)->read(name).append_to(reply);
            return 0;
        } catch (const sdbus::Error& error) {
            return sd_bus_error_set(problem, error.getName().c_str(), error.getMessage().c_str());
        } catch (const std::exception& error) {
            return sd_bus_error_set(problem, error_name(ErrorCode::Internal).c_str(), error.what());
        }
    }
};

namespace {

std::shared_ptr<sd_bus_message> owned(sd_bus_message* message) {
    return {message, sd_bus_message_unref};
}

/// The names of arguments as sd-bus expects them: each ends with a NUL.
std::string names_of(const std::vector<BusArgument>& arguments) {
    std::string names;
    for (const auto& argument : arguments)
        names.append(argument.name).append(1, '\0');
    return names;
}

std::string signature_of(const std::vector<BusArgument>& arguments) {
    std::string signature;
    for (const auto& argument : arguments)
        signature += argument.signature;
    return signature;
}

std::uint64_t flags_of(BusProperty::Change change) {
    switch (change) {
        case BusProperty::Change::Const:
            return SD_BUS_VTABLE_PROPERTY_CONST;
        case BusProperty::Change::Signaled:
            return SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
        case BusProperty::Change::Invalidated:
            return SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;
        default:
            return 0;
    }
}

/// A row of a vtable for sd-bus. sd-bus's macros for vtable rows can't be used, because they need
/// nested designated initializers, which C++ does not have.
sd_bus_vtable row_of(unsigned type, std::uint64_t flags) {
    sd_bus_vtable row;
    std::memset(&row, 0, sizeof row);  // {} would not initialize a part of the union
    row.type = static_cast<std::uint8_t>(type);
    row.flags = flags & 0xFF'FFFF'FFFF'FFFFU;
    return row;
}

/// The flag that lets every user call a method: the methods check permissions themselves.
constexpr std::uint64_t kForEverybody = SD_BUS_VTABLE_UNPRIVILEGED;

}  // namespace

BusReply::BusReply(sd_bus_message* call, std::function<void()> sent)
    : call_{owned(sd_bus_message_ref(call))}, sent_{std::move(sent)} {}

BusReply::~BusReply() {
    fail(Error{ErrorCode::Cancelled, "the operation was canceled"});
}

void BusReply::send(const MessageBody& body) {
    if (!call_)
        return;
    sd_bus_message* created = nullptr;
    const int code = sd_bus_message_new_method_return(call_.get(), &created);
    const auto reply = owned(created);
    if (code < 0 || !attempt([&] { body.append_to(created); }) ||
        sd_bus_send(nullptr, created, nullptr) < 0)
        return fail(Error{ErrorCode::Internal, "the answer could not be sent"});
    call_.reset();
    sent_();
}

void BusReply::fail(const Error& error) {
    const auto call = std::exchange(call_, nullptr);
    if (!call)
        return;
    const auto text = bus_text(error.text, kib(4));
    (void)sd_bus_reply_method_errorf(call.get(), error_name(error.code).c_str(), "%s",
                                     text.c_str());
    sent_();
}

const char* BusInterface::keep(std::string text) {
    return texts_.emplace_back(std::move(text)).c_str();
}

BusInterface::BusInterface(std::string name,
                           const std::vector<BusMethod>& methods,
                           const std::vector<BusProperty>& properties,
                           const std::vector<BusSignal>& signals)
    : name_{std::move(name)} {
    auto first = row_of(_SD_BUS_VTABLE_START, 0);
    first.x.start.element_size = sizeof(sd_bus_vtable);
    first.x.start.features = _SD_BUS_VTABLE_PARAM_NAMES;
    first.x.start.vtable_format_reference = &sd_bus_object_vtable_format;
    rows_.push_back(first);
    for (const auto& method : methods) {
        auto row = row_of(_SD_BUS_VTABLE_METHOD, kForEverybody);
        row.x.method.member = keep(method.name);
        row.x.method.signature = keep(signature_of(method.in));
        row.x.method.result = keep(signature_of(method.out));
        row.x.method.names = keep(names_of(method.in) + names_of(method.out));
        row.x.method.handler = [](sd_bus_message* call, void* object, sd_bus_error*) {
            return BusObjectAccess::call(call, object);
        };
        rows_.push_back(row);
    }
    for (const auto& property : properties) {
        auto row = row_of(_SD_BUS_VTABLE_PROPERTY, flags_of(property.change));
        row.x.property.member = keep(property.name);
        row.x.property.signature = keep(property.signature);
        row.x.property.get = [](sd_bus*, const char*, const char*, const char* read,
                                sd_bus_message* reply, void* object, sd_bus_error* problem) {
            return BusObjectAccess::read(read, reply, object, problem);
        };
        rows_.push_back(row);
    }
    for (const auto& signal : signals) {
        auto row = row_of(_SD_BUS_VTABLE_SIGNAL, 0);
        row.x.signal.member = keep(signal.name);
        row.x.signal.signature = keep(signature_of(signal.arguments));
        row.x.signal.names = keep(names_of(signal.arguments));
        rows_.push_back(row);
    }
    rows_.push_back(row_of(_SD_BUS_VTABLE_END, 0));
}

BusObject::BusObject(sd_bus* bus, std::string path, const BusInterface& interface)
    : bus_{bus}, path_{std::move(path)}, interface_{interface} {
    sd_bus_slot* slot = nullptr;
    const int code = sd_bus_add_object_vtable(bus, &slot, path_.c_str(), interface.name().c_str(),
                                              interface.rows(), this);
    if (code < 0)
        throw std::system_error{-code, std::generic_category(), path_};
    slot_ = {slot, sd_bus_slot_unref};
}

BusObject::~BusObject() = default;

// If the connection to the bus is lost, signals are lost too. Clients then read everything again.

void BusObject::announce() const {
    (void)sd_bus_emit_object_added(bus_, path_.c_str());
}

void BusObject::retract() const {
    (void)sd_bus_emit_object_removed(bus_, path_.c_str());
}

void BusObject::signal_changes(const std::vector<std::string>& properties) const {
    std::vector<char*> names;
    for (const auto& name : properties)
        names.push_back(const_cast<char*>(name.c_str()));  // sd-bus does not change the strings
    names.push_back(nullptr);
    if (!properties.empty())
        (void)sd_bus_emit_properties_changed_strv(bus_, path_.c_str(), interface_.name().c_str(),
                                                  names.data());
}

}  // namespace gpuprobe::bus
