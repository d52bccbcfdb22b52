// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_loop.h"
#include "base/result.h"
#include "base/value.h"
#include "policy/decision.h"
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::bus {

/// A blocking client of the daemon for command-line programs. Each call waits for its reply. Common
/// errors: Unavailable if there is no reply; NotAuthorized if the bus or the daemon refuses.
class DaemonClient {
public:
    using Progress = std::function<void(double)>;

    /// Connects to `where`: "system", "session" or a D-Bus address. This may start the daemon.
    /// probe() and watch() run the loop, which must outlive the client.
    static Result<std::unique_ptr<DaemonClient>> connect(const std::string& where,
                                                         SystemLoop& loop);
    ~DaemonClient();

    /// Allows polkit to ask the user of this process for a password if a call needs permission.
    /// Such a call then waits for up to three minutes.
    void allow_questions();

    /// The properties of the manager at the time of connect(): "Version", "Features", "Generation",
    /// "State" …
    [[nodiscard]] const Value& properties() const;

    /// The report as JSON, of 8 MiB at most. Errors: TooLarge, TooManyRequests.
    Result<std::string> report_json();

    /// Selects a backend. If the request contains `explain`, the decision also has the candidates,
    /// and an unsatisfiable request gives a decision without a backend instead of an error. Errors:
    /// UnknownApplication, InvalidRequest; NoMatch without `explain`.
    Result<Decision> select(const std::string& application, const Value& request);

    /// The applications that select() and recommend() know, sorted by name.
    Result<std::vector<std::string>> applications();
    Result<std::vector<std::string>> manifests();

    /// The findings of the doctor as JSON. The daemon updates its report first. Errors: TooLarge,
    /// TooManyRequests.
    Result<std::string> diagnosis();

    /// The memory of a GPU, read now. Errors: UnknownDevice, TooManyRequests.
    Result<GpuMemory> memory(const std::string& gpu);

    /// Recommends a variant. The recommendation may be empty. It has the candidates if the request
    /// contains `explain`. Errors: NotFound for an unknown application; Malformed and TooLarge for
    /// a manifest; InvalidRequest.
    Result<Recommendation> recommend(const std::string& application,
                                     const std::string& manifest,
                                     const Value& request);

    /// Probes the drivers again and waits for up to five minutes. Measuring may take a second for
    /// each API of each GPU. Errors: UnknownDevice, InvalidRequest, WouldWake, TooManyRequests,
    /// Cancelled.
    Status probe(const ProbeRequest& wanted, const Progress& progress);

    /// Sets an application's override. Errors: NotAuthorized, InvalidRequest, UnknownDevice,
    /// TooManyRequests.
    Status set_override(const std::string& application, const Value& rule);
    /// Returns false if the application had no override.
    Result<bool> clear_override(const std::string& application);
    /// All overrides: application → rule, set_at_usec, set_by_uid.
    Result<Value> overrides();
    Status report_outcome(const Value& outcome);
    /// Releases the drivers that match the filter from quarantine and returns their number.
    /// Errors: NotAuthorized, InvalidRequest, TooManyRequests.
    Result<std::uint32_t> clear_quarantine(const Value& filter);

    /// Calls `changed` after each change of generation or state. Returns only when the daemon has
    /// left the bus, with the error Unavailable.
    Status watch(const std::function<void()>& changed);

private:
    struct Impl;
    explicit DaemonClient(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::bus
