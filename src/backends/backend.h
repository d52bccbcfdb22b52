// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
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
    /// Every device has been told; what is told of one from here on adds to it. For a backend whose
    /// driver is slow to tell what few wait for.
    virtual void known() {}
};

/// How the query ended, as far as the backend can tell from inside.
struct Answer {
    Outcome outcome = Outcome::Answered;  ///< Answered, Absent or Failed
    std::optional<std::string> note = {};
    std::vector<Reason> reasons = {};
};
/// A value, or the answer that ends the query.
template <class T>
using Asked = Result<T, Answer>;
/// Absent, with the reason `no-device`.
Answer without_devices(std::string note, Value::Object detail = {});

/// Why a call, or a device, did not do what it was told: an answer about the driver, never an Error
/// of ours.
struct Refusal {
    std::string code = {};  ///< one of docs/reasons.md
    std::string note = {};  ///< "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"
    Value detail = Value{Value::Object{}};
};
/// A value, or why there is none.
template <class T>
using Attempt = Result<T, Refusal>;
/// Of a call that returned `code`, which the API calls `words`: "CALL: WORDS", and the call and the
/// code as detail.
Refusal refused_call(std::string_view reason,
                     std::string_view call,
                     std::string_view words,
                     std::int64_t code);
Answer answer_of(const Refusal& refusal, Outcome outcome = Outcome::Failed);

class ComputeDevice;
/// Makes a context on a device, ready for ComputeDevice::allocate.
using OpenDevice = std::function<Attempt<std::unique_ptr<ComputeDevice>>()>;
/// Is given each device of an API, and how to open it; false when it has seen enough.
using VisitDevice = std::function<bool(const DeviceFacts& facts, const OpenDevice& open)>;

/// Asks about every device; runs nothing on any.
using Query = Answer (*)(const ProbeTarget& target, Sink& sink);
/// Goes through the devices of an API's driver.
using Enumerate = Answer (*)(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// What an API can be asked to do.
struct Backend {
    std::string_view api;
    Query query = nullptr;         ///< the stage "query"; null: the inventory knows it
    Enumerate compute = nullptr;   ///< the devices of "verify" and "measure"; null: runs nothing
    const char* device = nullptr;  ///< the one that is meant where the target names none
    Query processes = nullptr;     ///< the stage "processes": who uses the devices
};

/// The registry: one line per API.
std::span<const Backend> registry();

}  // namespace gpuprobe::backends
