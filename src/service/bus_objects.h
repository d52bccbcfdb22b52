// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <org.gpuprobe.GpuProbe1.Gpu.adaptor.h>
#include <org.gpuprobe.GpuProbe1.Job.adaptor.h>

#include "base/files.h"
#include "engine/engine.h"
#include "service/admission.h"
#include "service/answers.h"
#include "service/caller_access.h"
#include "wire/connection.h"
#include "wire/reply.h"
#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// The parts of the daemon that all bus objects use. They outlive the objects.
struct ServiceContext {
    engine::Engine& engine;
    const FileSystem& files;  ///< files of the machine that the engine reports on
    Admission& admission;
};

/// One GPU as an object on the bus; exported while this object exists.
class GpuObject final : public sdbus::AdaptorInterfaces<org::gpuprobe::GpuProbe1::Gpu_adaptor,
                                                        sdbus::ManagedObject_adaptor,
                                                        sdbus::Properties_adaptor> {
public:
    GpuObject(sdbus::IConnection& connection,
              const std::string& path,
              const Gpu& gpu,
              const Report& open_to_all,
              FindingsOf findings,
              const ServiceContext& context,
              const CallerAccess& access);
    ~GpuObject();

    /// Emits InterfacesAdded, for clients that already have a list of objects.
    void announce();
    /// Updates the properties and signals the changes. `has_other_words`: as in
    /// changed_properties().
    void update(const Gpu& gpu, const Report& open_to_all, bool has_other_words);
    [[nodiscard]] const std::string& id() const { return id_; }

private:
    using Identifiers = std::map<std::string, std::string>;

    void Describe(sdbus::Result<std::string>&& result) override;
    void GetIdentifiers(sdbus::Result<Identifiers>&& result, bus::Dictionary options) override;
    void GetMemory(sdbus::Result<bus::Dictionary>&& result, bus::Dictionary options) override;
    std::string Id() override;
    std::string Kind() override;
    std::string Vendor() override;
    std::string Name() override;
    std::string Title() override;
    std::string PciAddress() override;
    std::uint32_t VendorId() override;
    std::uint32_t DeviceId() override;
    std::string Driver() override;
    std::uint64_t MemoryTotal() override;
    std::string Health() override;
    std::map<std::string, bus::Dictionary> Backends() override;
    std::map<std::string, bus::Dictionary> Apis() override;
    std::map<std::string, std::string> Environment() override;
    std::map<sdbus::ObjectPath, bus::Dictionary> Partitions() override;
    std::string PowerState() override;

    /// This GPU in the current report. Throws the D-Bus error NoSuchGpu if it was removed.
    [[nodiscard]] const Gpu& current() const;
    void describe_to(const std::string& sender,
                     const Caller& caller,
                     bus::Reply<std::string>& reply) const;
    void identify_to(const Requester& who,
                     const Caller& caller,
                     bus::Reply<Identifiers>& reply) const;

    void read_memory(const std::string& id,
                     const Caller& caller,
                     bus::Reply<bus::Dictionary>& reply);

    std::string id_;
    GpuProperties properties_;
    FindingsOf findings_;  ///< the doctor's findings for the whole machine
    const ServiceContext& context_;
    const CallerAccess& access_;
    /// Callbacks hold a weak pointer to this, to notice that the object was destroyed.
    std::shared_ptr<GpuObject*> self_;
    bus::WaitingReplies<bus::Dictionary> memory_replies_ = {};
};

/// The GPU objects of one connection: one for each GPU of the report.
class GpuObjects {
public:
    GpuObjects(bus::Connection& connection,
               const ServiceContext& context,
               const CallerAccess& access)
        : connection_{connection}, context_{context}, access_{access} {}

    /// Updates the objects to match the report and signals each difference. Objects that exist
    /// before the first message is read are not announced.
    void update();
    /// All object paths, best GPU first.
    [[nodiscard]] std::vector<sdbus::ObjectPath> paths() const;
    /// The object path of a GPU or partition; "/" if the GPU does not exist.
    [[nodiscard]] sdbus::ObjectPath path_of(const std::string& id) const;
    /// The GPU with this object path; nullptr if there is no such GPU.
    [[nodiscard]] const Gpu* at(const std::string& path) const;

private:
    [[nodiscard]] std::string free_path(const std::string& id) const;
    void add(const Gpu& gpu, const Report& open_to_all);
    [[nodiscard]] const std::vector<Finding>& findings();

    bus::Connection& connection_;
    const ServiceContext& context_;
    const CallerAccess& access_;
    std::map<std::string, std::unique_ptr<GpuObject>> by_path_ = {};
    /// The doctor's findings, computed on first use, because reading the causes takes a third of
    /// the daemon's start time.
    std::optional<std::vector<Finding>> findings_ = {};
};

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
