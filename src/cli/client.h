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
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::engine {
class Redaction;
}

namespace gpuprobe::inline cli {

/// Information about the source of the answers, for `version`.
struct ClientInfo {
    std::string kind = {};  ///< "daemon", "direct" or "replay"
    std::optional<std::string> version = {};
};

/// The source of answers about the machine: a daemon, or the engine in this process. Verbs don't
/// know which.
class Client {
public:
    virtual ~Client() = default;

    /// The report as received, including members that this program does not know. Errors:
    /// Unavailable if the daemon went away, TooManyRequests, Malformed.
    [[nodiscard]] virtual Result<Value> document() = 0;
    /// The report without members that this program does not know. Errors: as document().
    [[nodiscard]] virtual Result<Report> report() = 0;
    /// A report that may contain only the GPUs, if that is cheaper; enough to look up their names.
    [[nodiscard]] virtual Result<Report> gpus() { return report(); }
    /// Chooses a backend. A decision whose `backend` is null is not an error. A decision with a
    /// backend is guaranteed to have its candidates only if the request has `explain`. Errors:
    /// UnknownApplication, InvalidRequest, Unavailable.
    [[nodiscard]] virtual Result<Decision> select(const std::string& application,
                                                  const Value& request) = 0;
    /// Chooses a variant. An answer without a variant is not an error. `manifest`: the text of a
    /// manifest, or empty for the installed one. Errors: NotFound, Malformed, TooLarge,
    /// InvalidRequest, Unavailable.
    [[nodiscard]] virtual Result<Recommendation> recommend(const std::string& application,
                                                           const std::string& manifest,
                                                           const Value& request) = 0;
    /// The sorted names of the applications that select() knows. Errors: Unavailable.
    [[nodiscard]] virtual Result<std::vector<std::string>> applications() = 0;
    /// The sorted names of the applications that recommend() knows. Errors: Unavailable.
    [[nodiscard]] virtual Result<std::vector<std::string>> manifests() = 0;
    /// Probes the drivers again and returns when the report contains the results. `progress` is
    /// called with a share from 0 to 1. Errors: InvalidRequest, WouldWake, TooManyRequests,
    /// Cancelled.
    virtual Status probe(const ProbeRequest& order,
                         const std::function<void(double)>& progress) = 0;
    /// Refreshes the facts that change from moment to moment (Engine::renew). Facts that can't be
    /// read again keep their old value. Errors: Cancelled on an interrupt.
    virtual Status renew() { return Done{}; }
    /// Reads the free memory of `gpu` again, if this client can. Wakes no GPU. A value that can't
    /// be read stays, with its age. Errors: Cancelled on an interrupt.
    virtual Status refresh_memory(Gpu& /*gpu*/) { return Done{}; }
    /// Sets an administrator's rule for an application (policy/override_rule.h). Errors:
    /// NotAuthorized, InvalidRequest, TooManyRequests, Io.
    virtual Status set_override(const std::string& application, const Value& rule) = 0;
    /// Removes an override. Returns false if the application had none. Errors: as set_override().
    virtual Result<bool> clear_override(const std::string& application) = 0;
    /// All overrides as an object: application → rule, set_at_usec, set_by_uid.
    virtual Result<Value> overrides() = 0;
    /// Reports whether a choice worked (engine/decision_service.h). Errors: InvalidRequest,
    /// UnknownDevice, TooManyRequests, Io.
    virtual Status report_outcome(const Value& outcome) = 0;
    /// Releases drivers from quarantine, so that they are probed again. `filter` is read by
    /// quarantine_filter_from(). Returns how many were released. Errors: NotAuthorized,
    /// InvalidRequest, TooManyRequests, Io.
    virtual Result<std::uint32_t> clear_quarantine(const Value& filter) = 0;
    /// Calls `changed` at each new generation of the report, until an error. Errors: Unavailable if
    /// the daemon went away, Cancelled on an interrupt.
    virtual Status watch(const std::function<void()>& changed) = 0;
    /// Writes a capture of this machine into a folder, redacted if `mask` is not null. Errors:
    /// InvalidRequest if the folder is not empty or if this client is a daemon's; Io,
    /// PermissionDenied.
    virtual Status capture(const std::string& folder, engine::Redaction* mask) = 0;
    /// Calls a method of org.gpuprobe or org.varlink.service and returns its last answer. An error
    /// reply is an answer too. `heard_before`: gets the answers before the last one, such as the
    /// progress of Probe. Errors: Unavailable, TooLarge, Internal for a malformed reply, Cancelled
    /// on an interrupt.
    [[nodiscard]] virtual Result<MethodAnswer> call(const MethodCall& call,
                                                    const HearAnswer& heard_before = {}) = 0;
    [[nodiscard]] virtual ClientInfo info() = 0;
};

}  // namespace gpuprobe::inline cli
