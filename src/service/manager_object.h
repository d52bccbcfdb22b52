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
#include "policy/request_table.h"
#include "service/answer_cache.h"
#include "service/caller_access.h"
#include "service/gpu_objects.h"
#include "service/jobs.h"
#include "wire/connection.h"
#include "wire/dictionary.h"

namespace gpuprobe::inline service {

/// The Manager interface: it decodes calls, asks the engine and encodes the answers.
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

    /// Signals what changed; call it after the GPU objects were updated.
    void update();

private:
    /// The properties that announce changes, as last announced.
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
                       std::string consumer,
                       bus::Dictionary request) override;
    void RecommendVariant(sdbus::Result<bus::Dictionary>&& result,
                          std::string product,
                          std::string manifest,
                          bus::Dictionary request) override;
    void Plan(sdbus::Result<std::string>&& result,
              bus::Dictionary request,
              std::string model) override;
    std::vector<std::string> ListProducts() override;
    std::vector<std::string> ListConsumers() override;
    void Probe(sdbus::Result<bus::Dictionary>&& result,
               std::vector<sdbus::ObjectPath> gpus,
               std::vector<std::string> apis,
               bus::Dictionary options) override;
    void ReportOutcome(sdbus::Result<>&& result, bus::Dictionary outcome) override;
    void SetOverride(sdbus::Result<>&& result, std::string consumer, bus::Dictionary rule) override;
    void ClearOverride(sdbus::Result<bool>&& result, std::string consumer) override;
    std::map<std::string, bus::Dictionary> ListOverrides() override;
    std::vector<bus::Dictionary> ListQuarantine() override;
    void ClearQuarantine(sdbus::Result<std::uint32_t>&& result, bus::Dictionary filter) override;
    std::string Version() override;
    std::vector<std::string> Features() override;
    std::uint64_t Generation() override { return published_.generation; }
    std::string State() override { return published_.state; }
    sdbus::ObjectPath DefaultGpu() override { return sdbus::ObjectPath{published_.default_gpu}; }

    [[nodiscard]] Published current() const;
    /// One call of SelectBackend.
    struct Question {
        std::string consumer = {};
        Value request = {};
    };
    /// Answers from the cache if it can, else with a new decision, which goes into the cache.
    void select(const Question& question, const Caller& caller, bus::Reply<bus::Dictionary>& reply);
    [[nodiscard]] Result<bus::Dictionary> decide(const Question& question,
                                                 uid_t asker,
                                                 const Report& seen);
    [[nodiscard]] Result<std::string> diagnosis(const std::string& sender,
                                                const Caller& caller) const;
    /// JSON as the bus carries it, where the sender has that much left.
    [[nodiscard]] Result<std::string> text_for(const std::string& sender,
                                               const std::string& json) const;
    /// Replies when the free memory was read.
    void plan(PlanRequest request,
              const std::string& sender,
              const Caller& caller,
              bus::Reply<std::string>& reply);
    /// Replaces the object path of a GPU by the GPU's id.
    void name_by_id(Value& name) const;
    void name_all_by_id(Value& request) const;
    /// The request with the keys of its table, and with ids for object paths.
    [[nodiscard]] Value with_ids(const Value& request, std::span<const RequestKey> keys) const;
    [[nodiscard]] Requester requester() const;
    [[nodiscard]] Result<SharedPool::Claim> claim_for_question(const std::string& sender);
    /// Of an answer about the machine as that caller sees it, which outlives the spelling.
    [[nodiscard]] bus::Spelling spelling(uid_t asker, const Report& seen) const;
    /// Runs a probe, if the caller may ask for it.
    void probe(const ProbeRequest& request, bus::Reply<bus::Dictionary> reply);
    /// Replies what `act(engine, uid)` says, if the caller has the leave that `method` needs. Such
    /// calls change what the daemon keeps: all have the limit of calls that write to the disk.
    template <class... Results, class Act>
    void change(std::string_view method, bus::Reply<Results...> reply, Act act);
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
    /// The engine's callbacks hold this weakly, to notice that the object has gone.
    std::shared_ptr<const ManagerObject*> self_;
    bus::WaitingReplies<std::string> texts_ = {};
};

}  // namespace gpuprobe::inline service
