// SPDX-License-Identifier: Apache-2.0
#include "service/gpu_object.h"

#include <algorithm>

#include "base/value.h"
#include "calls/documents.h"
#include "service/answers.h"
#include "wire/reply.h"

namespace gpuprobe::inline service {
namespace {

/// The reply for a reading. Catches all exceptions, because the engine calls this and does not
/// expect any.
Result<bus::Dictionary> memory_answer(const engine::LiveMemory& memory) {
    try {
        return answer_from(memory);
    } catch (const std::exception& problem) {
        return Error{ErrorCode::Internal, problem.what()};
    }
}

const Gpu* gpu_in(const Report& report, const std::string& id) {
    const auto found = std::ranges::find(report.gpus, id, &Gpu::id);
    return found == report.gpus.end() ? nullptr : &*found;
}

/// The id of the GPU, or of its partition if the options have a "unit". Errors: InvalidRequest if
/// that is not a string.
Result<std::string> asked_for(const std::string& gpu, const bus::Dictionary& options) {
    const auto given = options.find("unit");
    if (given == options.end())
        return gpu;
    const auto value = TRY(bus::value_from(given->second));
    if (!value.is_string())
        return Error{ErrorCode::InvalidRequest, "unit: expected a string"};
    return gpu + "/" + *value.as_string();
}

Error gone(const std::string& id) {
    return Error{ErrorCode::UnknownDevice, id + ": no longer there"};
}

}  // namespace

GpuObject::GpuObject(sdbus::IConnection& connection,
                     const std::string& path,
                     const Gpu& gpu,
                     const Report& open_to_all,
                     FindingsOf findings,
                     const ServiceContext& context,
                     const CallerAccess& access)
    : AdaptorInterfaces{connection, sdbus::ObjectPath{path}},
      id_{gpu.id},
      properties_{properties_of(gpu, open_to_all)},
      findings_{std::move(findings)},
      context_{context},
      access_{access},
      self_{std::make_shared<GpuObject*>(this)} {
    registerAdaptor();
}

void GpuObject::announce() {
    (void)bus::attempt([this] { emitInterfacesAddedSignal(); });
}

GpuObject::~GpuObject() {
    // The signal needs the object, so it comes first. Errors are ignored: the bus may be lost.
    (void)bus::attempt([this] { emitInterfacesRemovedSignal(); });
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

void GpuObject::update(const Gpu& gpu, const Report& open_to_all, bool has_other_words) {
    // Store the new values before the signal, which reads them.
    auto now = properties_of(gpu, open_to_all);
    const auto changed = changed_properties(properties_, now, has_other_words);
    properties_ = std::move(now);
    if (!changed.empty())
        (void)bus::attempt([&] {
            emitPropertiesChangedSignal(Gpu_adaptor::INTERFACE_NAME, bus::property_names(changed));
        });
}

const Gpu& GpuObject::current() const {
    const auto* gpu = gpu_in(context_.engine.report(), id_);
    if (!gpu)
        throw bus::sdbus_error(gone(id_));
    return *gpu;
}

// Methods. Each replies later if the caller is not identified yet or other calls are waiting. The
// object may be destroyed until then, so the callbacks check a weak pointer.

void GpuObject::Describe(sdbus::Result<std::string>&& result) {
    const auto sender = bus::current_sender(getObject());
    for_caller(access_, sender, bus::Reply<std::string>{std::move(result)},
               [weak = std::weak_ptr{self_}, sender](const Caller& caller, auto& reply) {
                   if (const auto self = weak.lock())
                       (*self)->describe_to(sender, caller, reply);
                   else
                       reply.fail(Error{ErrorCode::UnknownDevice, "no longer there"});
               });
}

/// Replies with the GPU as the caller sees it, which may be without identifiers.
void GpuObject::describe_to(const std::string& sender,
                            const Caller& caller,
                            bus::Reply<std::string>& reply) const {
    const auto* gpu = gpu_in(*access_.views.report_for(caller).report, id_);
    if (!gpu)
        return reply.fail(gone(id_));
    const auto json = bus::bus_text(json_line(to_value(*gpu)), kMaxReport);
    if (const auto taken = context_.admission.text.take(sender, Bytes{json.size()}); !taken)
        return reply.fail(taken.error());
    reply.send(json);
}

void GpuObject::GetIdentifiers(sdbus::Result<Identifiers>&& result, bus::Dictionary /*options*/) {
    const Requester who{.sender = bus::current_sender(getObject()),
                        .may_be_asked = bus::allows_questions(bus::current_call(getObject()))};
    for_caller(access_, who.sender, bus::Reply<Identifiers>{std::move(result)},
               [weak = std::weak_ptr{self_}, who](const Caller& caller, auto& reply) {
                   if (const auto self = weak.lock())
                       (*self)->identify_to(who, caller, reply);
                   else
                       reply.fail(Error{ErrorCode::UnknownDevice, "no longer there"});
               });
}

/// Callers who may open the GPU get the identifiers directly, because its driver would report them
/// as well. All others need permission from polkit.
void GpuObject::identify_to(const Requester& who,
                            const Caller& caller,
                            bus::Reply<Identifiers>& reply) const {
    const auto* gpu = gpu_in(context_.engine.report(), id_);
    if (!gpu)
        return reply.fail(gone(id_));
    const auto identifiers = identifiers_of(*gpu);
    const auto* seen = gpu_in(*access_.views.report_for(caller).report, id_);
    if (seen && !is_closed(*seen))
        return reply.send(identifiers);
    // The callback does not use `this`, because the object may be gone when polkit answers.
    const auto pending = std::make_shared<bus::Reply<Identifiers>>(std::move(reply));
    access_.authority.ask(who, Action::GetIdentifiers, [pending, identifiers](const Status& may) {
        pending->give(may ? Result<Identifiers>{identifiers} : may.error());
    });
}

void GpuObject::GetMemory(sdbus::Result<bus::Dictionary>&& result, bus::Dictionary options) {
    auto id = asked_for(id_, options);
    bus::Reply<bus::Dictionary> reply{std::move(result)};
    if (!id)
        return reply.fail(id.error());
    for_caller(access_, bus::current_sender(getObject()), std::move(reply),
               [weak = std::weak_ptr{self_}, id = std::move(id).value()](const Caller& caller,
                                                                         auto& answer) {
                   if (const auto self = weak.lock())
                       (*self)->read_memory(id, caller, answer);
                   else
                       answer.fail(Error{ErrorCode::UnknownDevice, "no longer there"});
               });
}

/// Replies when the engine has read the free memory of the GPU or partition `id`.
void GpuObject::read_memory(const std::string& id,
                            const Caller& caller,
                            bus::Reply<bus::Dictionary>& reply) {
    auto& admission = context_.admission;
    const auto share =
        admission.readings.claim(admission.payers.of(caller.uid), 1, kTooManyReadings);
    if (!share)
        return reply.fail(share.error());
    // The callback holds the share, so it is given back when the engine drops the callback.
    const auto answer = memory_replies_.hold(std::move(reply));
    const auto heard = [answer, share = *share](const engine::LiveMemory& memory) {
        answer(memory_answer(memory));
    };
    if (const auto asked = context_.engine.read_memory(id, false, heard); !asked)
        answer(Result<bus::Dictionary>{asked.error()});  // `heard` will not be called
}

// Properties. Backends and Apis include the doctor's fixes, which are computed only when read.

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
std::string GpuObject::Title() {
    return properties_.title;
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
    return bus::guard([this] { return backends_from(properties_.backends, id_, findings_()); });
}
std::map<std::string, bus::Dictionary> GpuObject::Apis() {
    return bus::guard([this] { return apis_from(properties_.apis, id_, findings_()); });
}
std::map<std::string, std::string> GpuObject::Environment() {
    return properties_.environment;
}
std::map<sdbus::ObjectPath, bus::Dictionary> GpuObject::Units() {
    return bus::guard([this] {
        std::map<sdbus::ObjectPath, bus::Dictionary> units;
        for (const auto& unit : properties_.units)
            units.emplace(unit_path(getObject().getObjectPath(), unit.name),
                          bus::dictionary_of(unit));
        return units;
    });
}
/// Read from sysfs at each call, because it changes without an event.
std::string GpuObject::PowerState() {
    return bus::guard([this] {
        return bus::bus_text(power_state(context_.files, current()).value_or(""), Bytes{64});
    });
}

}  // namespace gpuprobe::inline service
