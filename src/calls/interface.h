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
#include "base/version.h"
#include "calls/documents.h"
#include "plan/plan_request.h"
#include "policy/request_table.h"
#include "report/outcome.h"
#include "report/report.h"
#include "store/state_files.h"

/// Text of a Varlink interface description, generated from the records and request tables that the
/// methods read and write. Source of the grammar: varlink.org, "Interface Definition".

namespace gpuprobe::inline calls {

/// A request as a parameter of a method. Its keys come from the table; because Varlink names have
/// no dashes, each key is also accepted with underscores.
template <std::span<const RequestKey> (*Keys)()>
struct KeyedRequest {
    Value value = Value{Value::Object{}};
};
using SelectRequestValue = KeyedRequest<select_keys>;
using RecommendRequestValue = KeyedRequest<recommend_keys>;
using PlanRequestValue = KeyedRequest<plan_keys>;

/// The request with its keys spelled as in the table.
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

/// The name of a type without its namespaces: "Candidate" for gpuprobe::Candidate.
template <class T>
constexpr std::string_view type_name() {
    // "constexpr … type_name() [with T = gpuprobe::policy::Candidate; …]"
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("T = ") + 4);
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}

/// Writes Varlink types and collects the definitions of the named ones.
class InterfaceTypes {
public:
    /// The members that describe() visits: "(backend: string, gpu: ?string)".
    template <class T>
    std::string members() {
        Members visitor{*this};
        T record{};
        describe(visitor, record);
        return "(" + visitor.text + ")";
    }
    /// The Varlink type of T: "string", "[]Candidate".
    template <class T>
    std::string type_of(std::type_identity<T>) {
        if constexpr (std::same_as<T, bool>)
            return "bool";
        else if constexpr (std::is_floating_point_v<T>)
            return "float";
        else if constexpr (std::is_integral_v<T> || std::same_as<T, Bytes> ||
                           std::same_as<T, Duration> || std::same_as<T, WallTime>)
            return "int";
        else if constexpr (std::same_as<T, Value>)
            return "?object";
        else if constexpr (NamedEnum<T>)
            return words_of(names_of(T{}), type_name<T>());
        else if constexpr (Described<T>)
            return named(std::string{type_name<T>()}, [this] { return members<T>(); });
        else
            return "string";
    }
    template <class T>
    std::string type_of(std::type_identity<std::optional<T>>) {
        auto text = type_of(std::type_identity<T>{});
        return text.starts_with('?') ? text : "?" + text;
    }
    template <class T>
    std::string type_of(std::type_identity<std::vector<T>>) {
        return "[]" + item(type_of(std::type_identity<T>{}));
    }
    template <class T>
    std::string type_of(std::type_identity<std::map<std::string, T>>) {
        return "[string]" + item(type_of(std::type_identity<T>{}));
    }
    std::string type_of(std::type_identity<SelectRequestValue>);
    std::string type_of(std::type_identity<RecommendRequestValue>);
    std::string type_of(std::type_identity<PlanRequestValue>);

    /// All definitions, "type Candidate (…)", each once, in the order of first use.
    [[nodiscard]] std::string definitions() const;

private:
    struct Members {
        InterfaceTypes& types;
        std::string text = {};

        template <class T>
        void operator()(std::string_view key, const T&) {
            text.append(text.empty() ? "" : ", ").append(key).append(": ");
            text += types.type_of(std::type_identity<T>{});
        }
    };

    /// The name of an enumeration, or "string" if one of its words is not a valid name in Varlink.
    template <class Names>
    std::string words_of(const Names& names, std::string_view type) {
        std::string text;
        for (const auto& entry : names) {
            if (!is_name(entry.name))
                return "string";
            text.append(text.empty() ? "(" : ", ").append(entry.name);
        }
        return named(std::string{type}, [&text] { return text + ")"; });
    }
    /// Whether a word is a valid Varlink name.
    static bool is_name(std::string_view word);
    /// The type of an item. systemd 257 does not accept lists of nullable items, so "?" is removed.
    static std::string item(std::string type) {
        return type.starts_with('?') ? type.substr(1) : type;
    }
    /// Defines the type of a request, with each key's meaning as a comment.
    std::string request(const char* name, std::span<const RequestKey> keys);

