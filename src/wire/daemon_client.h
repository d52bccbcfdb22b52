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
#include "policy/recommendation.h"
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::bus {

/// The daemon, seen from a program that asks one thing at a time. Every call waits for its answer.
/// Common errors: Unavailable when nobody answers, NotAuthorized when the bus or the daemon
/// refuses.
class DaemonClient {
public:
    using Progress = std::function<void(double)>;

    /// `where`: "system", "session" or a D-Bus address. May start the daemon. The loop is turned by
    /// probe() and watch() and must outlive the client.
    static Result<std::unique_ptr<DaemonClient>> connect(const std::string& where,
                                                         SystemLoop& loop);
    ~DaemonClient();

    /// From now on polkit may ask the user of this process for a password when a call needs
    /// permission. Such a call waits for three minutes at most.
    void allow_questions();

    /// The properties of the manager as they were at connect(): "Version", "Features",
    /// "Generation", "State" …
    [[nodiscard]] const Value& properties() const;

    /// The report as JSON, of at most 8 MiB. Errors: TooLarge, TooManyRequests.
    Result<std::string> report_json();

    /// With `explain` in the request also the candidates, and a decision without a backend where
    /// nothing matches. Errors: UnknownConsumer, InvalidRequest; NoMatch without `explain`.
    Result<Decision> select(const std::string& consumer, const Value& request);

    /// The names that select() and recommend() know, sorted.
    Result<std::vector<std::string>> consumers();
    Result<std::vector<std::string>> products();

    /// What is wrong, as JSON; the daemon brings its report up to date for it. Errors: TooLarge,
    /// TooManyRequests.
    Result<std::string> diagnosis();

    /// The memory of the GPU with that id, read now. Errors: UnknownDevice, TooManyRequests.
    Result<GpuMemory> memory(const std::string& gpu);

    /// One that recommends nothing is an answer too; the candidates come with `explain` in the
    /// request. Errors: NotFound for a product, Malformed and TooLarge for a manifest,
    /// InvalidRequest.
    Result<Recommendation> recommend(const std::string& product,
                                     const std::string& manifest,
                                     const Value& request);

    /// Asks the drivers again, waiting at most five minutes. What is measured may
    /// take a second for each API of each GPU.
    /// Errors: UnknownDevice, InvalidRequest, WouldWake, TooManyRequests, Cancelled.
    Status probe(const ProbeRequest& wanted, const Progress& progress);

    /// Errors: NotAuthorized, InvalidRequest, UnknownDevice, TooManyRequests.
    Status set_override(const std::string& consumer, const Value& rule);
    /// False when there was none.
    Result<bool> clear_override(const std::string& consumer);
    /// Consumer → rule, set_at_usec, set_by_uid.
    Result<Value> overrides();
    Status report_outcome(const Value& outcome);
    /// How many are asked again. Errors: NotAuthorized, InvalidRequest, TooManyRequests.
    Result<std::uint32_t> clear_quarantine(const Value& filter);

    /// Calls `changed` after each change of generation or state. Returns only when the daemon left
    /// the bus: always an Error, Unavailable.
    Status watch(const std::function<void()>& changed);

private:
    struct Impl;
    explicit DaemonClient(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::bus
