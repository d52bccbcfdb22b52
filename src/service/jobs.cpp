// SPDX-License-Identifier: Apache-2.0
#include "service/jobs.h"

#include <algorithm>
#include <utility>

#include "service/answers.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {

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
