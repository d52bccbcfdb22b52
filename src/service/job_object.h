// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include <org.gpuprobe.GpuProbe1.Job.adaptor.h>

#include "wire/reply.h"
#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// A running call as an object on the bus, and the reply that it will send.
class JobObject final : public sdbus::AdaptorInterfaces<org::gpuprobe::GpuProbe1::Job_adaptor,
                                                        sdbus::ManagedObject_adaptor,
                                                        sdbus::Properties_adaptor> {
public:
    /// Called when somebody wants to end the job. It is for the handler to check who that is.
    using OnCancel = std::function<void(const std::string& sender, bus::Reply<> reply)>;

    JobObject(sdbus::IConnection& connection,
              const std::string& path,
              uid_t started_by,
              bus::Reply<bus::Dictionary> reply,
              OnCancel on_cancel);
    /// A job that is destroyed before it ended answers that it was cancelled.
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
    bus::Reply<bus::Dictionary> reply_;
    OnCancel on_cancel_;
    double progress_ = 0;
    bool ended_ = false;
};

}  // namespace gpuprobe::inline service
