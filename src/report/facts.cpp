// SPDX-License-Identifier: Apache-2.0
#include "report/facts.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/text.h"
#include "report/fact_table.h"

namespace gpuprobe::inline report {
namespace {

static_assert(is_fact_table(kFactTable), "a row is incomplete, or two rows contradict each other");

/// The rows sorted by key, for binary search.
constexpr auto kByKey = [] {
    std::array<const FactInfo*, kFactTable.size()> rows = {};
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = &kFactTable[i];
    std::ranges::sort(rows, {}, &FactInfo::key);
    return rows;
}();

/// The first row for the key whose subject satisfies `is_meant`; null if no row matches.
template <class Predicate>
const FactInfo* find_fact(std::string_view key, Predicate is_meant) {
    const auto* row = std::ranges::lower_bound(kByKey, key, {}, &FactInfo::key);
    for (; row != kByKey.end() && (*row)->key == key; ++row)
        if (is_meant((*row)->of))
            return *row;
    return nullptr;
}

/// The first key of the object that a worker may not send: `find` returns no row for this key, or
/// returns the row of a fact that only the report adds.
template <class Find>
std::optional<std::string> undeclared(const Value& object, Find find) {
    for (const auto& member : *object.as_object()) {
        const auto* row = find(member.key);
        if (!row || row->of == FactOf::View)
            return scrubbed(member.key, kMaxFactKey);
    }
    return std::nullopt;
}

/// Calls `use` with the device's facts from the preferred driver, then with the facts from each
/// other driver of the API.
template <class Use>
void for_each_driver(Value& device, const Use& use) {
    use(device);
    if (auto* others = device.find("alternatives"); others && others->as_array())
        for (auto& other : *others->as_array())
            if (auto* facts = other.find("device"))
                use(*facts);
}

/// Sets the named members to null at any depth.
// NOLINTNEXTLINE(misc-no-recursion): as deep as a fact is
void forget_members(Value& value, std::string_view names) {
    if (auto* members = value.as_object())
        for (auto& member : *members) {
            if (has_word(names, member.key))
                member.value = Value{};
            forget_members(member.value, names);
        }
    if (auto* items = value.as_array())
        for (auto& item : *items)
            forget_members(item, names);
}

/// Sets identifying facts to null. Unlike forget_the_moment_in(), the function also removes
/// undeclared facts.
void hide_identity_in(Value& facts) {
    if (auto* members = facts.as_object())
        for (auto& member : *members)
            if (may_identify(member.key))
                member.value = Value{};
}

/// Sets to null all facts, and all members of facts, that change by themselves.
void forget_the_moment_in(Value& facts) {
    if (auto* members = facts.as_object())
        for (auto& member : *members) {
            const auto* row = device_fact(member.key);
            if (row && row->specificity == FactSpecificity::Moment)
                member.value = Value{};
            else if (row && !row->momentary_members.empty())
                forget_members(member.value, row->momentary_members);
        }
}

}  // namespace

const FactInfo* device_fact(std::string_view key) {
    return find_fact(key, [](FactOf of) {
        return of == FactOf::EveryDevice || of == FactOf::Device || of == FactOf::View;
    });
}

const FactInfo* runtime_fact(std::string_view key) {
    return find_fact(key, [](FactOf of) { return of == FactOf::Runtime; });
}

std::optional<std::string> undeclared_device_fact(const Value& device) {
    return undeclared(device, device_fact);
}

std::optional<std::string> undeclared_runtime_fact(const Value& runtime) {
    return undeclared(runtime, runtime_fact);
}

bool reports_the_moment(std::string_view api) {
    return std::ranges::any_of(kFactTable, [api](const FactInfo& row) {
        return row.of == FactOf::Device && row.specificity == FactSpecificity::Moment &&
               has_word(row.apis, api);
    });
}

bool may_identify(std::string_view key) {
    const auto* row = device_fact(key);
    return !row || row->specificity == FactSpecificity::Identity;
}

void hide_identity(Value& device) {
    for_each_driver(device, hide_identity_in);
}

void forget_the_moment(Value& device) {
    for_each_driver(device, forget_the_moment_in);
}

namespace {

/// Limits on workers' answers and on captures, neither of which is trusted.
constexpr std::size_t kMaxDevices = 256;
constexpr std::size_t kMaxReasons = 64;
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxPhaseNote = 1024;
constexpr std::size_t kMaxPhase = 64;
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxText = 16384;  // OpenCL's extension list takes several kilobytes
constexpr std::size_t kMaxFactNodes = 8192;
constexpr int kMaxFactDepth = 8;

/// Whether the key belongs to a named member of DeviceFacts.
bool is_common(std::string_view key) {
    const auto* row = device_fact(key);
    return row && row->of == FactOf::EveryDevice;
}

/// Copies untrusted facts within limits: values that are nested too deeply become null, and nodes
/// above the limit are dropped.
class Trimmer {
public:
    Value copy(const Value& value, int depth = 0) {
        ++nodes_;
        if (const auto* text = value.as_string())
            return Value{scrubbed(*text, kMaxText)};
        const auto* items = value.as_array();
        const auto* members = value.as_object();
        if (!items && !members)
            return value;
        if (depth == kMaxFactDepth)
            return Value{};
        return items ? list(*items, depth) : object(*members, depth);
    }

private:
    Value list(const Value::Array& items, int depth) {
        Value::Array kept;
        kept.reserve(std::min(items.size(), kMaxFactNodes));
        for (const auto& item : items)
            if (nodes_ < kMaxFactNodes)
                kept.push_back(copy(item, depth + 1));
        return Value{std::move(kept)};
    }
    Value object(const Value::Object& members, int depth) {
        Value::Object kept;
        kept.reserve(std::min(members.size(), kMaxFactNodes));
        // Two keys can become equal when they are scrubbed; keep the first.
        std::unordered_set<std::string> keys;
        for (const auto& member : members) {
            auto key = scrubbed(member.key, kMaxFactKey);
            if (nodes_ >= kMaxFactNodes || !keys.insert(key).second)
                continue;
            kept.push_back(
                Value::Member{.key = std::move(key), .value = copy(member.value, depth + 1)});
        }
        return Value{std::move(kept)};
    }

