// SPDX-License-Identifier: Apache-2.0
#include "cli/show_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "cli/bench.h"
#include "cli/video_text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "policy/profile.h"
#include "report/fact_table.h"
#include "report/trials.h"

namespace gpuprobe::inline cli {
namespace {

// The indentation of labels, and a limit for lists from drivers.
constexpr std::size_t kFactIndent = 2;
constexpr std::size_t kMaxItemsShown = 64;

/// Returns the type of the fact with this key among the facts of an API's device.
FactType type_of(std::string_view key) {
    if (key.starts_with("memory."))
        return FactType::Bytes;
    const auto* fact = device_fact(key);
    return fact ? fact->type : FactType::Text;
}

std::string item_text(const Value& item);
std::string array_text(const Value::Array& items);

bool is_list(const Value& value) {
    return value.as_object() != nullptr || value.as_array() != nullptr;
}

/// The members of an object with their values, such as "index 0, size 16777216". Null members are
/// omitted.
std::string members_text(const Value::Object& members) {
    std::string text;
    for (const auto& member : members)
        if (!member.value.is_null())
            text += (text.empty() ? "" : ", ") + member.key + " " + item_text(member.value);
    return text;
}

/// A value without a unit. Nested values are written on the same line.
std::string item_text(const Value& item) {
    if (const auto flag = item.as_bool())
        return *flag ? "yes" : "no";
    if (const auto* members = item.as_object())
        return members_text(*members);
    if (const auto* items = item.as_array())
        return array_text(*items);
    const auto* text = item.as_string();
    return text ? *text : json_line(item);
}

/// The items of a list, separated by commas, or by semicolons if the items are lists themselves.
std::string array_text(const Value::Array& items) {
    std::string text;
    for (std::size_t i = 0; i < std::min(items.size(), kMaxItemsShown); ++i)
        text += (i == 0 ? "" : is_list(items[i]) ? "; " : ", ") + item_text(items[i]);
    if (items.size() > kMaxItemsShown)
        return phrase("{items} and {more} more",
                      {{"items", text}, {"more", std::to_string(items.size() - kMaxItemsShown)}});
    return text;
}

/// A fact's value with its unit.
std::string value_text(std::string_view key, const Value& value) {
    if (const auto flag = value.as_bool())
        return *flag ? "yes" : "no";
    if (const auto number = value.as_unsigned()) {
        if (type_of(key) == FactType::Bytes)
            return size_text(Bytes{*number});
        if (type_of(key) == FactType::Hertz)
            return rate_text(static_cast<double>(*number), "Hz");
    }
    if (const auto* items = value.as_array())
        return array_text(*items);
    return item_text(value);
}

/// The PCI ids, such as "[10de:2335] subsystem [10de:18be], class 0x030200, revision 0xa1".
std::string pci_ids(const PciInfo& pci) {
    std::string ids;
    if (pci.vendor_id && pci.device_id)
        ids = fmt::format("[{}:{}]", *pci.vendor_id, *pci.device_id);
    std::optional<std::string> board;
    if (pci.subsystem_vendor_id && pci.subsystem_device_id)
        board = fmt::format("[{}:{}]", *pci.subsystem_vendor_id, *pci.subsystem_device_id);
    return phrase(
        "{ids}[ subsystem {board}][, class {class}][, revision {revision}]",
        {{"ids", ids}, {"board", board}, {"class", pci.pci_class}, {"revision", pci.revision}});
}

void add_pci(FactList& facts, const std::optional<PciInfo>& pci) {
    if (!pci)
        return;
    if (pci->address)
        facts.add("PCI address", text_of(*pci->address));
    facts.add("PCI ids", pci_ids(*pci));
    if (pci->numa_node)
        facts.add("NUMA node", std::to_string(*pci->numa_node));
}

FactList hardware(const Gpu& gpu) {
    FactList facts{"Hardware"};
    facts.add("id", gpu.id);
    facts.add("kind", name_of(gpu.kind));
    if (gpu.vendor)
        facts.add("vendor", vendor_title(*gpu.vendor));
    add_pci(facts, gpu.pci);
    facts.add_known("compute capability", gpu.architecture.cuda_compute_capability);
    facts.add_known("gfx target", gpu.architecture.gfx_target);
    facts.add_known("Intel IP", gpu.architecture.intel_ip);
    facts.add_known("power", gpu.power.runtime_status);
    facts.add("drives display", gpu.primary ? "yes" : "no");
    facts.add("health", gpu.health, gpu.health == "ok" ? Tone::Good : Tone::Unsure);
    return facts;
}

/// A device node with the reason why this account can't use it.
std::string node_text(const DeviceNode& node) {
    std::string text = node.path;
    if (node.accessible == true)
        return text;
    // The node isn't accessible for an unknown reason, or its accessibility is unknown.
    if (!node.reason)
        return text + (node.accessible == false ? ": not usable" : "");
    if (*node.reason == "no-permission")
        return phrase("{node}: no permission[ (group {group})]",
                      {{"node", text}, {"group", node.group}});
    return text + ": " + explained(Reason{.code = *node.reason}).text;
}

FactList driver(const DriverInfo& driver,
                const std::vector<DeviceNode>& nodes,
                const Screen& screen) {
    FactList facts{"Driver"};
    facts.add("kernel driver", driver_title(driver, screen));
    bool is_first = true;
    for (const auto& node : nodes) {
        const auto tone = node.accessible == false ? Tone::Bad : Tone::Plain;
        facts.add(is_first ? "nodes" : "", node_text(node), tone);
        is_first = false;
    }
    return facts;
}

/// The free memory, and the age of this value.
std::string free_text(const GpuMemory& memory, WallTime now) {
    const bool is_dated = memory.free && memory.free_at;
    return phrase(
        "{size}[, {age}]",
        {{"size", size_or_unknown(memory.free)},
         {"age", is_dated ? std::optional{age_text(*memory.free_at, now)} : std::nullopt}});
}

/// The size of the largest buffer, for each API in which a single buffer cannot use all memory of
/// the GPU, such as "4 GiB (vulkan)".
std::string buffer_limits(const Gpu& gpu) {
    std::vector<std::string> limits;
    for (const auto& [api, view] : gpu.apis)
        for (const auto* key : {"max_buffer_size", "max_memory_allocation_size"})
            if (const auto size = view.device.at(key).as_unsigned()) {
                if (gpu.memory.allocatable && Bytes{*size} < *gpu.memory.allocatable)
                    limits.push_back(fmt::format("{} ({})", size_text(Bytes{*size}), api));
                break;
            }
    return base::joined(limits, ", ");
}

FactList memory(const Gpu& gpu, WallTime now) {
    FactList facts{"Memory"};
    if (gpu.memory.kind)
        facts.add("kind", name_of(*gpu.memory.kind));
    facts.add("physical", size_or_unknown(gpu.memory.physical));
    facts.add("allocatable", size_or_unknown(gpu.memory.allocatable));
    facts.add("free", free_text(gpu.memory, now));
    if (const auto limits = buffer_limits(gpu); !limits.empty())
        facts.add("largest buffer", limits);
    bool is_first = true;
    // Show the size that each source reports, because the sources may contradict each other.
    for (const auto& reading : gpu.memory.evidence) {
        const auto text =
            fmt::format("{} {}: {}", reading.source, reading.what, size_text(reading.bytes));
        facts.add(is_first ? "read from" : "", text);
        is_first = false;
    }
    return facts;
}

FactList identity(const Gpu& gpu) {
    FactList facts{"Identity"};
    facts.add_known("UUID", gpu.identity.canonical_uuid);
    facts.add_known("NVIDIA UUID", gpu.identity.nvidia_uuid);
    for (const auto* api : by_trust(&ApiTrust::uuid))
        facts.add_known(std::string{api->label} + " UUID", gpu.identity.uuids[place_of(api->id)]);
    facts.add_known("HIP unique id", gpu.identity.hip_unique_id);
    facts.add_known("LUID", gpu.identity.luid);
    if (gpu.identity.kfd_node)
        facts.add_known("KFD node", std::to_string(*gpu.identity.kfd_node));
    facts.add_known("DRM primary", gpu.identity.drm.primary);
    facts.add_known("DRM render", gpu.identity.drm.render);
    return facts;
}

/// Whether a backend is usable, and the reason.
std::string verdict_text(const BackendView& view) {
    auto why = explained(view.reasons);
    const auto sentence = !view.usable    ? "not known[: {why}]"
                          : !*view.usable ? "not usable[: {why}]"
                          : view.verified ? "usable, verified[: {why}]"
                                          : "usable[: {why}]";
    return phrase(sentence,
                  {{"why", why.text.empty() ? std::nullopt : std::optional{std::move(why.text)}}});
}

void add_backend(FactList& facts, const std::string& name, const BackendView& view) {
    const auto text = verdict_text(view);
    if (view.usable == true)
        facts.add(name, text, Tone::Good);
    else
        facts.add(name, text);
}

FactList backends(const Gpu& gpu, const Report& report) {
    FactList facts{"Backends"};
    for (const auto& name : backend_names(report)) {
        const auto view = gpu.backends.find(name);
        if (view != gpu.backends.end())
            add_backend(facts, name, view->second);
    }
    return facts;
}

/// The results of verify and measure for each backend.
FactList computed(const Gpu& gpu, const Report& report) {
    FactList facts{"Computed"};
    for (const auto& name : backend_names(report)) {
        const auto found = gpu.backends.find(name);
        if (found == gpu.backends.end())
            continue;
        const auto& view = found->second;
        const auto text =
            measured_words(view.verification, view.measurement, view.score, peak_rates_of(gpu));
        if (!text.empty())
            facts.add(name, text);
    }
    return facts;
}

/// The title of the section about an API: the outcome of the API's probe, and the index of the GPU
/// in this API.
std::string api_title(const std::string& api, const ApiView& view) {
    const auto sentence = view.joined_by == "weak"
                              ? "API {api}: {outcome}[, version {version}][, device {index}], "
                                "matched only by vendor and model"
                              : "API {api}: {outcome}[, version {version}][, device {index}]";
    return scrubbed(phrase(
        sentence,
        {{"api", api},
         {"outcome", std::string{name_of(view.outcome)}},
         {"version", view.version},
         {"index", view.index ? std::optional{std::to_string(*view.index)} : std::nullopt}}));
}

/// The facts that the API's driver reports about the GPU.
FactList api_facts(const std::string& api, const ApiView& view) {
    FactList facts{api_title(api, view)};
    facts.add_known("driver", view.driver);
    const auto why = explained(view.reasons);
    if (!why.text.empty())
        facts.add("because", why.text, Tone::Unsure);
    // The facts that are left out are already shown in the sections "Hardware" and "Video".
    facts.add_members(view.device, {"index", "name", "vendor_id", "device_id", "pci", "video"});
    if (facts.empty())
        facts.add("device", "none");
    return facts;
}

FactList findings(const std::vector<Reason>& findings, const ReasonPlace& place) {
    FactList facts{"Findings"};
    for (const auto& finding : findings) {
        const auto what = explained(finding, place);
        facts.add(finding.code, what.text, Tone::Unsure);
        facts.add_known("", what.fix);
    }
    return facts;
}

FactList hardware(const Accelerator& accelerator, const Screen& screen) {
    FactList facts{"Hardware"};
    facts.add("id", accelerator.id);
    facts.add_known("kind", accelerator.kind);
    if (accelerator.name && *accelerator.name != accelerator_title(accelerator))
        facts.add("model number", *accelerator.name);
    if (accelerator.vendor)
        facts.add("vendor", vendor_title(*accelerator.vendor));
    add_pci(facts, accelerator.pci);
    facts.add_known("firmware", accelerator.firmware);
    if (accelerator.memory)
        facts.add("memory", size_text(*accelerator.memory));
    facts.add_known("power state", accelerator.power.runtime_status);
    facts.add_known("power", power_words(accelerator.power));
    facts.add_known("temperature", temperature_words(accelerator.power, screen));
    const auto health = accelerator.health.value_or("ok");
    facts.add("health", health, health == "ok" ? Tone::Good : Tone::Unsure);
    return facts;
}

/// The sections below the title. The labels of all sections are aligned, at 24 columns or less.
std::string page(std::string_view title, const std::vector<FactList>& lists, const Screen& screen) {
    std::size_t width = 0;
    for (const auto& list : lists)
        width = std::max(width, list.label_width());
    std::string text = toned(screen, Tone::Strong, scrubbed(title)) + "\n";
    for (const auto& list : lists)
        text += list.text(screen, std::min<std::size_t>(width, 24));
    return text;
}

}  // namespace

void FactList::add(std::string_view label, std::string_view text, Tone tone) {
    facts_.push_back({.label = scrubbed(label), .text = scrubbed(text, 4096), .tone = tone});
}

void FactList::add_known(std::string_view label, const std::optional<std::string>& text) {
    if (text && !text->empty())
        add(label, *text);
}

void FactList::add_member(const std::string& key, const Value& value) {
    if (value.is_null())
        return;
    if (const auto* members = value.as_object()) {
        for (const auto& member : *members)
            add_member(key + "." + member.key, member.value);
        return;
    }
    if (const auto text = value_text(key, value); !text.empty())
        add(key, text);
}

void FactList::add_members(const Value& object, const std::vector<std::string>& but) {
    const auto* members = object.as_object();
    if (!members)
        return;
    for (const auto& member : *members)
        if (!contains(but, member.key))
            add_member(member.key, member.value);
}

std::size_t FactList::label_width() const {
    std::size_t width = 0;
    for (const auto& fact : facts_)
        width = std::max(width, display_width(fact.label));
    return width;
}

/// Wraps long facts, and aligns all lines of a fact with its first line.
std::string FactList::text(const Screen& screen, std::size_t width) const {
    if (facts_.empty())
        return "";
    width = std::max(width, label_width());
    std::string lines = "\n" + toned(screen, Tone::Strong, title_) + "\n";
    for (const auto& fact : facts_) {
        const auto lead = "  " + toned(screen, Tone::Faint, padded_right(fact.label, width)) + "  ";
        const std::size_t lead_width = kFactIndent + width + 2;
        // The fix for a finding is printed as a continuation of the finding. The command in the fix
        // is kept on one line.
        const auto command = fact.label.empty() ? command_in(fact.text) : std::string::npos;
        lines += command == std::string::npos
                     ? hanging(screen, lead, lead_width, fact.text, fact.tone)
                     : hanging_fix(screen, lead, lead_width, fact.text, command);
    }
    return lines;
}

std::string show_text(const Gpu& gpu,
                      const Report& report,
                      const std::vector<Finding>& found,
                      WallTime now,
                      const Screen& screen) {
    // General sections come before specific sections. Empty sections print nothing.
    std::vector<FactList> lists{
        hardware(gpu),         driver(gpu.driver, gpu.nodes, screen),
        memory(gpu, now),      backends(gpu, report),
        computed(gpu, report), findings(gpu.findings, {.findings = &found, .gpu = gpu.id}),
        identity(gpu),         video_facts(gpu)};
    for (const auto& [api, view] : gpu.apis)
        if (view.outcome != Outcome::Absent)
            lists.push_back(api_facts(api, view));
    FactList partitions{"Partitions"};
    for (std::size_t i = 0; i < gpu.partitions.size(); ++i)
        partitions.add_members(to_value(gpu.partitions[i]));
    lists.push_back(std::move(partitions));
    return page(gpu_title(gpu), lists, screen);
}

std::string show_text(const Accelerator& accelerator,
                      const std::vector<Finding>& found,
                      const Screen& screen) {
    return page(
        accelerator_title(accelerator),
        {hardware(accelerator, screen), driver(accelerator.driver, accelerator.nodes, screen),
         findings(accelerator.findings, {.findings = &found, .gpu = accelerator.id})},
        screen);
}

std::optional<std::string> power_words(const AcceleratorPower& power) {
    constexpr double kMicro = 1e6;
    const auto watts = [](std::uint64_t microwatts) {
        return fmt::format("{:.4g}", static_cast<double>(microwatts) / kMicro);
    };
    if (!power.draw && !power.limit)
        return std::nullopt;
    // The draw or the limit may be unknown.
    const auto sentence = !power.limit ? "{draw} W"
                          : power.draw ? "{draw} of {limit} W"
                                       : "of {limit} W";
    return phrase(sentence,
                  {{"draw", power.draw ? std::optional{watts(*power.draw)} : std::nullopt},
                   {"limit", power.limit ? std::optional{watts(*power.limit)} : std::nullopt}});
}

std::optional<std::string> temperature_words(const AcceleratorPower& power, const Screen& screen) {
    constexpr double kMilli = 1e3;
    if (!power.temperature)
        return std::nullopt;
    return fmt::format("{:.4g} {}C", static_cast<double>(*power.temperature) / kMilli,
                       screen.is_unicode ? "°" : "");
}

}  // namespace gpuprobe::inline cli
