// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

/// The source of answers about the machine: the daemon on its socket, or the engine in this
/// process. Verbs work the same with both. Both implement the methods of org.gpuprobe
/// (calls/methods.h), so each typed function is implemented once, by call(). The errors listed
/// below are in addition to the errors of call(); an error reply that this program does not know
/// becomes Internal.
class Client {
public:
    using Progress = std::function<void(double)>;

    virtual ~Client() = default;

    /// Calls a method of org.gpuprobe or org.varlink.service and returns its last answer. An error
    /// reply is also an answer. `heard_before` receives the answers before the last one, such as
    /// the progress of Probe. Errors: Unavailable, TooLarge, Internal for a malformed reply,
    /// Cancelled on an interrupt.
    [[nodiscard]] virtual Result<MethodAnswer> call(const MethodCall& call,
                                                    const HearAnswer& heard_before = {}) = 0;
    /// Calls `changed` at each new generation of the report, until an error. Errors: Unavailable if
    /// the daemon went away, Cancelled on an interrupt.
    virtual Status watch(const std::function<void()>& changed) = 0;
    /// Writes a capture of this machine into a folder, redacted if `mask` is not null. Errors:
    /// InvalidRequest if the folder is not empty or if this client is connected to a daemon; Io,
    /// PermissionDenied.
    virtual Status capture(const std::string& folder, engine::Redaction* mask) = 0;
    [[nodiscard]] virtual ClientInfo info() = 0;

    // The engine in this process answers these calls without converting the answer to text: the
    // report is large, and the error reply NoMatch has no warnings.

    /// The report as received, including members that this program does not know. Errors:
    /// TooManyRequests, Malformed.
    [[nodiscard]] virtual Result<Value> document();
    /// The report without members that this program does not know. Errors: as document().
    [[nodiscard]] virtual Result<Report> report();
    /// Chooses a backend. A decision whose `backend` is null is not an error. A decision with a
    /// backend is guaranteed to have its candidates only if the request has `explain`. Errors:
    /// UnknownApplication, InvalidRequest, UnknownDevice.
    [[nodiscard]] virtual Result<Decision> select(const std::string& application,
                                                  const Value& request);
    /// Refreshes the facts that change from moment to moment (Engine::renew). Facts that can't be
    /// read again keep their old value. Errors: only Cancelled.
    virtual Status renew();
    /// Reads the free memory of `gpu` again. Wakes no GPU. If the value can't be read, the old
    /// value and its age stay. Errors: Malformed, Cancelled; no others.
    virtual Status refresh_memory(Gpu& gpu);

    /// The report with memory figures that are at most two seconds old. The figures of sleeping
    /// GPUs may be older. Errors: as document().
    [[nodiscard]] Result<Report> current_report();
    /// A report that contains only the GPUs, for looking up their names.
    [[nodiscard]] Result<Report> gpus();
    /// Chooses a variant. An answer without a variant is not an error. `manifest`: the text of a
    /// manifest, or empty for the installed one. Errors: NotFound, Malformed, TooLarge,
    /// InvalidRequest.
    [[nodiscard]] Result<Recommendation> recommend(const std::string& application,
                                                   const std::string& manifest,
                                                   const Value& request);
    /// The applications that select() and recommend() know, sorted by name.
    [[nodiscard]] Result<std::vector<ApplicationSummary>> applications();
    /// Probes the drivers again and returns when the report contains the results. `progress` is
    /// called with a share from 0 to 1. Errors: InvalidRequest, UnknownDevice, WouldWake,
    /// NotAuthorized, TooManyRequests.
    Status probe(const ProbeRequest& order, const Progress& progress);
    /// Sets an administrator's rule for an application (policy/override_rule.h). Errors:
    /// NotAuthorized, InvalidRequest, UnknownApplication, TooManyRequests, Io.
    Status set_override(const std::string& application, const Value& rule);
    /// Removes an override. Returns false if the application had no override. Errors: as
    /// set_override().
    Result<bool> clear_override(const std::string& application);
    /// All overrides as an object: application → rule, set_at_usec, set_by_uid.
    Result<Value> overrides();
    /// Reports to the engine whether a choice worked (engine/decision_service.h). Errors:
    /// InvalidRequest, UnknownApplication, UnknownDevice, TooManyRequests, Io.
    Status report_outcome(const Value& outcome);
    /// Releases drivers from quarantine, so that they are probed again. `filter` is parsed by
    /// quarantine_filter_from(). Returns the number of drivers that were released. Errors:
    /// NotAuthorized, InvalidRequest, TooManyRequests, Io.
    Result<std::uint32_t> clear_quarantine(const Value& filter);

protected:
    /// Calls a method and returns its document; an error reply becomes an Error. A name without an
    /// interface belongs to org.gpuprobe. Errors: as call(); Malformed for a document that is not
    /// JSON.
    Result<Value> ask(std::string_view method,
                      Value parameters = Value{Value::Object{}},
                      const HearAnswer& heard_before = {});
};

}  // namespace gpuprobe::inline cli
