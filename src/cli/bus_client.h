// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/event_loop.h"
#include "cli/client.h"
#include "cli/polkit_agent.h"
#include "wire/daemon_client.h"

namespace gpuprobe::inline cli {

/// A client of the daemon on D-Bus.
class BusClient final : public Client {
public:
    /// Connects to a bus. `where`: "system", "session" or a D-Bus address. Errors: Unavailable,
    /// NotAuthorized.
    static Result<std::unique_ptr<Client>> open(const std::string& where);

    [[nodiscard]] Result<Value> document() override;
    [[nodiscard]] Result<Report> report() override;
    [[nodiscard]] Result<Decision> select(const std::string& application,
                                          const Value& request) override;
    [[nodiscard]] Result<Recommendation> recommend(const std::string& application,
                                                   const std::string& manifest,
                                                   const Value& request) override;
    [[nodiscard]] Result<std::vector<std::string>> applications() override;
    [[nodiscard]] Result<std::vector<std::string>> manifests() override;
    Status probe(const ProbeRequest& order, const std::function<void(double)>& progress) override;
    Status set_override(const std::string& application, const Value& rule) override;
    Result<bool> clear_override(const std::string& application) override;
    Result<Value> overrides() override;
    Status report_outcome(const Value& outcome) override;
    Result<std::uint32_t> clear_quarantine(const Value& filter) override;
    Status renew() override;
    Status refresh_memory(Gpu& gpu) override;
    Status watch(const std::function<void()>& changed) override;
    Status capture(const std::string& folder, engine::Redaction* mask) override;
    [[nodiscard]] Result<MethodAnswer> call(const MethodCall& call,
                                            const HearAnswer& heard_before) override;
    [[nodiscard]] ClientInfo info() override;

private:
    /// An agent for a call that may need authorization; the caller keeps it during the call. Null
    /// without a user at the terminal.
    [[nodiscard]] std::unique_ptr<PolkitAgent> agent();
    BusClient(std::unique_ptr<SystemLoop> loop, std::unique_ptr<bus::DaemonClient> daemon)
        : loop_{std::move(loop)}, daemon_{std::move(daemon)} {}

    std::unique_ptr<SystemLoop> loop_;  // must outlive daemon_
    std::unique_ptr<bus::DaemonClient> daemon_;
};

}  // namespace gpuprobe::inline cli
