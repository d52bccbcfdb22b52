// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/record_type.h"
#include "base/version.h"
#include "calls/documents.h"
#include "plan/plan.h"
#include "policy/request_table.h"
#include "report/outcome.h"
#include "report/report.h"
#include "store/state_files.h"

/// The text of a Varlink interface description, generated from the records and request tables that
/// the methods read and write. Source of the grammar: varlink.org, "Interface Definition".

namespace gpuprobe::inline calls {

/// A request as a parameter of a method. The table that `Keys` returns lists the keys of the
/// request. Because Varlink names have no dashes, each key is also accepted with underscores.
template <std::span<const RequestKey> (*Keys)()>
struct KeyedRequest {
    Value value = Value{Value::Object{}};
};
using SelectRequestValue = KeyedRequest<select_keys>;
using RecommendRequestValue = KeyedRequest<recommend_keys>;
using PlanRequestValue = KeyedRequest<plan_keys>;

/// Returns the request with its keys spelled as in `keys`.
Value with_table_keys(const Value& request, std::span<const RequestKey> keys);

template <std::span<const RequestKey> (*Keys)()>
ReadProblem read_value(const Value& value, KeyedRequest<Keys>& out) {
    if (!value.is_object() && !value.is_null())
        return wrong_type(value, "object");
    out.value = with_table_keys(value, Keys());
    return {};
}

}  // namespace gpuprobe::inline calls

template <std::span<const gpuprobe::RequestKey> (*Keys)()>
struct gpuprobe::MayBeMissing<gpuprobe::KeyedRequest<Keys>> : std::true_type {};

