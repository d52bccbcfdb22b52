// SPDX-License-Identifier: Apache-2.0
#include "store/probe_cache.h"

#include "base/value.h"
#include "base/version.h"

namespace gpuprobe::store {
namespace {

constexpr Bytes kMaxCache = mib(8);
constexpr int kFormat = 2;  ///< of the file; increase it when older files can't be read any more

/// A driver may report more once a node has become accessible to us. Access for other users does
/// not matter, and logind changes the access control lists at each local login.
Value node_print(DeviceNode node) {
    node.acl.clear();
    if (node.accessible)
        node.mode.reset();
    return to_value(node);
}

/// The part of a device that stays the same from boot to boot.
Value board_print(const HardwareDevice& device) {
    Value print;
    print["id"] = device.id;
    print["vendor"] = to_value(device.vendor_id);
    print["device"] = to_value(device.device_id);
    print["subsystem_vendor"] = to_value(device.subsystem_vendor_id);
    print["subsystem"] = to_value(device.subsystem_device_id);
    print["driver"] = to_value(device.driver);
    print["version"] = to_value(device.driver_version);
    return print;
}

/// The device with its nodes and partitions, which may change while the machine runs.
Value device_print(const HardwareDevice& device) {
    auto print = board_print(device);
    print["drm"] = to_value(device.drm);
    print["partitions"] = to_value(device.partitions);
    for (const auto& node : device.nodes)
        print["nodes"].push_back(node_print(node));
    return print;
}

/// A missing file has only its path, so that the fingerprint changes when it appears.
Value file_print(const FileSystem& files, const std::string& path) {
    Value print;
    print["path"] = path;
    if (const auto status = files.status(path)) {
        print["inode"] = Value{static_cast<unsigned long long>(status->inode)};
        print["size"] = to_value(status->size);
        print["modified"] = to_value(status->modified);
    }
    return print;
}

/// The part that every fingerprint has.
Value program_print(const std::optional<std::string>& kernel) {
    Value print;
    print["program"] = kVersion;
    print["kernel"] = to_value(kernel);
    return print;
}

/// Completes a fingerprint with the watched files and returns it as text.
std::string with_files(Value print,
                       const FileSystem& files,
                       const std::vector<std::string>& watched) {
    for (const auto& path : watched)
        print["files"].push_back(file_print(files, path));
    return json_line(print);
}

Error malformed(std::string_view member) {
    return Error{ErrorCode::Malformed, std::string{member} + ": missing"};
}

/// One unreadable result makes the whole cache invalid, because it is cheap to probe again.
Result<std::vector<ProbeResult>> read_queries(const Value& document) {
    const auto* items = document.at("probes").as_array();
    if (!items)
        return malformed("probes");
    std::vector<ProbeResult> probes;
    for (const auto& item : *items)
        probes.push_back(TRY(probe_result_from(item)));
    return probes;
}

Result<std::vector<CachedTrial>> read_trials(const Value& document) {
    const auto* items = document.at("trials").as_array();
    if (!items)
        return malformed("trials");
    std::vector<CachedTrial> trials;
    for (const auto& item : *items) {
        const auto* fingerprint = item.at("fingerprint").as_string();
        if (!fingerprint)
            return malformed("trials.fingerprint");
        trials.push_back(
            {.fingerprint = *fingerprint, .probe = TRY(probe_result_from(item.at("probe")))});
    }
    return trials;
}

/// Queries are valid only for the machine with this fingerprint; each trial has its own.
Result<CachedProbes> cached_in(const Value& document, std::string_view fingerprint) {
    const auto* made_for = document.at("fingerprint").as_string();
    if (!made_for)
        return malformed("fingerprint");
    CachedProbes cached{.trials = TRY(read_trials(document))};
    if (*made_for == fingerprint)
        cached.queries = TRY(read_queries(document));
    return cached;
}

}  // namespace

std::string fingerprint_of(const Machine& machine,
                           const FileSystem& files,
                           const std::vector<std::string>& watched) {
    auto print = program_print(machine.host.kernel);
    for (const auto& device : machine.devices)
        print["devices"].push_back(device_print(device));
    for (const auto& node : machine.shared_nodes)
        print["nodes"].push_back(node_print(node));
    return with_files(std::move(print), files, watched);
}

std::string driver_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                  const std::optional<std::string>& kernel,
                                  const FileSystem& files,
                                  const std::vector<std::string>& watched) {
    auto print = program_print(kernel);
    for (const auto* device : devices)
        print["devices"].push_back(board_print(*device));
    return with_files(std::move(print), files, watched);
}

std::string trial_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                 const Host& host,
                                 const FileSystem& files,
                                 const std::vector<std::string>& watched) {
    auto print = program_print(host.kernel);
    if (devices.empty())
        print["cpu"] = to_value(host.cpu.model);
    // Partitions count, because a trial measures one of them; nodes do not.
    for (const auto* device : devices) {
        auto board = board_print(*device);
        board["partitions"] = to_value(device->partitions);
        print["devices"].push_back(std::move(board));
    }
    return with_files(std::move(print), files, watched);
}

ProbeCache::ProbeCache(std::string path) : file_{std::move(path), "cache", kFormat, kMaxCache} {}

Result<CachedProbes> ProbeCache::load(std::string_view fingerprint) const {
    auto cached = cached_in(TRY(file_.load()), fingerprint);
    if (!cached)
        return std::move(cached).error().in(file_.path());
    return cached;
}

Status ProbeCache::save(std::string_view fingerprint, const CachedProbes& probes) const {
    Value document;
    document["fingerprint"] = Value{fingerprint};
    // Empty arrays are written as well: read_queries() and read_trials() require both members.
    document["probes"] = Value{Value::Array{}};
    for (const auto& probe : probes.queries)
        document["probes"].push_back(value_of(probe));
    document["trials"] = Value{Value::Array{}};
    for (const auto& [print, probe] : probes.trials)
        document["trials"].push_back(
            Value{Value::Object{{"fingerprint", print}, {"probe", value_of(probe)}}});
    return file_.save(document);
}

}  // namespace gpuprobe::store
