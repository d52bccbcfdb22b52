// SPDX-License-Identifier: Apache-2.0
#include "cli/bus_client.h"

#include "base/value.h"
#include "engine/live_memory.h"

namespace gpuprobe::inline cli {

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

Result<MethodAnswer> BusClient::call(const MethodCall&, const HearAnswer&) {
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
