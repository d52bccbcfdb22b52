// SPDX-License-Identifier: Apache-2.0
#include "cli/bus_client.h"

#include <csignal>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/value.h"
#include "engine/live_memory.h"

namespace gpuprobe::inline cli {
namespace {

// Where polkit installs the agent, and how long to wait for it.
constexpr const char* kProgram = "/usr/bin/pkttyagent";
constexpr int kPatienceMilliseconds = 5000;

/// Starts the agent. It closes the descriptor `ready` as soon as polkit can use it. Source: polkit,
/// pkttyagent(1), --notify-fd. Returns -1 if it could not be started.
pid_t started(int ready) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ready, 3);
    std::string words[] = {kProgram, "--notify-fd=3", "--fallback"};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t pid = -1;
    if (::posix_spawn(&pid, kProgram, &actions, nullptr, arguments, environ) != 0)
        pid = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    return pid;
}

}  // namespace

bool PolkitAgent::somebody_is_there() {
    return ::geteuid() != 0 && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

PolkitAgent::PolkitAgent() {
    int ends[2] = {-1, -1};
    // poll() below returns when the agent closes the last copy of `writing`.
    if (!somebody_is_there() || ::access(kProgram, X_OK) != 0 || ::pipe2(ends, O_CLOEXEC) != 0)
        return;
    const UniqueFd reading{ends[0]};
    UniqueFd writing{ends[1]};
    pid_ = started(writing.get());
    writing.reset();
    pollfd closed{.fd = reading.get(), .events = POLLIN, .revents = 0};
    // On a timeout polkit refuses the call with a reason.
    (void)::poll(&closed, 1, kPatienceMilliseconds);
}

/// Ends the agent with the call that needed it.
PolkitAgent::~PolkitAgent() {
    if (pid_ < 0)
        return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
}

Result<std::unique_ptr<Client>> BusClient::open(const std::string& where) {
    auto loop = TRY(SystemLoop::create());
    auto daemon = TRY(bus::DaemonClient::connect(where, *loop));
    return std::unique_ptr<Client>{new BusClient{std::move(loop), std::move(daemon)}};
}

Result<Value> BusClient::document() {
    const auto json = TRY(daemon_->report_json());
    return parse_json(json, kMaxReport);
}

Result<Report> BusClient::report() {
    const auto json = TRY(daemon_->report_json());
    return parse_report(json);
}

Result<Decision> BusClient::select(const std::string& application, const Value& request) {
    // The error NoMatch carries no candidates. Ask again with "explain", which always returns a
    // decision.
    auto decision = daemon_->select(application, request);
    if (decision || decision.error().code != ErrorCode::NoMatch)
        return decision;
    // The candidates are needed for --force and for the explanation of "nothing fits".
    auto explained = request;
    explained["explain"] = true;
    return daemon_->select(application, explained);
}

Result<Recommendation> BusClient::recommend(const std::string& application,
                                            const std::string& manifest,
                                            const Value& request) {
    auto explained = request;
    explained["explain"] = true;
    return daemon_->recommend(application, manifest, explained);
}

Result<std::vector<std::string>> BusClient::applications() {
    return daemon_->applications();
}

Result<std::vector<std::string>> BusClient::manifests() {
    return daemon_->manifests();
}

std::unique_ptr<PolkitAgent> BusClient::agent() {
    if (!PolkitAgent::somebody_is_there())
        return nullptr;
    // Tells polkit that it may ask the user.
    daemon_->allow_questions();
    return std::make_unique<PolkitAgent>();
}

Status BusClient::probe(const ProbeRequest& order, const std::function<void(double)>& progress) {
    const auto asking = order.allow_wake || order.force ? agent() : nullptr;
    return daemon_->probe(order, progress);
}

Status BusClient::set_override(const std::string& application, const Value& rule) {
    const auto asking = agent();
    return daemon_->set_override(application, rule);
}

Result<bool> BusClient::clear_override(const std::string& application) {
    const auto asking = agent();
    return daemon_->clear_override(application);
}

Result<Value> BusClient::overrides() {
    return daemon_->overrides();
}

Status BusClient::report_outcome(const Value& outcome) {
    return daemon_->report_outcome(outcome);
}

Result<std::uint32_t> BusClient::clear_quarantine(const Value& filter) {
    const auto asking = agent();
    return daemon_->clear_quarantine(filter);
}

/// An older daemon does not have the method, or does not refresh its facts; then the report stays
/// the same.
Status BusClient::renew() {
    (void)daemon_->diagnosis();
    return Done{};
}

/// If the daemon does not answer, the value from its report stays.
Status BusClient::refresh_memory(Gpu& gpu) {
    if (const auto memory = daemon_->memory(gpu.id))
        engine::take_free(*memory, gpu.memory);
    return Done{};
}

Status BusClient::watch(const std::function<void()>& changed) {
    return daemon_->watch(changed);
}

Status BusClient::capture(const std::string&, engine::Redaction*) {
    return Error{ErrorCode::InvalidRequest, "capture: only --direct can write one"};
}

Result<MethodAnswer> BusClient::call(const MethodCall&) {
    return Error{ErrorCode::InvalidRequest,
                 "call: a bus has methods of its own; this asks the socket, or --direct"};
}

ClientInfo BusClient::info() {
    const auto& properties = daemon_->properties();
    ClientInfo info{.kind = "daemon"};
    if (const auto* version = properties.at("Version").as_string())
        info.version = *version;
    (void)read_value(properties.at("Features"), info.features);  // unreadable: assume no features
    return info;
}

}  // namespace gpuprobe::inline cli
