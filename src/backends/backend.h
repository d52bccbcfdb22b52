// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "probe/target.h"
#include "report/facts.h"

/// What a worker process does. Nothing outside this room loads or calls a vendor library.
namespace gpuprobe::backends {

/// Where a backend's findings go, each as soon as it is known: what arrived before a crash is kept.
class Sink {
public:
    virtual ~Sink() = default;
    /// What is about to happen: "dlopen", "instance", "enumerate", "query". Named in a timeout's
    /// note.
    virtual void phase(std::string_view name) = 0;
    /// Facts about the API as a whole; an object. Later calls add members.
    virtual void runtime(const Value& facts) = 0;
    virtual void device(const DeviceFacts& facts) = 0;
};

/// How the query ended, as far as the backend can tell from inside.
struct Answer {
    Outcome outcome = Outcome::Answered;  ///< Answered, Absent or Failed
    std::optional<std::string> note = {};
    std::vector<Reason> reasons = {};
};

using Query = Answer (*)(const ProbeTarget& target, Sink& sink);

/// What an API can be asked to do, by stage; null where it has no such stage.
struct Backend {
    std::string_view api;
    Query query = nullptr;    ///< asks about every device, runs nothing on any
    Query verify = nullptr;   ///< runs a small kernel on one device and checks what it computed
    Query measure = nullptr;  ///< times kernels and copies on one device
};

/// The stages of ProbeTarget::stage. nullopt: no such stage. Null: `backend` does not have it.
std::optional<Query> stage_of(const Backend& backend, std::string_view stage);

/// The registry: one line per API.
std::span<const Backend> registry();

}  // namespace gpuprobe::backends
