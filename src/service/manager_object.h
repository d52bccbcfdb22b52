// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <org.gpuprobe.GpuProbe1.Manager.adaptor.h>

#include "calls/documents.h"
#include "calls/requests.h"
#include "policy/request_table.h"
#include "service/answers.h"
#include "service/bus_objects.h"
#include "service/caller_access.h"
#include "wire/connection.h"
#include "wire/dictionary.h"

namespace gpuprobe::inline service {

/// The Manager interface: decodes calls, calls the engine and encodes the answers.
class ManagerObject final
    : public sdbus::AdaptorInterfaces<org::gpuprobe::GpuProbe1::Manager_adaptor,
                                      sdbus::Properties_adaptor> {
public:
    ManagerObject(bus::Connection& connection,
                  const ServiceContext& context,
                  const GpuObjects& gpus,
                  Jobs& jobs,
                  const CallerAccess& access);
    ~ManagerObject();

    /// Signals changed properties; call this after the GPU objects were updated.
    void update();

private:
    /// The values, as last announced, of the properties with change signals.
    struct Published {
        std::uint64_t generation = 0;
        std::string state = {};
        std::string default_gpu = {};
    };

    void Describe(sdbus::Result<std::string>&& result) override;
    void DescribeFd(sdbus::Result<sdbus::UnixFd>&& result) override;
    void Diagnose(sdbus::Result<std::string>&& result) override;
    std::vector<sdbus::ObjectPath> ListGpus(const bus::Dictionary& options) override;
    void SelectBackend(sdbus::Result<bus::Dictionary>&& result,
                       std::string application,
                       bus::Dictionary request) override;
    void RecommendVariant(sdbus::Result<bus::Dictionary>&& result,
                          std::string application,
                          std::string manifest,
                          bus::Dictionary request) override;
    void Plan(sdbus::Result<std::string>&& result,
              bus::Dictionary request,
              std::string model) override;
    std::vector<std::string> ListManifests() override;
    std::vector<std::string> ListApplications() override;
    void Probe(sdbus::Result<bus::Dictionary>&& result,
               std::vector<sdbus::ObjectPath> gpus,
               std::vector<std::string> apis,
               bus::Dictionary options) override;
    void ReportOutcome(sdbus::Result<>&& result, bus::Dictionary outcome) override;
    void SetOverride(sdbus::Result<>&& result,
                     std::string application,
                     bus::Dictionary rule) override;
    void ClearOverride(sdbus::Result<bool>&& result, std::string application) override;
    std::map<std::string, bus::Dictionary> ListOverrides() override;
    std::vector<bus::Dictionary> ListQuarantine() override;
    void ClearQuarantine(sdbus::Result<std::uint32_t>&& result, bus::Dictionary filter) override;
    std::string Version() override;
    std::vector<std::string> Features() override;
    std::uint64_t Generation() override { return published_.generation; }
    std::string State() override { return published_.state; }
    sdbus::ObjectPath DefaultGpu() override { return sdbus::ObjectPath{published_.default_gpu}; }

    /// The current values of these properties.
    [[nodiscard]] Published current() const;
    /// The arguments of one SelectBackend call.
    struct Question {
        std::string application = {};
        Value request = {};
    };
    /// Replies from the cache if possible; otherwise makes a decision and caches it.
    void select(const Question& question, const Caller& caller, bus::Reply<bus::Dictionary>& reply);
    /// Makes a decision on the report as `asker` sees it. Errors: NoMatch if no backend fits and no
    /// explanation was requested; the same as Engine::select().
    [[nodiscard]] Result<bus::Dictionary> decide(const Question& question,
                                                 uid_t asker,
                                                 const Report& seen);
    /// The doctor's findings for this caller as JSON. Errors: the same as text_for().
    [[nodiscard]] Result<std::string> diagnosis(const std::string& sender,
                                                const Caller& caller) const;
    /// The JSON as valid bus text, charged to the sender's InlineBudget. Errors: TooLarge,
    /// TooManyRequests.
    [[nodiscard]] Result<std::string> text_for(const std::string& sender,
                                               const std::string& json) const;
    /// Replies with a plan after the free memory of the GPUs was read.
    void plan(PlanRequest request,
              const std::string& sender,
              const Caller& caller,
              bus::Reply<std::string>& reply);
    /// Replaces the object path of a GPU by the GPU's id.
    void name_by_id(Value& name) const;
    /// The same for all GPUs in the members `gpus` and `deny` of a request.
    void name_all_by_id(Value& request) const;
    /// The request with its keys spelled as in `keys`, and with ids instead of object paths.
    [[nodiscard]] Value with_ids(const Value& request, std::span<const RequestKey> keys) const;
    /// The sender of the call that is being handled.
    [[nodiscard]] Requester requester() const;
    /// Memory for a large call that waits for the bus and polkit. Errors: TooManyRequests.
    [[nodiscard]] Result<SharedPool::Claim> claim_for_question(const std::string& sender);
    /// The encoding of an answer about the machine as `asker` sees it. `seen` must outlive it.
    [[nodiscard]] bus::BusEncoding encoding(uid_t asker, const Report& seen) const;
    /// Runs a probe if the caller has permission.
    void probe(const ProbeRequest& request, bus::Reply<bus::Dictionary> reply);
    /// Replies with the result of `act(engine, uid)` if the caller has the permissions that
    /// `method` needs. Such calls change the daemon's stored state, so they count against
    /// Admission::calls.
    template <class... Results, class Act>
    void change(std::string_view method, bus::Reply<Results...> reply, Act act);
    /// The checked request of a Probe call. Errors: InvalidRequest, UnknownDevice and others of
    /// checked().
    [[nodiscard]] Result<ProbeRequest> probe_request(const std::vector<sdbus::ObjectPath>& gpus,
                                                     const std::vector<std::string>& apis,
                                                     const bus::Dictionary& options) const;

    bus::Connection& connection_;
    const ServiceContext& context_;
    const GpuObjects& gpus_;
    Jobs& jobs_;
    const CallerAccess& access_;
    Published published_ = {};
    AnswerCache<bus::Dictionary> answers_ = {};
    /// The engine's callbacks hold a weak pointer to this, to notice that the object was destroyed.
    std::shared_ptr<const ManagerObject*> self_;
    bus::WaitingReplies<std::string> texts_ = {};
};

}  // namespace gpuprobe::inline service
