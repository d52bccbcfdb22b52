// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <org.gpuprobe.GpuProbe1.Job.adaptor.h>

#include "engine/engine.h"
#include "service/gpu_object.h"
#include "wire/connection.h"
#include "wire/reply.h"
#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// A running call as an object on the bus, with the reply that it will send.
class JobObject final : public sdbus::AdaptorInterfaces<org::gpuprobe::GpuProbe1::Job_adaptor,
                                                        sdbus::ManagedObject_adaptor,
                                                        sdbus::Properties_adaptor> {
public:
    /// Called when a client wants to cancel the job. The handler must check the client's identity.
    using OnCancel = std::function<void(const std::string& sender, bus::Reply<> reply)>;

    JobObject(sdbus::IConnection& connection,
              const std::string& path,
              uid_t started_by,
              SharedPool::Claim share,
              bus::Reply<bus::Dictionary> reply,
              OnCancel on_cancel);
    /// If the job has not ended, replies with the error Cancelled.
    ~JobObject();

    void set_progress(double part);
    void succeed(const bus::Dictionary& answer);
    void fail(const Error& error);
    [[nodiscard]] uid_t started_by() const { return started_by_; }

private:
    void Cancel(sdbus::Result<>&& result) override;
    std::string Operation() override { return "probe"; }
    double Progress() override { return progress_; }
    std::uint32_t StartedByUid() override { return started_by_; }

    uid_t started_by_;
    SharedPool::Claim share_;
    bus::Reply<bus::Dictionary> reply_;
    OnCancel on_cancel_;
    double progress_ = 0;
    bool ended_ = false;
};

/// All calls that wait for probes.
class Jobs {
public:
    Jobs(bus::Connection& connection, const ServiceContext& context);
    ~Jobs();

    /// Starts probes and replies when they have ended. Errors go to the reply: TooManyRequests (too
    /// many waiting probes, or too many calls of this user within a minute), NotAuthorized (the
    /// caller has left the bus), InvalidRequest.
    void probe(const std::string& sender,
               const ProbeRequest& request,
               bus::Reply<bus::Dictionary> reply);

private:
    using Pending = std::shared_ptr<bus::Reply<bus::Dictionary>>;  // std::function must be copyable

    void start(uid_t uid, const ProbeRequest& request, const Pending& reply);
    void run(std::uint64_t number, const ProbeRequest& request);
    void cancel(std::uint64_t number, const std::string& sender, bus::Reply<> reply);

    bus::Connection& connection_;
    const ServiceContext& context_;
    std::uint64_t last_number_ = 0;
    std::map<std::uint64_t, std::unique_ptr<JobObject>> jobs_ = {};
    /// The engine keeps callbacks until its probes end, which may be after this object is
    /// destroyed. They hold a weak pointer to this and check it first.
    std::shared_ptr<Jobs*> self_;
    bus::Callers callers_;
};

}  // namespace gpuprobe::inline service
