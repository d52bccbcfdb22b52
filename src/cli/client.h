// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calls/methods.h"
#include "policy/decision.h"
#include "policy/recommendation.h"
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::engine {
class Redaction;
}

namespace gpuprobe::inline cli {

/// Who answers, for `version`.
struct ClientInfo {
    std::string kind = {};  ///< "daemon", "direct" or "replay"
    std::optional<std::string> version = {};
    std::vector<std::string> features = {};
};

/// Whoever knows this machine: the daemon, or the engine in this process. Verbs do not see which.
class Client {
public:
    virtual ~Client() = default;

    /// The report as it came, with members that this program does not know.
    /// Errors: Unavailable when the daemon went away, TooManyRequests, Malformed.
    [[nodiscard]] virtual Result<Value> document() = 0;
    /// The same as far as this program knows it.
    [[nodiscard]] virtual Result<Report> report() = 0;
    /// The same with the GPUs alone, where that is less to read: for their names.
    [[nodiscard]] virtual Result<Report> gpus() { return report(); }
    /// A decision whose `backend` is null is an answer too; one with a backend has its candidates
    /// for sure only with `explain` in the request. Errors: UnknownConsumer, InvalidRequest,
    /// Unavailable.
    [[nodiscard]] virtual Result<Decision> select(const std::string& consumer,
                                                  const Value& request) = 0;
    /// An answer that recommends nothing is an answer too. `manifest`: its text, or empty for the
    /// installed one. Errors: NotFound, Malformed, TooLarge, InvalidRequest, Unavailable.
    [[nodiscard]] virtual Result<Recommendation> recommend(const std::string& product,
                                                           const std::string& manifest,
                                                           const Value& request) = 0;
    /// Names that select() knows, sorted. Errors: Unavailable.
    [[nodiscard]] virtual Result<std::vector<std::string>> consumers() = 0;
    /// Names that recommend() knows, sorted. Errors: Unavailable.
    [[nodiscard]] virtual Result<std::vector<std::string>> products() = 0;
    /// Asks the drivers again and returns when the report holds the answers. `progress` gets a
    /// share from 0 to 1. Errors: InvalidRequest, WouldWake, TooManyRequests, Cancelled.
    virtual Status probe(const ProbeRequest& order,
                         const std::function<void(double)>& progress) = 0;
    /// Brings up to date what the report says of the moment (Engine::renew); what can't be asked
    /// stays as it is. Errors: Cancelled on an interrupt.
    virtual Status renew() { return Done{}; }
    /// Reads the free memory of `gpu` again where this can; wakes nothing, and what can't be read
    /// stays as it is, with its age. Errors: Cancelled on an interrupt.
    virtual Status refresh_memory(Gpu& /*gpu*/) { return Done{}; }
    /// What an administrator decided for a consumer (policy/override_rule.h). Errors:
    /// NotAuthorized, InvalidRequest, TooManyRequests, Io.
    virtual Status set_override(const std::string& consumer, const Value& rule) = 0;
    /// False when there was none.
    virtual Result<bool> clear_override(const std::string& consumer) = 0;
    /// An object: consumer → rule, set_at_usec, set_by_uid.
    virtual Result<Value> overrides() = 0;
    /// How a choice went (engine/feedback.h). Errors: InvalidRequest, UnknownDevice,
    /// TooManyRequests, Io.
    virtual Status report_outcome(const Value& outcome) = 0;
    /// Lets drivers be asked again that are held back; `filter` as of quarantine_filter_from().
    /// Says how many. Errors: NotAuthorized, InvalidRequest, TooManyRequests, Io.
    virtual Result<std::uint32_t> clear_quarantine(const Value& filter) = 0;
    /// Calls `changed` at each new generation until the source ends. Errors: Unavailable when the
    /// daemon left, Cancelled on an interrupt.
    virtual Status watch(const std::function<void()>& changed) = 0;
    /// Writes a capture of this machine into a folder; with `mask`, which may be null, redacted.
    /// Errors: InvalidRequest when the folder holds something or a daemon is asked, Io,
    /// PermissionDenied.
    virtual Status capture(const std::string& folder, engine::Redaction* mask) = 0;
    /// The last answer of a method of org.gpuprobe, or its refusal, which is an answer too. Errors:
    /// Unavailable; InvalidRequest on a bus.
    [[nodiscard]] virtual Result<MethodAnswer> call(const MethodCall& call) = 0;
    [[nodiscard]] virtual ClientInfo info() = 0;
};

}  // namespace gpuprobe::inline cli
