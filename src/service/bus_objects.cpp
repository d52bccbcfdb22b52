// SPDX-License-Identifier: Apache-2.0
#include "service/bus_objects.h"

#include <algorithm>
#include <utility>

#include "base/value.h"
#include "calls/documents.h"
#include "calls/requests.h"
#include "report/compute_view.h"
#include "service/answers.h"
#include "wire/connection.h"
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

/// The id of the GPU, or of its partition if the options have a "partition". Errors: InvalidRequest
/// if that is not a string.
Result<std::string> asked_for(const std::string& gpu, const bus::Dictionary& options) {
    const auto given = options.find("partition");
    if (given == options.end())
        return gpu;
    const auto value = TRY(bus::value_from(given->second));
    if (!value.is_string())
        return Error{ErrorCode::InvalidRequest, "partition: expected a string"};
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
    const auto* gpu = find_gpu(context_.engine.report(), id_);
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
    const auto* gpu = find_gpu(*access_.views.report_for(caller).report, id_);
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
    const auto* gpu = find_gpu(context_.engine.report(), id_);
    if (!gpu)
        return reply.fail(gone(id_));
    const auto identifiers = identifiers_of(*gpu);
    const auto* seen = find_gpu(*access_.views.report_for(caller).report, id_);
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
std::map<sdbus::ObjectPath, bus::Dictionary> GpuObject::Partitions() {
    return bus::guard([this] {
        std::map<sdbus::ObjectPath, bus::Dictionary> partitions;
        for (const auto& partition : properties_.partitions)
            partitions.emplace(partition_path(getObject().getObjectPath(), partition.name),
                               bus::dictionary_of(partition));
        return partitions;
    });
}
/// Read from sysfs at each call, because it changes without an event.
std::string GpuObject::PowerState() {
    return bus::guard([this] {
        return bus::bus_text(power_state(context_.files, current()).value_or(""), Bytes{64});
    });
}

namespace {

/// Whether the doctor's findings for this GPU have changed.
bool differ(const std::vector<Finding>& before,
            const std::vector<Finding>& after,
            const std::string& gpu) {
    const auto is_others = [&gpu](const Finding& finding) {
        return std::ranges::count(finding.gpus, gpu) == 0;
    };
    auto own_before = before;
    auto own_after = after;
    std::erase_if(own_before, is_others);
    std::erase_if(own_after, is_others);
    return own_before != own_after;
}

}  // namespace

const std::vector<Finding>& GpuObjects::findings() {
    if (!findings_)
        findings_ = examine(context_.engine.report(), {});
    return *findings_;
}

void GpuObjects::update() {
    const auto& gpus = context_.engine.report().gpus;
    const auto seen = open_to_all(context_.engine.report());
    const auto old_findings = std::exchange(findings_, std::nullopt);
    // Remove GPUs that are not in the report any more, then update or add the others. Findings are
    // compared only if a client has read the old ones.
    std::erase_if(by_path_, [&gpus](const auto& entry) {
        return std::ranges::find(gpus, entry.second->id(), &Gpu::id) == gpus.end();
    });
    for (const auto& gpu : gpus) {
        const auto known = std::ranges::find_if(
            by_path_, [&gpu](const auto& entry) { return entry.second->id() == gpu.id; });
        if (known != by_path_.end())
            known->second->update(gpu, seen,
                                  old_findings && differ(*old_findings, findings(), gpu.id));
        else
            add(gpu, seen);
    }
}

void GpuObjects::add(const Gpu& gpu, const Report& open_to_all) {
    const auto path = free_path(gpu.id);
    auto object = std::make_unique<GpuObject>(
        connection_.bus(), path, gpu, open_to_all, [this] { return findings(); }, context_,
        access_);
    // Before the first message, no client can have a list of objects that would be outdated.
    if (connection_.has_read())
        object->announce();
    by_path_.emplace(path, std::move(object));
}

std::vector<sdbus::ObjectPath> GpuObjects::paths() const {
    std::vector<sdbus::ObjectPath> paths;
    for (const auto& gpu : context_.engine.report().gpus)
        paths.push_back(path_of(gpu.id));
    return paths;
}

sdbus::ObjectPath GpuObjects::path_of(const std::string& id) const {
    // A partition's id is the GPU's id with a suffix; partitions are not exported as objects.
    const auto whole = whole_id(id);
    const auto known = std::ranges::find_if(
        by_path_, [whole](const auto& entry) { return entry.second->id() == whole; });
    if (known == by_path_.end())
        return sdbus::ObjectPath{"/"};
    const bool is_partition = whole.size() < id.size();
    return sdbus::ObjectPath{
        is_partition ? partition_path(known->first, id.substr(whole.size() + 1)) : known->first};
}

const Gpu* GpuObjects::at(const std::string& path) const {
    const auto known = by_path_.find(path);
    return known == by_path_.end() ? nullptr
                                   : find_gpu(context_.engine.report(), known->second->id());
}

std::string GpuObjects::free_path(const std::string& id) const {
    std::string path = bus::kGpuPath + path_element(id);
    while (by_path_.contains(path))  // another id differs only in punctuation
        path += "_";
    return path;
}

JobObject::JobObject(sdbus::IConnection& connection,
                     const std::string& path,
                     uid_t started_by,
                     SharedPool::Claim share,
                     bus::Reply<bus::Dictionary> reply,
                     OnCancel on_cancel)
    : AdaptorInterfaces{connection, sdbus::ObjectPath{path}},
      started_by_{started_by},
      share_{std::move(share)},
      reply_{std::move(reply)},
      on_cancel_{std::move(on_cancel)} {
    registerAdaptor();
    (void)bus::attempt([this] { emitInterfacesAddedSignal(); });
}

JobObject::~JobObject() {
    // In the order that clients expect: reply and Completed, then the removal of the object.
    if (!ended_)
        fail(Error{ErrorCode::Cancelled, "the operation was given up"});
    (void)bus::attempt([this] { emitInterfacesRemovedSignal(); });
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

void JobObject::set_progress(double part) {
    constexpr double kStep = 0.01;  // smaller steps would wake listeners without use
    part = std::clamp(part, 0.0, 1.0);
    if (part < progress_ + kStep)  // progress never decreases
        return;
    progress_ = part;
    (void)bus::attempt([this] {
        emitPropertiesChangedSignal(Job_adaptor::INTERFACE_NAME, bus::property_names({"Progress"}));
    });
}

void JobObject::succeed(const bus::Dictionary& answer) {
    ended_ = true;
    reply_.send(answer);
    (void)bus::attempt([this] { emitCompleted(true, ""); });
}

void JobObject::fail(const Error& error) {
    ended_ = true;
    reply_.fail(error);
    (void)bus::attempt([&] { emitCompleted(false, bus::error_name(error.code)); });
}

/// The handler answers, because it has to identify the caller first.
void JobObject::Cancel(sdbus::Result<>&& result) {
    bus::guard(
        [&] { on_cancel_(bus::current_sender(getObject()), bus::Reply<>{std::move(result)}); });
}

Jobs::Jobs(bus::Connection& connection, const ServiceContext& context)
    : connection_{connection},
      context_{context},
      self_{std::make_shared<Jobs*>(this)},
      callers_{connection.bus()} {}

Jobs::~Jobs() = default;

void Jobs::probe(const std::string& sender,
                 const ProbeRequest& request,
                 bus::Reply<bus::Dictionary> reply) {
    // The uid decides whose limits count, and who may cancel the job.
    const auto pending = std::make_shared<bus::Reply<bus::Dictionary>>(std::move(reply));
    callers_.uid_of(sender, [this, request, pending](const Result<uid_t>& uid) {
        if (uid)
            start(*uid, request, pending);
        else
            pending->fail(uid.error());
    });
}

/// Charges the caller, exports the job object and starts the probes.
void Jobs::start(uid_t uid, const ProbeRequest& request, const Pending& reply) {
    auto& admission = context_.admission;
    const auto payer = admission.payers.of(uid);
    auto share = admission.probes.claim(payer, 1, kTooManyProbes);
    if (!share)
        return reply->fail(share.error());
    if (const auto allowed = admission.calls.take(payer); !allowed)
        return reply->fail(allowed.error());
    const auto number = ++last_number_;
    const auto on_cancel = [this, number](const std::string& sender, bus::Reply<> answer) {
        cancel(number, sender, std::move(answer));
    };
    jobs_.emplace(number, std::make_unique<JobObject>(
                              connection_.bus(), bus::kJobPath + std::to_string(number), uid,
                              std::move(share).value(), std::move(*reply), on_cancel));
    run(number, request);
}

void Jobs::run(std::uint64_t number, const ProbeRequest& request) {
    // A cancelled job is not in jobs_ any more, but its probes go on and still call these.
    const std::weak_ptr<Jobs*> weak = self_;
    const auto progress = [weak, number](double part) {
        const auto self = weak.lock();
        if (!self || !(*self)->jobs_.contains(number))
            return;
        (*self)->jobs_.at(number)->set_progress(part);
        (*self)->connection_.update();
    };
    const auto done = [weak, number, request] {
        const auto self = weak.lock();
        if (!self || !(*self)->jobs_.contains(number))
            return;
        auto& jobs = **self;
        (void)bus::attempt([&] {
            jobs.jobs_.at(number)->succeed(probe_answer(jobs.context_.engine.report(), request));
        });
        jobs.jobs_.erase(number);
        jobs.connection_.update();
    };
    const auto started = context_.engine.probe(request, progress, done);
    if (started)
        return;
    // The engine refused the request, so it will not call back.
    jobs_.at(number)->fail(started.error());
    jobs_.erase(number);
}

void Jobs::cancel(std::uint64_t number, const std::string& sender, bus::Reply<> reply) {
    const auto pending = std::make_shared<bus::Reply<>>(std::move(reply));
    // The callback runs in a later iteration of the loop, when the job's own method has returned
    // and the job may be destroyed.
    callers_.uid_of(sender, [this, number, pending](const Result<uid_t>& uid) {
        // The job may have ended in the meantime.
        const auto job = jobs_.find(number);
        if (job == jobs_.end())
            return pending->fail(Error{ErrorCode::NotFound, "the job has ended"});
        if (!uid || (*uid != 0 && *uid != job->second->started_by()))
            return pending->fail(Error{ErrorCode::NotAuthorized, "someone else's job"});
        job->second->fail(Error{ErrorCode::Cancelled, "cancelled"});
        jobs_.erase(job);
        pending->send();
    });
}

}  // namespace gpuprobe::inline service
