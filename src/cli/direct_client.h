// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/units.h"
#include "cli/client.h"
#include "engine/engine.h"
#include "explain/doctor.h"
#include "probe/launcher.h"

namespace gpuprobe::inline cli {

/// How a DirectClient examines the machine.
struct DirectOptions {
    std::optional<std::string> replay = {};  ///< path of a capture folder
    std::optional<std::string> worker = {};  ///< path of gpuprobe-worker; looked up if absent
    std::vector<std::string> application_folders = {};
    std::string knowledge_root = {};  ///< the same as Arguments::knowledge_root
    bool has_cache = true;
    /// How long to wait for a driver; if nullopt, as long as the daemon would wait.
    std::optional<Duration> patience = {};
    bool follows_hardware = false;  ///< whether watch() will be called
    bool lives_on = false;          ///< whether the process runs for a long time after the probes
    /// Whether to examine the machine. If false, the report is empty and nothing is probed.
    bool looks = true;
    /// Called with true before waiting for probes, and with false afterwards.
    std::function<void(bool)> waiting = {};
    /// Called with a line of text for each driver that has not answered after a second.
    std::function<void(const std::string&)> slow = {};
};

/// A client that runs the engine in this process.
class DirectClient final : public Client {
public:
    /// Creates the engine. Returns when every probe has ended, or at once if `looks` is false.
    /// Errors: NotFound or Malformed for a capture; NotFound for a missing worker program;
    /// Cancelled on an interrupt.
    static Result<std::unique_ptr<Client>> open(const DirectOptions& options);

    /// Errors: the errors of Client::call(), and InvalidRequest if the call would change a captured
    /// machine.
    [[nodiscard]] Result<MethodAnswer> call(const MethodCall& call,
                                            const HearAnswer& heard_before) override;
    Status watch(const std::function<void()>& changed) override;
    Status capture(const std::string& folder, engine::Redaction* mask) override;
    [[nodiscard]] bool is_daemon() const override { return false; }

    [[nodiscard]] Result<Report> report() override;
    Status renew() override;

private:
    DirectClient(std::unique_ptr<SystemLoop> loop, std::unique_ptr<Launcher> launcher);
    /// Runs the loop until `done` returns true. Errors: Cancelled on SIGINT or SIGTERM.
    Status turn_until(const std::function<bool()>& done);

    // Keep this order: later members use earlier members.
    std::unique_ptr<SystemLoop> loop_;
    SystemClock clock_ = {};
    std::unique_ptr<Launcher> launcher_;
    std::shared_ptr<const FileSystem> files_ = {};  // shared with the engine
    std::optional<Surroundings> captured_ = {};     // the environment described in the capture
    std::unique_ptr<engine::Engine> engine_ = {};
};

}  // namespace gpuprobe::inline cli
