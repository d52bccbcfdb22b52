// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "service/gpu_object.h"
#include "service/job_object.h"
#include "wire/callers.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {

/// The calls that wait for probes.
class Jobs {
public:
    static constexpr std::size_t kMaxJobs = 64;
    static constexpr std::size_t kMaxJobsPerUid = 8;

    Jobs(bus::Connection& connection, const ServiceContext& context);
    ~Jobs();

    /// Answers `reply` when the probes have ended. Errors go to the reply: TooManyRequests (probes
    /// that wait, or calls of one user within a minute),
    /// NotAuthorized (the caller left), InvalidRequest.
    void probe(const std::string& sender,
               const ProbeRequest& request,
               bus::Reply<bus::Dictionary> reply);

private:
    using Pending = std::shared_ptr<bus::Reply<bus::Dictionary>>;  // std::function wants copies

    void start(uid_t uid, const ProbeRequest& request, const Pending& reply);
    void run(std::uint64_t number, const ProbeRequest& request);
    void cancel(std::uint64_t number, const std::string& sender, bus::Reply<> reply);
    [[nodiscard]] std::size_t running_of(uid_t uid) const;

    bus::Connection& connection_;
    const ServiceContext& context_;
    std::uint64_t last_number_ = 0;
    std::map<std::uint64_t, std::unique_ptr<JobObject>> jobs_ = {};
    /// The engine keeps callbacks until its probes end, which may be after this object has gone.
    /// They hold this weakly and check it first.
    std::shared_ptr<Jobs*> self_;
    bus::Callers callers_;
};

}  // namespace gpuprobe::inline service
