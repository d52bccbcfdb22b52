// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpuprobe/gpuprobe.h>

#include "base/files.h"
#include "cli/client.h"

namespace gpuprobe::inline cli {

/// A client of the daemon on its socket.
class SocketClient final : public Client {
public:
    /// Connects to the socket at `path`, or without one to the socket of the daemon that was
    /// installed with this program. Errors: Unavailable.
    static Result<std::unique_ptr<Client>> open(const std::optional<std::string>& path);

    [[nodiscard]] Result<Value> document() override;
    [[nodiscard]] Result<Report> report() override;
    [[nodiscard]] Result<Report> gpus() override;
    [[nodiscard]] Result<Decision> select(const std::string& application,
                                          const Value& request) override;
    [[nodiscard]] Result<Recommendation> recommend(const std::string& application,
                                                   const std::string& manifest,
                                                   const Value& request) override;
    [[nodiscard]] Result<std::vector<std::string>> applications() override;
    [[nodiscard]] Result<std::vector<std::string>> manifests() override;
    Status probe(const ProbeRequest& order, const std::function<void(double)>& progress) override;
    Status renew() override;
    Status refresh_memory(Gpu& gpu) override;
    Status set_override(const std::string& application, const Value& rule) override;
    Result<bool> clear_override(const std::string& application) override;
    Result<Value> overrides() override;
    Status report_outcome(const Value& outcome) override;
    Result<std::uint32_t> clear_quarantine(const Value& filter) override;
    Status watch(const std::function<void()>& changed) override;
    Status capture(const std::string& folder, engine::Redaction* mask) override;
    [[nodiscard]] Result<MethodAnswer> call(const MethodCall& call,
                                            const HearAnswer& heard_before) override;
    [[nodiscard]] ClientInfo info() override;

private:
    using Handle = CHandle<::gpuprobe_client, ::gpuprobe_close>;
    explicit SocketClient(Handle client) : client_{std::move(client)} {}
    /// Calls a method and returns its document. An error reply becomes an Error.
    Result<Value> ask(const char* method,
                      const Value& parameters,
                      const HearAnswer& heard_before = {});

    Handle client_;
};

}  // namespace gpuprobe::inline cli