    std::size_t nodes_ = 0;
};

std::optional<std::string> text_in(const Value& value, std::size_t limit) {
    const auto* text = value.as_string();
    if (!text || text->empty())
        return std::nullopt;
    return scrubbed(*text, limit);
}

/// Reads a number, or a string such as "0x10de".
std::optional<std::uint64_t> unsigned_in(const Value& value) {
    if (const auto* text = value.as_string())
        return parse_hex<std::uint32_t>(*text);
    return value.as_unsigned();
}

/// Formats an id with at least four digits. Khronos assigns vendors without a PCI id a number above
/// 0xffff (Vulkan specification, VkVendorId).
std::optional<std::string> id_in(const Value& value) {
    const auto number = unsigned_in(value);
    if (!number || *number > UINT32_MAX)
        return std::nullopt;
    std::string digits;
    for (auto rest = *number; rest != 0 || digits.size() < 4; rest >>= 4)
        digits.insert(digits.begin(), "0123456789abcdef"[rest & 0xF]);
    return digits;
}

std::optional<std::uint32_t> index_in(const Value& value) {
    const auto number = value.as_unsigned();
    if (!number || *number > UINT32_MAX)
        return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

std::optional<PciAddress> pci_in(const Value& value) {
    const auto* text = value.as_string();
    if (!text)
        return std::nullopt;
    return parse_text(std::string_view{*text}, std::type_identity<PciAddress>{});
}

/// Reads a device number; nullopt for "0:0", which marks a missing node.
std::optional<std::string> node_in(const Value& value) {
    auto node = text_in(value, kMaxName);
    return node == "0:0" ? std::nullopt : node;
}

std::optional<DrmNodes> drm_in(const Value& value) {
    if (!value.is_object())
        return std::nullopt;
    return DrmNodes{.primary = node_in(value.at("primary")), .render = node_in(value.at("render"))};
}

std::optional<DeviceType> type_in(const Value& value) {
    const auto* text = value.as_string();
    if (!text)
        return std::nullopt;
    return enum_from<DeviceType>(*text);
}

std::optional<Bytes> size_in(const Value& value) {
    const auto number = value.as_unsigned();
    if (!number)
        return std::nullopt;
    return Bytes{*number};
}

std::optional<FactMemory> memory_in(const Value& value) {
    if (!value.is_object())
        return std::nullopt;
    return FactMemory{.total = size_in(value.at("total")), .free = size_in(value.at("free"))};
}

/// All members except the common members, trimmed to the limits.
Value extra_in(const Value::Object& members) {
    Value::Object extra;
    for (const auto& member : members)
        if (!is_common(member.key))
            extra.push_back(member);
    return Trimmer{}.copy(Value{std::move(extra)});
}

/// The members of a capture file. Members that a hand-written file may omit are optionals or
/// containers.
struct ProbeRecord {
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
    std::optional<std::string> stage = {};
    std::optional<std::string> device = {};
    Outcome outcome = Outcome::Absent;
    std::vector<Value> devices = {};
    Value runtime = {};
    std::optional<std::string> note = {};
    std::optional<std::string> phase = {};
    std::optional<Duration> duration = {};
    std::optional<int> exit_code = {};
    std::optional<int> signal = {};
    std::vector<Reason> reasons = {};
    std::optional<WallTime> at = {};
    std::optional<std::vector<std::string>> confinement = {};
};
RECORD_MEMBERS(ProbeRecord,
               api,
               driver,
               stage,
               device,
               outcome,
               devices,
               runtime,
               note,
               phase,
               ("duration_usec", duration),
               ("exit", exit_code),
               signal,
               reasons,
               ("at_usec", at),
               confinement)

Error malformed(std::string text) {
    return Error{ErrorCode::Malformed, std::move(text)};
}

std::optional<std::string> clean(const std::optional<std::string>& text, std::size_t limit) {
    if (!text)
        return std::nullopt;
    return scrubbed(*text, limit);
}

/// Confinement words from a worker, scrubbed and limited in number.
std::optional<std::vector<std::string>> clean(
    const std::optional<std::vector<std::string>>& words) {
    if (!words)
        return std::nullopt;
    std::vector<std::string> kept;
    for (const auto& word : *words)
        if (kept.size() < kMaxReasons)
            kept.push_back(scrubbed(word, kMaxFactKey));
    return kept;
}

/// Reasons from a worker, scrubbed. A detail that isn't an object becomes an empty object.
std::vector<Reason> clean(const std::vector<Reason>& reasons) {
    std::vector<Reason> kept;
    for (const auto& reason : reasons)
        kept.push_back(Reason{.code = scrubbed(reason.code, kMaxFactKey),
                              .detail = reason.detail.is_object() ? Trimmer{}.copy(reason.detail)
                                                                  : Value{Value::Object{}}});
    return kept;
}

/// Keys in old captures and the keys that replaced them.
struct OldKey {
    std::string_view old;
    std::string_view today;
};
constexpr auto kOldDeviceKeys = std::to_array<OldKey>({{"platform", "platform_name"},
                                                       {"board_name", "name"},
                                                       {"product_name", "name"},
                                                       {"device_name", "name"}});
constexpr auto kOldRuntimeKeys = std::to_array<OldKey>({{"loader_path", "loader"},
                                                        {"loader_version", "version"},
                                                        {"api_version", "version"},
                                                        {"library", "loader"}});

/// Copies the value of each old key to the current key, unless the capture has both.
void add_todays(Value& facts, std::span<const OldKey> keys) {
    for (const auto& key : keys)
        if (const auto& value = facts.at(key.old);
            !value.is_null() && facts.at(key.today).is_null())
            facts[key.today] = Value{value};
}

/// Converts [{"compute": true}] in old captures to [{"flags": ["compute"]}].
Value queues_from(const Value::Array& families) {
    Value::Array queues;
    for (const auto& family : families) {
        auto queue = family;
        if (family.at("compute").as_bool() == true)
            queue["flags"] = Value::Array{Value{"compute"}};
        queues.push_back(std::move(queue));
    }
    return Value{std::move(queues)};
}

/// Converts the device facts of an old capture to the current keys.
Value in_todays_keys(Value device) {
    const auto* name = device.at("name").as_string();
    // ROCm's OpenCL has the architecture in the name, and the board's name in another member.
    if (name && name->starts_with("gfx") && !device.at("board_name").is_null()) {
        if (device.at("gfx_target").is_null())
            device["gfx_target"] = Value{*name};
        device["name"] = Value{};
    }
    add_todays(device, kOldDeviceKeys);
    if (const auto* families = device.at("queue_families").as_array();
        families && device.at("queues").is_null())
        device["queues"] = queues_from(*families);
    // Old captures contain one object with the level of WebGPU and the missing features.
    if (const auto webgpu = device.at("webgpu"); webgpu.is_object()) {
        device["webgpu_missing"] = webgpu.at("missing");
        device["webgpu"] = webgpu.at("level");
    }
    return device;
}

}  // namespace

Value value_of(const DeviceFacts& facts) {
    RecordWriter writer;
    writer("index", facts.index);
    writer("name", facts.name);
    writer("vendor_id", facts.vendor_id);
    writer("device_id", facts.device_id);
    writer("pci", facts.pci);
    writer("uuid", facts.uuid);
    writer("drm", facts.drm);
    writer("type", facts.type);
    writer("memory", facts.memory);
    if (const auto* extra = facts.extra.as_object())
        // Skip common keys in `extra`: the named members above take precedence.
        for (const auto& member : *extra)
            if (!is_common(member.key))
                writer(member.key, member.value);
    return writer.take();
}

Result<DeviceFacts> facts_from(const Value& value) {
    const auto* members = value.as_object();
    if (!members)
        return malformed(wrong_type(value, "object"));
    return DeviceFacts{.index = index_in(value.at("index")),
                       .name = text_in(value.at("name"), kMaxName),
                       .vendor_id = id_in(value.at("vendor_id")),
                       .device_id = id_in(value.at("device_id")),
                       .pci = pci_in(value.at("pci")),
                       .uuid = text_in(value.at("uuid"), kMaxName),
                       .drm = drm_in(value.at("drm")),
                       .type = type_in(value.at("type")),
                       .memory = memory_in(value.at("memory")),
                       .extra = extra_in(*members)};
}

Value value_of(const ProbeResult& result) {
    ProbeRecord record{.api = result.api,
                       .driver = result.driver,
                       .stage = result.stage,
                       .device = result.device,
                       .outcome = result.outcome,
                       .runtime = result.runtime,
                       .note = result.note,
                       .phase = result.phase,
                       .duration = result.duration,
                       .exit_code = result.exit_code,
                       .signal = result.signal,
                       .reasons = result.reasons,
                       .at = result.at,
                       .confinement = result.confinement};
    for (const auto& device : result.devices)
        record.devices.push_back(value_of(device));
    return to_value(record);
}

/// Strings are scrubbed and shortened. An answer that exceeds the limits on lists is refused as a
/// whole.
Result<ProbeResult> probe_result_from(const Value& value) {
    const auto record = TRY(record_from<ProbeRecord>(value));
    if (record.devices.size() > kMaxDevices)
        return malformed("devices: over " + std::to_string(kMaxDevices));
    if (record.reasons.size() > kMaxReasons)
        return malformed("reasons: over " + std::to_string(kMaxReasons));
    if (!record.runtime.is_null() && !record.runtime.is_object())
        return malformed("runtime: " + wrong_type(record.runtime, "object"));
    ProbeResult result{.api = scrubbed(record.api.value_or("")),
                       .driver = scrubbed(record.driver.value_or(""), kMaxPath),
                       .stage = scrubbed(record.stage.value_or("query")),
                       .device = clean(record.device, kMaxName),
                       .outcome = record.outcome,
                       .runtime = Trimmer{}.copy(record.runtime),
                       .note = clean(record.note, kMaxPhaseNote),
                       .phase = clean(record.phase, kMaxPhase),
                       .duration = record.duration,
                       .exit_code = record.exit_code,
                       .signal = record.signal,
                       .reasons = clean(record.reasons),
                       .at = record.at,
                       .confinement = clean(record.confinement)};
    // If the runtime has a manifest, `library` is the driver's library and must not become
    // `loader`.
    const std::span<const OldKey> keys{kOldRuntimeKeys};
    if (result.runtime.is_object())
        add_todays(result.runtime, result.driver.empty() ? keys : keys.first(keys.size() - 1));
    for (const auto& device : record.devices) {
        auto facts = facts_from(in_todays_keys(device));
        if (!facts)
            return std::move(facts).error().in("devices[" + std::to_string(result.devices.size()) +
                                               "]");
        result.devices.push_back(*std::move(facts));
    }
    return result;
}

}  // namespace gpuprobe::inline report
