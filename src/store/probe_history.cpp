// SPDX-License-Identifier: Apache-2.0
#include "store/probe_history.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "base/files.h"
#include "base/value.h"
#include "base/version.h"

namespace gpuprobe::store {
namespace {

constexpr Bytes kMaxCache = mib(8);
constexpr int kFormat = 2;  ///< the file's format; increase it if older files can't be read

/// Whether we may open a node matters, because a driver may report more after the node has become
/// accessible. Whether other users may open the node does not matter, and logind changes the access
/// control lists at each local login.
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

/// For a missing file, only the path is included, so that the fingerprint changes when the file
/// appears.
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

/// The part that every kind of fingerprint contains.
Value program_print(const std::optional<std::string>& kernel) {
    Value print;
    print["program"] = kVersion;
    print["kernel"] = to_value(kernel);
    return print;
}

/// Completes a fingerprint with the watched files and returns it as a string.
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

/// One unreadable result makes the whole cache invalid, because probing again is cheap.
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

/// Query results are valid only for the machine with this fingerprint. Each trial has a separate
/// fingerprint.
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
    // Partitions are included, because a trial measures one partition. Nodes aren't included.
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
    // Empty arrays are also written, because read_queries() and read_trials() require both members.
    document["probes"] = Value{Value::Array{}};
    for (const auto& probe : probes.queries)
        document["probes"].push_back(value_of(probe));
    document["trials"] = Value{Value::Array{}};
    for (const auto& [print, probe] : probes.trials)
        document["trials"].push_back(
            Value{Value::Object{{"fingerprint", print}, {"probe", value_of(probe)}}});
    return file_.save(document);
}

namespace {

constexpr Bytes kMaxQuarantineFile = mib(4);
/// How long a driver is held back at each level. A single failure may be accidental, so level 1 has
/// no penalty.
constexpr std::array<Duration, 6> kLengths = {Duration::zero(),         Duration::zero(),
                                              std::chrono::minutes{10}, std::chrono::hours{1},
                                              std::chrono::hours{6},    std::chrono::hours{24}};
constexpr std::uint32_t kHighest = kLengths.size() - 1;
/// The first level that holds a driver back.
constexpr std::uint32_t kHolds = 2;

Duration length_of(std::uint32_t level) {
    return kLengths[std::min(level, kHighest)];
}

/// The remaining time of a penalty that ends at `until`, but at most its full `length`, because the
/// clock may have been set back.
Duration rest_of(WallTime until, Duration length, WallTime now) {
    if (until <= now)
        return Duration::zero();
    return until >= now + length ? length : until - now;
}

bool is_meant(const QuarantineFilter& filter, const QuarantinedProbe& probe) {
    return (!filter.api || *filter.api == probe.api) &&
           (!filter.driver || *filter.driver == probe.driver);
}

template <class Entries>
/// The entry for the probe and the fingerprint, or null. The function is a template because both
/// const and mutable entries are searched.
auto* entry_of(const ProbeKey& key, Entries& entries) {
    const auto found = std::ranges::find_if(entries, [&key](const auto& entry) {
        return entry.probe.api == key.api && entry.probe.driver == key.driver &&
               entry.probe.stage == key.stage && entry.probe.device == key.device &&
               entry.fingerprint == key.fingerprint;
    });
    return found == entries.end() ? nullptr : &*found;
}

template <class T>
/// Reads one member of the document. Errors: Malformed; TooLarge if the member has more than `most`
/// items.
Status read_list(const Value& document, std::string_view name, std::size_t most, T& list) {
    const auto problem = read_value(document.at(name), list);
    if (!problem.empty())
        return Error{ErrorCode::Malformed, "quarantine: " + problem.text()};
    if (list.size() > most)
        return Error{ErrorCode::TooLarge, "quarantine: too many"};
    return Done{};
}

}  // namespace

Quarantine::Quarantine(const std::optional<std::string>& folder, const Clock& clock)
    : clock_{clock} {
    if (folder)
        file_.emplace(*folder + "/quarantine", "quarantine", 1, kMaxQuarantineFile);
}

Quarantine::~Quarantine() {
    running_.clear();
    (void)settle();  // if this fails, the next start will count the probes that were running as
                     // harmful
}

/// There are three cases. If the file or the folder is missing, nothing is done. If the file can't
/// be read, it is set aside. If the file contains probes that were left running, they may get a
/// penalty.
Status Quarantine::open(std::string boot) {
    boot_ = std::move(boot);
    is_cold_ = !boot_.empty();
    if (!file_)
        return Done{};
    // The lock is an empty descriptor if another process holds the lock, and an error if
    // the folder isn't writable.
    auto [lock, document] = file_->lock_and_load();
    if (lock)
        lock_ = std::move(lock).value();
    else
        no_lock_ = lock.error();
    const auto left = read(std::move(document));
    if (!left && left.error().code == ErrorCode::NotFound)
        return Done{};
    if (!left) {
        entries_.clear();
        if (lock_)
            (void)file_->set_aside();  // if this also fails, the first error contains the reason
        return left.error();
    }
    if (!lock_ || left->empty())
        return Done{};  // without the lock, running probes belong to the lock's holder
    judge(*left);
    return save();
}

Result<std::vector<ProbeKey>> Quarantine::read(Result<Value> loaded) {
    const auto document = TRY(std::move(loaded));
    std::vector<ProbeKey> left;
    TRY(read_list(document, "running", kMaxRunning, left));
    TRY(read_list(document, "entries", kMaxEntries, entries_));
    std::vector<ProbeKey> suspects;
    TRY(read_list(document, "suspects", kMaxRunning, suspects));
    suspects_ = {suspects.begin(), suspects.end()};
    if (const auto* boot = document.at("boot").as_string())
        left_boot_ = *boot;
    // A file from this boot means that a probe has already run since the machine started.
    is_cold_ = is_cold_ && left_boot_ != boot_;
    // The file contains wall-clock times. Convert the remaining part of each penalty to monotonic
    // time.
    for (auto& entry : entries_)
        entry.over =
            clock_.monotonic() + rest_of(entry.probe.until, length_of(entry.level), clock_.wall());
    return left;
}

/// If only one probe was left running, gives it a penalty. All probes that were left running become
/// suspects.
void Quarantine::judge(const std::vector<ProbeKey>& left) {
    const bool is_another_boot = !boot_.empty() && !left_boot_.empty() && boot_ != left_boot_;
    if (left.size() == 1)
        convict(left.front(), is_another_boot ? Harm::MachineWentDown : Harm::DaemonWentDown);
    for (const auto& key : left)
        if (suspects_.size() < kMaxRunning)
            suspects_.insert(key);
    is_changed_ = true;
}

/// Penalizes the only probe that was running. If the probe was a suspect before, an earlier harm is
/// assumed, so that the probe gets a level that holds it back at once.
void Quarantine::convict(const ProbeKey& key, Harm why) {
    const bool was_there_before = suspects_.contains(key);
    (void)strike(key, why, std::nullopt);
    auto* entry = entry_of(key, entries_);
    if (entry && was_there_before && entry->level < kHolds)
        (void)strike(key, why, std::nullopt);
}

void Quarantine::ended(const ProbeKey& key) {
    running_.erase(key);
    is_changed_ = suspects_.erase(key) > 0 || is_changed_;
}

bool Quarantine::holds(const Entry& entry) const {
    return clock_.monotonic() < entry.over;
}

Status Quarantine::begin(const std::vector<ProbeKey>& keys) {
    for (const auto& key : keys)
        if (running_.size() < kMaxRunning)
            running_.insert(key);
    return settle();
}

bool Quarantine::strike(const ProbeKey& key, Harm why, std::optional<std::string> note) {
    auto* entry = entry_of(key, entries_);
    if (!entry)
        entry = &entries_.emplace_back(Entry{
            .fingerprint = key.fingerprint,
            .probe = {
                .api = key.api, .driver = key.driver, .stage = key.stage, .device = key.device}});
    // If the machine went down, skip the level without a penalty.
    const auto least = why == Harm::MachineWentDown ? kHolds : 0;
    entry->level = std::clamp(entry->level + 1, least, kHighest);
    auto& probe = entry->probe;
    if (probe.times < std::numeric_limits<std::uint32_t>::max())
        ++probe.times;
    probe.why = why;
    probe.note = std::move(note);
    probe.since = clock_.wall();
    probe.until = probe.since + length_of(entry->level);
    entry->over = clock_.monotonic() + length_of(entry->level);
    // drop_old() may move or erase entries, so `entry` must not be used after this call.
    const bool is_held = holds(*entry);
    is_changed_ = true;
    drop_old();
    return is_held;
}

void Quarantine::pardon(const ProbeKey& key) {
    if (const auto* entry = entry_of(key, entries_)) {
        entries_.erase(entries_.begin() + (entry - entries_.data()));
        is_changed_ = true;
    }
}

/// Drops entries that are older than kRemembers and hold no probe back. If there are still too many
/// entries, drops the oldest.
void Quarantine::drop_old() {
    const auto oldest_kept = clock_.wall() - kRemembers;
    std::erase_if(entries_, [&](const Entry& entry) {
        return entry.probe.since < oldest_kept && !holds(entry);
    });
    if (entries_.size() > kMaxEntries)
        entries_.erase(std::ranges::min_element(
            entries_, {}, [](const Entry& entry) { return entry.probe.since; }));
}

Status Quarantine::settle() {
    return is_changed_ || running_ != written_ ? save() : Status{Done{}};
}

/// If another process holds the lock, writes nothing and succeeds.
Status Quarantine::save() {
    if (no_lock_)
        return *no_lock_;
    if (!lock_)
        return Done{};
    Value document;
    document["boot"] = boot_;
    document["running"] = to_value(std::vector<ProbeKey>{running_.begin(), running_.end()});
    document["entries"] = to_value(entries_);
    document["suspects"] = to_value(std::vector<ProbeKey>{suspects_.begin(), suspects_.end()});
    TRY(file_->save(document));
    written_ = running_;
    is_changed_ = false;
    return Done{};
}

const QuarantinedProbe* Quarantine::find(const ProbeKey& key) const {
    const auto* entry = entry_of(key, entries_);
    return entry && holds(*entry) ? &entry->probe : nullptr;
}

std::vector<QuarantinedProbe> Quarantine::held() const {
    std::vector<QuarantinedProbe> held;
    for (const auto& entry : entries_)
        if (holds(entry))
            held.push_back(entry.probe);
    std::ranges::stable_sort(held, {}, [](const QuarantinedProbe& probe) {
        return std::tie(probe.api, probe.driver, probe.stage, probe.device);
    });
    return held;
}

Result<std::uint32_t> Quarantine::clear(const QuarantineFilter& filter) {
    auto before = entries_;
    std::uint32_t cleared = 0;
    std::erase_if(entries_, [&](const Entry& entry) {
        if (!is_meant(filter, entry.probe))
            return false;
        cleared += holds(entry) ? 1 : 0;
        return true;
    });
    if (entries_.size() == before.size())
        return cleared;
    // Undo the change if it can't be written to the file.
    const auto saved = save();
    if (saved)
        return cleared;
    entries_ = std::move(before);
    return saved.error();
}

}  // namespace gpuprobe::store