    /// Defines a named type at its first use and returns its name.
    template <class Body>
    std::string named(const std::string& name, Body body) {
        for (const auto& [known, text] : defined_)
            if (known == name)
                return name;
        const auto place = defined_.size();
        defined_.emplace_back(name, "");
        auto text = body();  // may define other types, so `defined_` may have moved
        defined_[place].second = std::move(text);
        return name;
    }

    std::vector<std::pair<std::string, std::string>> defined_ = {};
};

// The parameters of org.gpuprobe's methods, and the answers that are not in calls/documents.h. The
// interface description is generated from these records. A parameter that is std::optional may be
// omitted.

/// No parameters, or an empty answer.
struct Nothing {};
template <class Visitor>
void describe(Visitor&, Nothing&) {}

struct SelectParameters {
    std::optional<std::string> application = {};
    SelectRequestValue request = {};
};
RECORD_MEMBERS(SelectParameters, application, request)

struct RecommendParameters {
    std::optional<std::string> application = {};
    /// The text of a manifest to use instead of the installed one.
    std::optional<std::string> manifest = {};
    RecommendRequestValue request = {};
};
RECORD_MEMBERS(RecommendParameters, application, manifest, request)

/// The question of `plan`: either a number of bytes or a model. Sizes are in bytes.
struct PlanParameters {
    std::optional<Bytes> need = {};
    std::optional<Bytes> margin = {};
    std::optional<std::vector<std::string>> gpus = {};
    PlanRequestValue request = {};
    /// The text of a gpuprobe.model/1.
    std::optional<std::string> model = {};
};
RECORD_MEMBERS(PlanParameters, need, margin, gpus, request, model)

struct DiagnoseParameters {
    std::optional<std::map<std::string, std::string>> environment = {};
};
RECORD_MEMBERS(DiagnoseParameters, environment)

struct QueryParameters {
    std::vector<std::string> terms = {};
    std::optional<std::vector<std::string>> gpus = {};
};
RECORD_MEMBERS(QueryParameters, terms, gpus)

struct GpuParameters {
    std::string gpu = {};
};
RECORD_MEMBERS(GpuParameters, gpu)

struct ProbeParameters {
    std::optional<std::vector<std::string>> gpus = {};
    std::optional<std::vector<std::string>> apis = {};
    std::optional<std::string> stage = {};
    std::optional<bool> allow_wake = {};
    std::optional<bool> force = {};
};
RECORD_MEMBERS(ProbeParameters, gpus, apis, stage, allow_wake, force)

/// The outcome of a choice. Exactly one of backend, variant and family is given.
struct OutcomeParameters {
    std::string application = {};
    std::string outcome = {};
    std::optional<std::string> backend = {};
    std::optional<std::string> variant = {};
    std::optional<std::string> family = {};
    std::optional<std::string> detail = {};
    std::optional<std::string> gpu = {};
};
RECORD_MEMBERS(OutcomeParameters, application, outcome, backend, variant, family, detail, gpu)

struct OverrideParameters {
    std::string application = {};
    Value rule = {};
};
RECORD_MEMBERS(OverrideParameters, application, rule)

struct ApplicationParameters {
    std::string application = {};
};
RECORD_MEMBERS(ApplicationParameters, application)

struct QuarantineParameters {
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
    std::optional<bool> all = {};
};
RECORD_MEMBERS(QuarantineParameters, api, driver, all)

struct InterfaceParameters {
    std::string interface = {};
};
RECORD_MEMBERS(InterfaceParameters, interface)

// Answers that are not documents of gpuprobectl ------------------------------------------------

/// The answer of org.varlink.service.GetInfo. Source: varlink.org, "Service".
struct ServiceInfo {
    std::string vendor = "gpuprobe";
    std::string product = "gpuprobe";
    std::string version = std::string{kVersion};
    std::string url = "https://github.com/gpuprobe/gpuprobe";
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

/// Either the progress, from 0 to 1, or in the last answer the other two members.
struct ProbeProgress {
    std::optional<double> progress = {};
    std::optional<std::uint64_t> generation = {};
    std::optional<std::vector<ProbeEntry>> probes = {};
};
RECORD_MEMBERS(ProbeProgress, progress, generation, probes)

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
