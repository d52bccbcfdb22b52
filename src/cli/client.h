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
    std::string kind = {};  ///< the kind of source: "daemon", "direct" or "replay"
    std::optional<std::string> version = {};
};

/// The source of answers about the machine: the daemon on its socket, or the engine in this
/// process. Verbs work the same with both sources. Both implement the methods of org.gpuprobe
/// (calls/methods.h) in call(), so each typed function below is implemented only once and uses
/// call(). Each function returns the errors of call() in addition to the errors that the comment on
/// the function lists. An error reply that this program does not know becomes the error Internal.
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

    // The engine in this process answers the following calls without converting the answer to text,
    // because the report is large and the error reply NoMatch contains no warnings.

    /// The report as it was received, with the members that this program does not know. Errors:
    /// TooManyRequests, Malformed.
    [[nodiscard]] virtual Result<Value> document();
    /// The report without members that this program does not know. Errors: the same as for
    /// document().
    [[nodiscard]] virtual Result<Report> report();
    /// Chooses a backend. A decision whose `backend` is null is not an error. A decision with a
    /// backend is guaranteed to have its candidates only if the request has `explain`. Errors:
    /// UnknownApplication, InvalidRequest, UnknownDevice.
    [[nodiscard]] virtual Result<Decision> select(const std::string& application,
                                                  const Value& request);
    /// Refreshes the facts that change from moment to moment (Engine::renew). Facts that cannot be
    /// read again keep their old value. The only error is Cancelled.
    virtual Status renew();
    /// Reads the free memory of `gpu` again without waking the GPU. If the value cannot be read,
    /// `gpu` keeps the old value and the age of this value. The only errors are Malformed and
    /// Cancelled.
    virtual Status refresh_memory(Gpu& gpu);

    /// The report with memory figures that are at most two seconds old. The figures of sleeping
    /// GPUs may be older. Errors: the same as for document().
    [[nodiscard]] Result<Report> current_report();
    /// A report that contains only the GPUs, for looking up their names.
    [[nodiscard]] Result<Report> gpus();
    /// Chooses a variant. An answer without a variant is not an error. `manifest` is the text of a
    /// manifest; if it is empty, the installed manifest is used. Errors: UnknownApplication,
    /// NotFound, Malformed, TooLarge, InvalidRequest.
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
    /// Removes an override. Returns false if the application had no override. Errors: the same as
    /// for set_override().
    Result<bool> clear_override(const std::string& application);
    /// All overrides, as an object that contains an object with `rule`, `set_at_usec` and
    /// `set_by_uid` for each application.
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
    /// interface belongs to org.gpuprobe. Errors: the same as for call(); Malformed for a document
    /// that is not JSON.
    Result<Value> ask(std::string_view method,
                      Value parameters = Value{Value::Object{}},
                      const HearAnswer& heard_before = {});
};

}  // namespace gpuprobe::inline cli
