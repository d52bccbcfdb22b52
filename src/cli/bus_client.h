// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "base/event_loop.h"
#include "cli/client.h"
#include "wire/daemon_client.h"

namespace gpuprobe::inline cli {

/// Asks for passwords on this terminal while polkit wants one, as systemctl does: with polkit's own
/// pkttyagent, where it is installed, and where no other agent of the session does.
class PolkitAgent {
public:
    /// Whether somebody sits at this program's terminal who is not root. Root is never asked.
    static bool somebody_is_there();

    /// Starts it and waits until it can be asked, or has given up. Nothing when nobody is there.
    PolkitAgent();
    ~PolkitAgent();
    PolkitAgent(const PolkitAgent&) = delete;
    PolkitAgent& operator=(const PolkitAgent&) = delete;

private:
    pid_t pid_ = -1;
};

/// The daemon's answers.
class BusClient final : public Client {
public:
    /// `where`: "system", "session" or an address. Errors: Unavailable, NotAuthorized.
    static Result<std::unique_ptr<Client>> open(const std::string& where);

    [[nodiscard]] Result<Value> document() override;
    [[nodiscard]] Result<Report> report() override;
    [[nodiscard]] Result<Decision> select(const std::string& consumer,
                                          const Value& request) override;
    [[nodiscard]] Result<Recommendation> recommend(const std::string& product,
                                                   const std::string& manifest,
                                                   const Value& request) override;
    [[nodiscard]] Result<std::vector<std::string>> consumers() override;
    [[nodiscard]] Result<std::vector<std::string>> products() override;
    Status probe(const ProbeRequest& order, const std::function<void(double)>& progress) override;
    Status set_override(const std::string& consumer, const Value& rule) override;
    Result<bool> clear_override(const std::string& consumer) override;
    Result<Value> overrides() override;
    Status report_outcome(const Value& outcome) override;
    Result<std::uint32_t> clear_quarantine(const Value& filter) override;
    Status renew() override;
    Status refresh_memory(Gpu& gpu) override;
    Status watch(const std::function<void()>& changed) override;
    Status capture(const std::string& folder, engine::Redaction* mask) override;
    [[nodiscard]] Result<MethodAnswer> call(const MethodCall& call) override;
    [[nodiscard]] ClientInfo info() override;

private:
    /// Held while a call may need leave.
    [[nodiscard]] std::unique_ptr<PolkitAgent> agent();
    BusClient(std::unique_ptr<SystemLoop> loop, std::unique_ptr<bus::DaemonClient> daemon)
        : loop_{std::move(loop)}, daemon_{std::move(daemon)} {}

    std::unique_ptr<SystemLoop> loop_;  // outlives the client
    std::unique_ptr<bus::DaemonClient> daemon_;
};

}  // namespace gpuprobe::inline cli
