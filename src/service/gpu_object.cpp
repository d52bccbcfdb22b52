// SPDX-License-Identifier: Apache-2.0
#include "service/gpu_object.h"

#include <algorithm>

#include "base/value_json.h"
#include "bus/errors.h"
#include "bus/text.h"
#include "service/answers.h"
#include "service/power.h"

namespace gpuprobe {
namespace {

/// Nothing may be thrown here: the engine calls.
void send_memory(bus::Reply<bus::Dictionary>& reply, const LiveMemory& memory) {
    try {
        reply.send(answer_from(memory));
    } catch (const std::exception& problem) {
        reply.fail(Error{ErrorCode::Internal, problem.what()});
    }
}

}  // namespace

GpuObject::GpuObject(sdbus::IConnection& connection,
                     const std::string& path,
                     const Gpu& gpu,
                     const ServiceContext& context)
    : AdaptorInterfaces{connection, sdbus::ObjectPath{path}},
      id_{gpu.id},
      properties_{properties_of(gpu)},
      context_{context} {
    registerAdaptor();
    (void)bus::attempt([this] { emitInterfacesAddedSignal(); });
}

GpuObject::~GpuObject() {
    (void)bus::attempt([this] { emitInterfacesRemovedSignal(); });
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

void GpuObject::update(const Gpu& gpu) {
    auto now = properties_of(gpu);
    const auto changed = changed_properties(properties_, now);
    properties_ = std::move(now);
    if (!changed.empty())
        (void)bus::attempt([&] {
            emitPropertiesChangedSignal(Gpu_adaptor::INTERFACE_NAME, bus::property_names(changed));
        });
}

const Gpu& GpuObject::current() const {
    const auto& gpus = context_.engine.report().gpus;
    const auto found = std::ranges::find(gpus, id_, &Gpu::id);
    if (found == gpus.end())
        throw bus::sdbus_error(Error{ErrorCode::UnknownDevice, id_ + ": no longer there"});
    return *found;
}

std::string GpuObject::Describe() {
    return bus::guard([this] {
        auto json = bus::bus_text(json_line(to_value(current())), kMaxReport);
        bus::unwrap(context_.budget.take(bus::current_sender(getObject()), Bytes{json.size()}));
        return json;
    });
}

void GpuObject::GetMemory(sdbus::Result<bus::Dictionary>&& result, bus::Dictionary /*options*/) {
    const auto number = ++last_memory_reply_;
    memory_replies_->emplace(number, bus::Reply<bus::Dictionary>{std::move(result)});
    const std::weak_ptr<MemoryReplies> replies = memory_replies_;
    const auto answer = [replies, number](const LiveMemory& memory) {
        if (const auto waiting = replies.lock())
            if (auto reply = waiting->extract(number); !reply.empty())
                send_memory(reply.mapped(), memory);
    };
    const auto asked = context_.engine.read_memory(id_, false, answer);
    if (asked)
        return;
    if (auto reply = memory_replies_->extract(number); !reply.empty())
        reply.mapped().fail(asked.error());
}

std::string GpuObject::Id() {
    return properties_.id;
}
std::string GpuObject::Kind() {
    return properties_.kind;
}
std::string GpuObject::Vendor() {
    return properties_.vendor;
}
std::string GpuObject::Name() {
    return properties_.name;
}
std::string GpuObject::PciAddress() {
    return properties_.pci_address;
}
std::uint32_t GpuObject::VendorId() {
    return properties_.vendor_id;
}
std::uint32_t GpuObject::DeviceId() {
    return properties_.device_id;
}
std::string GpuObject::Driver() {
    return properties_.driver;
}
std::uint64_t GpuObject::MemoryTotal() {
    return properties_.memory_total;
}
std::string GpuObject::Health() {
    return properties_.health;
}
std::map<std::string, bus::Dictionary> GpuObject::Backends() {
    return bus::guard([this] { return backends_from(properties_.backends); });
}
std::map<std::string, std::string> GpuObject::Environment() {
    return properties_.environment;
}
std::string GpuObject::PowerState() {
    return bus::guard([this] {
        return bus::bus_text(power_state(context_.files, current()).value_or(""), Bytes{64});
    });
}

}  // namespace gpuprobe
