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

/// The backends that a worker process runs. Only the code in this component loads or calls vendor
/// libraries.

namespace gpuprobe::backends {

/// Receives the results of a backend one by one, as soon as each result is known, so that if the
/// driver crashes, earlier results aren't lost.
class Sink {
public:
    virtual ~Sink() = default;
    /// Announces the next step, such as "dlopen", "instance", "enumerate" or "query". The note
    /// about a timeout contains the name of the last step.
    virtual void phase(std::string_view name) = 0;
    /// Reports facts about the whole API, as an object. Later calls of runtime() add members to the
    /// object.
    virtual void runtime(const Value& facts) = 0;
    /// Reports facts about one device. After known(), another call for the same device adds facts
    /// to the device.
    virtual void device(const DeviceFacts& facts) = 0;
    /// Declares that every device has been reported, and that later calls of device() only add
    /// facts. Backends call this function if their driver takes a long time to report details
    /// that few clients need.
    virtual void known() {}
};

/// The result of a stage, as reported by the backend inside the worker. Only the supervisor can
/// report other outcomes, such as a crash.
struct Answer {
    Outcome outcome = Outcome::Answered;  ///< the outcome: Answered, Absent or Failed
    std::optional<std::string> note = {};
    std::vector<Reason> reasons = {};
};
/// A value, or the answer that ends the query.
template <class T>
using Asked = Result<T, Answer>;
/// The answer Absent, with the reason `no-device`.
Answer without_devices(std::string note, Value::Object detail = {});

/// The reason why a call failed or a device refused to work. A Refusal describes a problem of the
/// driver; an Error describes a failure of our code.
struct Refusal {
    std::string code = {};  ///< a code from docs/reasons.md
    std::string note = {};  ///< a note such as "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"
    Value detail = Value{Value::Object{}};
};
/// A value, or the reason why it is missing.
template <class T>
using Attempt = Result<T, Refusal>;
/// The refusal for a call that returned `code`; `words` is the API's name for that code. The note
/// is "CALL: WORDS"; the detail contains the call and the code.
Refusal refused_call(std::string_view reason,
                     std::string_view call,
                     std::string_view words,
                     std::int64_t code);
/// The answer for a stage that ends because of a refusal.
Answer answer_of(const Refusal& refusal, Outcome outcome = Outcome::Failed);

class ComputeDevice;
/// Creates a context on a device, ready for ComputeDevice::allocate().
using OpenDevice = std::function<Attempt<std::unique_ptr<ComputeDevice>>()>;
/// Called for each device of an API, with a function that opens the device. Returns false to stop
/// the enumeration.
using VisitDevice = std::function<bool(const DeviceFacts& facts, const OpenDevice& open)>;

/// Reports facts about every device, but runs no code on the devices.
using Query = Answer (*)(const ProbeTarget& target, Sink& sink);
/// Calls `visit` for each device that an API's driver lists.
using Enumerate = Answer (*)(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// The stages that an API implements.
struct Backend {
    std::string_view api;
    Query query = nullptr;        ///< the stage "query"; null if the inventory has the facts
    Enumerate compute = nullptr;  ///< lists devices for "verify" and "measure"; null if unsupported
    const char* device = nullptr;  ///< the device to use if the target names no device
    Query processes = nullptr;     ///< the stage "processes": lists each device's processes
};

/// All backends, one entry per API.
std::span<const Backend> registry();

}  // namespace gpuprobe::backends