namespace gpuprobe::inline calls {

/// The type of a request: a record whose members are the keys of the table, all optional. The
/// comment on each member is the meaning of the key.
MemberType member_type(TypeTable& types, std::type_identity<SelectRequestValue>);
MemberType member_type(TypeTable& types, std::type_identity<RecommendRequestValue>);
MemberType member_type(TypeTable& types, std::type_identity<PlanRequestValue>);

/// The members in Varlink's notation, such as "(backend: string, gpu: ?string)".
std::string varlink_members(const TypeTable& types, std::span<const TypedMember> members);
/// The definitions that Varlink can express, each in the form "type Candidate (…)".
std::string varlink_definitions(const TypeTable& types);

// The parameters of org.gpuprobe's methods, and the answers that aren't in calls/documents.h. The
// interface description is generated from these records. A parameter that is std::optional may be
// omitted.

/// No parameters, or an empty answer.
struct Nothing {};
template <class Visitor>
void describe(Visitor&, Nothing&) {}

struct SelectParameters {
    std::optional<std::string> application = {};  ///< name of the application; "default" if omitted
    SelectRequestValue request = {};  ///< requirements and preferences of the application
};
RECORD_MEMBERS(SelectParameters, application, request)

struct RecommendParameters {
    /// name of the application; may be omitted if the manifest contains it
    std::optional<std::string> application = {};
    /// text of a manifest to use instead of the installed manifest
    std::optional<std::string> manifest = {};
    RecommendRequestValue request = {};  ///< requirements and preferences of the installer
};
RECORD_MEMBERS(RecommendParameters, application, manifest, request)

/// The parameters of `plan`: either a number of bytes or a model. Sizes are in bytes.
struct PlanParameters {
    std::optional<Bytes> need = {};    ///< number of bytes that must fit, instead of a model
    std::optional<Bytes> margin = {};  ///< number of bytes that must stay free on each GPU
    std::optional<std::vector<std::string>> gpus = {};  ///< ids of GPUs; all GPUs if omitted
    PlanRequestValue request = {};                      ///< description of how the model will run
    std::optional<std::string> model = {};              ///< the text of a gpuprobe.model/1 document
};
RECORD_MEMBERS(PlanParameters, need, margin, gpus, request, model)

struct DiagnoseParameters {
    /// environment variables of the program that does not use a GPU
    std::optional<std::map<std::string, std::string>> environment = {};
};
RECORD_MEMBERS(DiagnoseParameters, environment)

struct QueryParameters {
    std::vector<std::string> terms = {};                ///< at most 32 terms, such as "driver>=550"
    std::optional<std::vector<std::string>> gpus = {};  ///< ids of GPUs; all GPUs if omitted
};
RECORD_MEMBERS(QueryParameters, terms, gpus)

struct GpuParameters {
    std::string gpu = {};  ///< id of the GPU
};
RECORD_MEMBERS(GpuParameters, gpu)

struct MemoryParameters {
    std::string gpu = {};                       ///< id of the GPU or partition
    std::optional<std::string> partition = {};  ///< name of a partition of the GPU: "mig-1"
};
RECORD_MEMBERS(MemoryParameters, gpu, partition)

struct ProbeParameters {
    std::optional<std::vector<std::string>> gpus = {};  ///< ids of GPUs; all GPUs if omitted
    std::optional<std::vector<std::string>> apis = {};  ///< names of APIs; all APIs if omitted
    /// "query" (the default) gets the devices from the drivers; "verify" also runs a test
    /// computation on each device; "measure" also measures bandwidth and arithmetic rate
    std::optional<std::string> stage = {};
    /// whether sleeping GPUs are probed too, which wakes them
    std::optional<bool> allow_wake = {};
    /// whether to measure even if a GPU is in use or has little free memory, or if the machine runs
    /// on battery
    std::optional<bool> force = {};
};
RECORD_MEMBERS(ProbeParameters, gpus, apis, stage, allow_wake, force)

/// The outcome of a choice. Exactly one of `backend`, `variant` and `family` is given.
struct OutcomeParameters {
    std::string application = {};             ///< name of the application
    std::string outcome = {};                 ///< the outcome: "ok" or "failed"
    std::optional<std::string> backend = {};  ///< the backend that was used
    std::optional<std::string> variant = {};  ///< the variant that was used
    std::optional<std::string> family = {};   ///< a family of variants that work or fail together
    std::optional<std::string> detail = {};   ///< description of the problem, at most 512 bytes
    std::optional<std::string> gpu = {};      ///< id of the GPU; every GPU if omitted
};
RECORD_MEMBERS(OutcomeParameters, application, outcome, backend, variant, family, detail, gpu)

struct OverrideParameters {
    std::string application = {};  ///< name of the application
    /// keys of a Select request (`prefer`, `only`, `deny`, `backend`, `gpus`, `min-memory`,
    /// `strict`), and `variants` with keys of a Recommend request. The given keys replace the same
    /// keys of the current rule; a key with an empty list is removed from the rule
    Value rule = {};
};
RECORD_MEMBERS(OverrideParameters, application, rule)

struct ApplicationParameters {
    std::string application = {};  ///< name of the application
};
RECORD_MEMBERS(ApplicationParameters, application)

struct QuarantineParameters {
    std::optional<std::string> api = {};  ///< end only the quarantines of this API's drivers
    /// end only the quarantine of this driver, given by the path of its manifest
    std::optional<std::string> driver = {};
    /// end every quarantine; cannot be combined with other parameters
    std::optional<bool> all = {};
};
RECORD_MEMBERS(QuarantineParameters, api, driver, all)

struct InterfaceParameters {
    std::string interface = {};  ///< name of the interface: "org.gpuprobe"
};
RECORD_MEMBERS(InterfaceParameters, interface)

// Answers that aren't documents of gpuprobectl ------------------------------------------------

/// The answer of org.varlink.service.GetInfo. Source: varlink.org, "Service".
struct ServiceInfo {
    std::string vendor = "gpuprobe";
    std::string product = "gpuprobe";
    std::string version = std::string{kVersion};
    /// The URI of the documentation, written as in Documentation= of a systemd unit.
    std::string url = "man:gpuprobed(8)";
    std::vector<std::string> interfaces = {};
};
RECORD_MEMBERS(ServiceInfo, vendor, product, version, url, interfaces)

struct InterfaceDescription {
    std::string description = {};
};
RECORD_MEMBERS(InterfaceDescription, description)

struct HardwareDeviceList {
    std::uint64_t generation = 0;
    std::vector<OrtHardwareDevice> devices = {};
};
RECORD_MEMBERS(HardwareDeviceList, generation, devices)

/// An answer to Probe. The last answer contains `generation` and `probes`; earlier answers contain
/// only `progress`, from 0 to 1.
struct ProbeProgress {
    std::optional<double> progress = {};
    std::optional<std::uint64_t> generation = {};
    std::optional<std::vector<ProbeEntry>> probes = {};
};
RECORD_MEMBERS(ProbeProgress, progress, generation, probes)

/// The identifiers of a GPU, by name, such as "nvidia_uuid", "vulkan_device_uuid" …
struct IdentifierList {
    std::map<std::string, std::string> identifiers = {};
};
RECORD_MEMBERS(IdentifierList, identifiers)

struct OverrideSet {
    std::string application = {};
    bool set = true;
};
RECORD_MEMBERS(OverrideSet, application, set)

struct OverrideCleared {
    std::string application = {};
    bool cleared = false;
};
RECORD_MEMBERS(OverrideCleared, application, cleared)

struct OverrideList {
    std::map<std::string, store::Override> overrides = {};
};
RECORD_MEMBERS(OverrideList, overrides)

struct QuarantineList {
    std::vector<QuarantinedProbe> quarantine = {};
};
RECORD_MEMBERS(QuarantineList, quarantine)

struct QuarantineCleared {
    std::uint32_t cleared = 0;
};
RECORD_MEMBERS(QuarantineCleared, cleared)

/// The message to subscribers for each change of the report.
struct ReportChange {
    std::uint64_t generation = 0;
    ReportState state = ReportState::Starting;
};
RECORD_MEMBERS(ReportChange, generation, state)

}  // namespace gpuprobe::inline calls
