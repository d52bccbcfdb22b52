// SPDX-License-Identifier: Apache-2.0
#include "engine/machine.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/value.h"
#include "engine/live_memory.h"
#include "inventory/host.h"
#include "store/probe_history.h"

namespace gpuprobe::engine {
namespace {

constexpr Bytes kMaxCaptureFile = mib(4);
constexpr std::size_t kMaxProbeFiles = 128;

/// Reads a JSON file; each error has its path.
Result<Value> read_document(const FileSystem& files, const std::string& path) {
    const auto text = TRY(files.read(path, kMaxCaptureFile));
    auto document = parse_json(text, kMaxCaptureFile);
    if (!document)
        return std::move(document).error().in(path);
    return document;
}

/// Reads one probe result. API and driver are taken from the file's name if the document lacks
/// them: "vulkan.radeon_icd.json" is API vulkan, driver radeon_icd.
Result<ProbeResult> read_probe(const FileSystem& files, const std::string& name) {
    const auto path = "/probes/" + name;
    const auto document = TRY(read_document(files, path));
    auto probe = probe_result_from(document);
    if (!probe)
        return std::move(probe).error().in(path);
    // Only fill in missing members: the file name has only the stem of a manifest.
    const auto stem = name.substr(0, name.size() - std::string_view{".json"}.size());
    const auto dot = stem.find('.');
    if (probe->api.empty())
        probe->api = stem.substr(0, dot);
    if (probe->driver.empty() && dot != std::string::npos)
        probe->driver = stem.substr(dot + 1);
    return probe;
}

/// A capture without the folder has no probes. Limited, because a capture may come from anywhere.
Result<std::vector<ProbeResult>> read_probes(const FileSystem& files) {
    std::vector<ProbeResult> probes;
    const auto names = files.list("/probes");
    if (!names && names.error().code == ErrorCode::NotFound)
        return probes;
    if (!names)
        return names.error();
    for (const auto& name : *names) {
        if (!name.ends_with(".json"))
            continue;
        if (probes.size() == kMaxProbeFiles)
            return Error{ErrorCode::TooLarge,
                         "/probes: over " + std::to_string(kMaxProbeFiles) + " files"};
        probes.push_back(TRY(read_probe(files, name)));
    }
    return probes;
}

/// A capture without nodes.json has no nodes.
Result<std::shared_ptr<const NodeSource>> read_nodes(const FileSystem& files) {
    const auto text = files.read("/nodes.json", kMaxCaptureFile);
    if (!text && text.error().code == ErrorCode::NotFound)
        return std::shared_ptr<const NodeSource>{std::make_shared<RecordedNodes>()};
    if (!text)
        return text.error();
    auto nodes = RecordedNodes::parse(*text);
    if (!nodes)
        return std::move(nodes).error().in("/nodes.json");
    return std::shared_ptr<const NodeSource>{
        std::make_shared<RecordedNodes>(std::move(nodes).value())};
}

/// The document with every text in it scrubbed.
Value clean(Value document) {
    if (const auto* text = document.as_string())
        return scrubbed(*text);
    if (auto* items = document.as_array())
        for (auto& item : *items)
            item = clean(std::move(item));
    if (auto* members = document.as_object())
        for (auto& member : *members)
            member.value = clean(std::move(member.value));
    return document;
}

/// `base` with its members replaced, recursively, by the members of `over` that are not null.
/// Members that `base` lacks are dropped, because a hostile file may have a hundred thousand.
Value overlaid(Value base, const Value& over) {
    const auto* members = over.as_object();
    if (!members)
        return over.is_null() ? base : clean(over);
    if (!base.is_object())
        return clean(over);
    for (const auto& member : *members)
        if (auto* known = base.find(member.key))
            *known = overlaid(std::move(*known), member.value);
    return base;
}

}  // namespace

Result<MachineSource> captured_machine(const FileSystem& files,
                                       std::shared_ptr<const FileSystem> root) {
    const auto capture = TRY(read_document(files, "/capture.json"));
    if (capture.at("schema").as_int() != 1)
        return Error{ErrorCode::Malformed, "/capture.json: schema: not 1"};
    MachineSource source;
    // Start from an empty host, so that captures of older versions may lack members.
    auto host = record_from<Host>(overlaid(to_value(Host{}), capture.at("host")));
    if (!host)
        return std::move(host).error().in("/capture.json: host");
    source.host = std::move(host).value();
    if (const auto at = capture.at("recorded_usec").as_int())
        source.recorded_at = WallTime{Duration{*at}};
    source.nodes = TRY(read_nodes(files));
    source.recorded = TRY(read_probes(files));
    source.files = std::move(root);
    return source;
}

Result<MachineSource> replayed_machine(const std::string& folder) {
    const RootedFiles capture{folder};
    // If /root is a link, its target is resolved inside the capture and can't leave it.
    const auto inside = capture.real_path("/root");
    if (!inside && capture.link_target("/root"))
        return Error{ErrorCode::Malformed, "capture " + folder + ": root leads nowhere"};
    const auto root = folder + (inside ? *inside : "/root");
    auto source = captured_machine(capture, std::make_shared<RootedFiles>(root));
    if (!source)
        return std::move(source).error().in("capture " + folder);
    return source;
}

MachineSource live_machine() {
    return MachineSource{.files = std::make_shared<RootedFiles>(),
                         .nodes = std::make_shared<LiveNodes>()};
}

bool ProbedMachine::offers(const ProbeTarget& target) const {
    return std::ranges::find(search.targets, target) != search.targets.end();
}

/// For a capture, the recorded results take the place of the search for drivers.
void ProbedMachine::scan(const TargetFolders& folders) {
    hardware =
        scan_machine(files(), *source.nodes, source.host ? *source.host : detect_host(files()));
    if (is_replay()) {
        for (const auto& probe : *source.recorded)
            results.put(probe);
        return;
    }
    search = find_targets(files(), folders);
    results.keep_only(search);
}

void ProbedMachine::scan_functions(const TargetFolders& folders) {
    // uname() is enough for the host here; detecting the rest takes longer than this scan.
    hardware = gpuprobe::scan_functions(files(), source.host ? *source.host : running_kernel());
    search = find_targets(files(), folders);
}

void ProbedMachine::refresh_power() {
    engine::refresh_power(files(), hardware);
}

/// The watched files are the dynamic linker's cache and the drivers' manifests.
std::string ProbedMachine::fingerprint() const {
    std::vector<std::string> watched{std::string{kLinkerCache}};
    for (const auto& target : search.targets)
        if (!target.driver.empty())
            watched.push_back(target.driver);
    return store::fingerprint_of(hardware, files(), watched);
}

}  // namespace gpuprobe::engine
