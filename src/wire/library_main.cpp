// SPDX-License-Identifier: Apache-2.0
#include <gpuprobe/client.h>

#include "base/event_loop.h"
#include "base/record.h"
#include "wire/daemon_client.h"

namespace gpuprobe::api {
namespace {

/// The door of the library: our errors become what its header promises.
template <class T>
T or_throw(Result<T> result) {
    if (!result)
        throw Failure{bus_error_name(result.error().code), result.error().text};
    return std::move(result).value();
}

Value value_of(const Request& request) {
    Value value{Value::Object{}};
    if (request.built)
        value["built"] = to_value(*request.built);
    const std::pair<const char*, const std::vector<std::string>*> lists[] = {
        {"prefer", &request.prefer}, {"only", &request.only},       {"deny", &request.deny},
        {"gpus", &request.gpus},     {"require", &request.require},
    };
    for (const auto& [key, names] : lists)
        if (!names->empty())
            value[key] = to_value(*names);
    if (request.backend)
        value["backend"] = *request.backend;
    if (request.min_memory)
        value["min-memory"] = *request.min_memory;
    if (request.strict)
        value["strict"] = *request.strict;
    return value;
}

Choice choice_from(Decision decision) {
    return {.backend = std::move(decision.backend).value_or(""),
            .gpus = std::move(decision.gpus),
            .environment = std::move(decision.environment),
            .answers = std::move(decision.answers),
            .messages = std::move(decision.messages),
            .summary = std::move(decision.summary),
            .generation = decision.generation};
}

}  // namespace

struct Client::Impl {
    std::unique_ptr<SystemLoop> loop;  // outlives the daemon's client
    std::unique_ptr<DaemonClient> daemon;
};

Client::Client(const std::string& where) : impl_{std::make_unique<Impl>()} {
    impl_->loop = or_throw(SystemLoop::create());
    impl_->daemon = or_throw(DaemonClient::connect(where, *impl_->loop));
}

Client::~Client() = default;
Client::Client(Client&& other) noexcept = default;
Client& Client::operator=(Client&& other) noexcept = default;

std::optional<Choice> Client::select(const std::string& consumer, const Request& request) {
    auto decision = impl_->daemon->select(consumer, value_of(request));
    if (!decision && decision.error().code == ErrorCode::NoMatch)
        return std::nullopt;
    return choice_from(or_throw(std::move(decision)));
}

std::string Client::describe() {
    return or_throw(impl_->daemon->report_json());
}

}  // namespace gpuprobe::api
