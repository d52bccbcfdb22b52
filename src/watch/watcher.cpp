// SPDX-License-Identifier: Apache-2.0
#include "watch/watcher.h"

#include <algorithm>
#include <limits>

#include "base/record.h"
#include "base/text.h"
#include "report/fact_key.h"

namespace gpuprobe::watch {
namespace {

constexpr std::string_view kNvidia = "/dev/nvidia";
/// A process with a CUDA context has this node mapped; a process that only listed devices has the
/// node open but not mapped. Observed with driver 580.159 on an H200: the node is mapped after
/// cuCtxCreate, but not after cuInit. While the context is being created, /dev/nvidiactl is mapped
/// more than once.
constexpr std::string_view kUnifiedMemory = "/dev/nvidia-uvm";
constexpr std::string_view kKfdNode = "/dev/kfd";
/// The libraries of a process are read in the first searches that find the process, and then every
/// kBetweenLooks.
constexpr int kFirstLooks = 8;
constexpr Duration kBetweenLooks = std::chrono::milliseconds{250};
constexpr std::size_t kMaxLoading = 64;  // processes

/// Adds two sizes without overflow.
Bytes sum(Bytes one, Bytes other) {
    const auto room = std::numeric_limits<std::uint64_t>::max() - one.count;
    return Bytes{one.count + std::min(other.count, room)};
}

void add(std::optional<Bytes>& total, const std::optional<Bytes>& more) {
    if (more)
        total = sum(total.value_or(Bytes{}), *more);
}

/// Combines two sources that report the same memory: the larger figure is used.
void raise(std::optional<Bytes>& most, const std::optional<Bytes>& other) {
    if (other)
        most = std::max(most.value_or(Bytes{}), *other);
}

std::vector<std::string> paths_of(const std::vector<DeviceNode>& nodes) {
    std::vector<std::string> paths;
    for (const auto& node : nodes)
        paths.push_back(node.path);
    return paths;
}

/// Whether the API's loader is mapped. The loader is the library that programs open to use the API;
/// it is the first library in the API's row of the API table.
bool has_loader(const ApiInfo& api, const std::vector<std::string>& mapped) {
    const auto loader = api.libraries.substr(0, api.libraries.find(' '));
    return !loader.empty() && std::ranges::any_of(mapped, [loader](const std::string& name) {
        return name.starts_with(loader);
    });
}

}  // namespace

Watcher::Watcher(const FileSystem& files, const Report& report, pid_t root, std::string mark)
    : files_{files}, tree_{files, root, std::move(mark)}, root_{root} {
    add_devices(report);
    for (const auto& [id, number] : kfd_node_numbers(files))
        for (std::size_t place = 0; place < devices_.size(); ++place)
            if (devices_[place].kfd_node == number)
                kfd_[id] = place;
}

void Watcher::add_devices(const Report& report) {
    for (const auto& gpu : report.gpus) {
        Device device{.id = gpu.id,
                      .vendor = gpu.vendor.value_or(""),
                      .shares_memory = gpu.memory.kind && *gpu.memory.kind != MemoryKind::Dedicated,
                      .has_nvml = gpu.driver.name == "nvidia",
                      .pci = gpu.pci ? gpu.pci->address : std::nullopt,
                      .nodes = paths_of(gpu.nodes),
                      .kfd_node = gpu.identity.kfd_node};
        for (const auto& node : {gpu.identity.drm.primary, gpu.identity.drm.render})
            if (node)
                device.nodes.push_back(*node);
        devices_.push_back(std::move(device));
    }
    for (const auto& accelerator : report.accelerators)
        devices_.push_back({.id = accelerator.id,
                            .vendor = accelerator.vendor.value_or(""),
                            .pci = accelerator.pci ? accelerator.pci->address : std::nullopt,
                            .nodes = paths_of(accelerator.nodes)});
}

std::optional<std::size_t> Watcher::device_at(const std::optional<PciAddress>& pci) const {
    const auto found = std::ranges::find_if(
        devices_, [&pci](const Device& device) { return pci && device.pci == pci; });
    return found == devices_.end() ? std::nullopt
                                   : std::optional<std::size_t>{found - devices_.begin()};
}

std::optional<std::size_t> Watcher::device_of_node(std::string_view path) const {
    const auto found = std::ranges::find_if(
        devices_, [path](const Device& device) { return contains(device.nodes, path); });
    return found == devices_.end() ? std::nullopt
                                   : std::optional<std::size_t>{found - devices_.begin()};
}

/// The device of a DRM client, by its PCI address. Drivers of SoCs report no address. For these
/// drivers, the result is the only device without an address whose node is open; nullopt if there
/// is no such device or more than one.
std::optional<std::size_t> Watcher::device_of(const DrmClient& client,
                                              const ProcessFiles& open) const {
    if (client.pci)
        return device_at(client.pci);
    std::set<std::size_t> places;
    for (const auto& node : open.nodes)
        if (const auto place = device_of_node(node); place && !devices_[*place].pci)
            places.insert(*place);
    return places.size() == 1 ? std::optional{*places.begin()} : std::nullopt;
}

/// Adds the figures that DRM drivers report. If several processes share an open file, the file
/// counts only for the first process.
void Watcher::add_drm(const ProcessFiles& open, Shares& shares) {
    for (const auto& client : open.drm) {
        const auto place = device_of(client, open);
        if (!place || (client.id && !counted_.emplace(client.pci, *client.id).second))
            continue;
        auto& share = shares[*place];
        // Host memory counts only if the client has no memory on the device, or if the device
        // shares the host's memory.
        const bool is_in_host = client.on_device.value_or(Bytes{}).count == 0;
        add(share.memory, client.on_device);
        if (is_in_host || devices_[*place].shares_memory)
            add(share.memory, client.in_host);
        share.is_used = share.is_used || client.has_worked.value_or(false) ||
                        share.memory.value_or(Bytes{}) >= kLeast;
    }
}

/// Adds the memory that KFD reports. In a container, KFD's process numbers are the host's and may
/// match an unrelated process here; such a process does not have the node open.
void Watcher::add_kfd(pid_t pid, const ProcessFiles& open, Shares& shares) const {
    if (open.is_open_known && !contains(open.nodes, kKfdNode))
        return;
    const auto by_gpu = kfd_memory(files_, pid).value_or(std::map<std::string, Bytes>{});
    for (const auto& [id, memory] : by_gpu) {
        const auto place = kfd_.find(id);
        if (place == kfd_.end() || memory < kLeast)
            continue;
        auto& share = shares[place->second];
        raise(share.memory, memory);
        share.is_used = share.computes = true;
    }
}

/// Adds NVML's entries for one process. If NVML does not report the memory, it is assumed to be
/// large enough to count as use.
void Watcher::add_entries(const std::vector<NvmlEntry>& entries, Shares& shares) {
    for (const auto& entry : entries) {
        auto& share = shares[entry.device];
        raise(share.memory, entry.memory);
        (entry.computes ? share.computes : share.draws) = true;
        share.is_used |= entry.memory.value_or(kLeastByNvml) >= kLeastByNvml;
    }
}

/// Adds the share of one process to the total of all processes.
void Watcher::add_share(const Share& share, Share& total) {
    add(total.memory, share.memory);
    total.apis.insert(share.apis.begin(), share.apis.end());
    ++total.processes;
}

/// Adds the figures that NVML reported about this process. If NVML has not reported the process, a
/// mapped UVM node shows that the process has a context.
void Watcher::add_nvidia(const Process& process,
                         const ProcessFiles& open,
                         MonotonicTime now,
                         Shares& shares) {
    // The NVIDIA GPUs that the process has open; nodes like /dev/nvidiactl belong to no GPU.
    std::set<std::size_t> places;
    bool has_node = false;
    for (const auto& node : open.nodes) {
        has_node |= node.starts_with(kNvidia);
        const auto place = device_of_node(node);
        if (place && devices_[*place].has_nvml)
            places.insert(*place);
    }
    const bool has_context = contains(open.mapped, kUnifiedMemory);
    // Remember the process: NVML's answer may come after the process has ended.
    if (has_node || !places.empty()) {
        auto& known =
            nvidia_open_.try_emplace({process.pid, process.started}, NvidiaOpen{.since = now})
                .first->second;
        known.mapped = open.mapped;
        const bool may_have_context = has_context || open.control_mappings > 1;
        if (may_have_context && !known.unreported_since && !nvml_.contains(process.pid))
            known.unreported_since = now;
    }
    wants_nvml_ |= has_node || !places.empty();
    // In a container, an old driver reports process numbers of the host, which may match an
    // unrelated process here.
    const bool may_be_another = open.is_open_known && !has_node && places.empty();
    const auto reported = nvml_.find(process.pid);
    if (reported != nvml_.end() && !may_be_another) {
        // As soon as a process begins to create a context, NVML lists it with a few mebibytes.
        add_entries(reported->second, shares);
        for (const auto& entry : reported->second)
            shares[entry.device].is_used |= has_context;
    } else if (has_context && places.size() == 1) {
        // If several devices are open, it is unknown which of them has the context.
        shares[*places.begin()].is_used = shares[*places.begin()].computes = true;
    }
}

/// Whether the process has a node open whose driver does not report use, so that the process may be
/// using the device.
bool Watcher::is_silent(const ProcessFiles& open) const {
    return std::ranges::any_of(open.nodes, [&](const std::string& node) {
        const auto place = device_of_node(node);
        if (!place || devices_[*place].has_nvml || node == kKfdNode)
            return false;
        return std::ranges::none_of(open.drm, [&](const DrmClient& client) {
            const bool reports_use = client.on_device || client.in_host || client.has_worked;
            return reports_use && device_of(client, open) == place;
        });
    });
}

/// Adds a doubt if a node whose driver does not report use stays open for kHeld.
void Watcher::note_silent(const Process& process, const ProcessFiles& open, MonotonicTime now) {
    const ProcessKey key{process.pid, process.started};
    if (!is_silent(open))
        silent_since_.erase(key);
    else if (now - silent_since_.try_emplace(key, now).first->second >= kHeld)
        doubts_.insert(Doubt::NodeOpen);
}

/// Notes the APIs whose loader the process has mapped. Reading the maps is expensive, so the number
/// of processes without a device and the rate of reading are limited.
void Watcher::note_loaded(const Process& process, const ProcessFiles& open, MonotonicTime now) {
    const ProcessKey key{process.pid, process.started};
    if (open.nodes.empty() && loading_.size() >= kMaxLoading && !loading_.contains(key))
        return;
    auto& loading = loading_[key];
    const bool is_due = loading.looks++ < kFirstLooks || now - loading.last >= kBetweenLooks;
    if (!is_due)
        return;
    loading.last = now;
    const auto mapped = open.nodes.empty() ? mapped_by(files_, process.pid) : open.mapped;
    for (const auto* api : computing_apis())
        if (has_loader(*api, mapped))
            loaded_.insert(api->id);
}

/// The loaded APIs that may be using this device. Contexts that can only compute are attributed to
/// APIs of the device's vendor, and contexts for graphics to cross-vendor APIs. If the kind of
/// context isn't decisive, all loaded APIs are returned.
std::set<Api> Watcher::apis_of(const Device& device,
                               const Share& share,
                               const std::vector<std::string>& mapped) const {
    std::set<Api> of_vendor;
    std::set<Api> of_all;
    for (const auto* api : computing_apis()) {
        if (!has_loader(*api, mapped) || (!api->vendor.empty() && api->vendor != device.vendor))
            continue;
        (api->vendor.empty() ? of_all : of_vendor).insert(api->id);
    }
    if (share.computes && !share.draws && !of_vendor.empty())
        return of_vendor;
    if (share.draws && !share.computes && !of_all.empty())
        return of_all;
    of_all.merge(of_vendor);
    return of_all;
}

/// The use of each device by one process, from all sources.
Watcher::Shares Watcher::shares_of(const Process& process, MonotonicTime now) {
    Shares shares;
    const auto open = files_of(files_, process.pid);
    if (process.pid == root_)
        sees_root_ = open.is_open_known;
    if (!open.is_open_known && !open.is_gone) {
        doubts_.insert(Doubt::NotReadable);
        wants_nvml_ |= std::ranges::any_of(devices_, &Device::has_nvml);
    }
    add_drm(open, shares);
    add_kfd(process.pid, open, shares);
    add_nvidia(process, open, now, shares);
    note_silent(process, open, now);
    note_loaded(process, open, now);
    for (auto& [place, share] : shares)
        share.apis = apis_of(devices_[place], share, open.mapped);
    return shares;
}

void Watcher::note_gap(MonotonicTime now) {
    if (last_look_ && wants_nvml_)
        longest_gap_ = std::max(longest_gap_, now - *last_look_);
    last_look_ = now;
}

std::vector<DeviceUse> Watcher::look(MonotonicTime now) {
    note_gap(now);
    counted_.clear();
    Shares all;
    const auto processes = tree_.look();
    // Forget the libraries of processes that have ended.
    std::erase_if(loading_, [&processes](const auto& entry) {
        return std::ranges::none_of(processes, [&entry](const Process& process) {
            return entry.first == ProcessKey{process.pid, process.started};
        });
    });
    running_ = processes.size();
    sees_root_ = wants_nvml_ = false;
    if (!tree_.is_whole())
        doubts_.insert(Doubt::TooMany);
    for (const auto& process : processes)
        for (const auto& [place, share] : shares_of(process, now)) {
            if (!share.is_used)
                continue;
            add_share(share, all[place]);
        }
    keep_most(all);
    return uses_of(all);
}

void Watcher::keep_most(const Shares& shares) {
    for (const auto& [place, share] : shares) {
        auto& most = most_[place];
        raise(most.memory, share.memory);
        most.apis.insert(share.apis.begin(), share.apis.end());
        most.processes = std::max(most.processes, share.processes);
    }
}

/// Counts the processes in NVML's answer immediately, because they may end before the next search.
void Watcher::count_nvml() {
    Shares all;
    for (const auto& [process, open] : nvidia_open_) {
        const auto reported = nvml_.find(process.first);
        if (reported == nvml_.end())
            continue;
        Shares shares;
        add_entries(reported->second, shares);
        for (auto& [place, share] : shares) {
            if (!share.is_used)
                continue;
            share.apis = apis_of(devices_[place], share, open.mapped);
            add_share(share, all[place]);
        }
    }
    keep_most(all);
}

void Watcher::add_nvml(const ProbeResult& answer, MonotonicTime asked) {
    // Group the entries of all devices by process. The answer is complete only if it contains a
    // list of processes for every device.
    bool is_whole = answer.outcome == Outcome::Answered;
    std::map<pid_t, std::vector<NvmlEntry>> listed;
    for (const auto& facts : answer.devices) {
        const auto* entries = facts.extra.at("processes").as_array();
        const auto place = device_at(facts.pci);
        is_whole &= entries != nullptr;
        for (const auto& entry : entries ? *entries : Value::Array{}) {
            const auto pid = entry.at("pid").as_int();
            if (!pid || *pid <= 0 || *pid > std::numeric_limits<pid_t>::max() || !place)
                continue;
            const auto used = entry.at("memory_used").as_unsigned();
            listed[static_cast<pid_t>(*pid)].push_back(
                {.device = *place,
                 .memory = used ? std::optional{Bytes{*used}} : std::nullopt,
                 .computes = entry.at("computes").as_bool().value_or(true)});
        }
    }
    if (answer.outcome != Outcome::Answered)
        return;
    nvml_ = std::move(listed);
    // If a process had a device open before the query began, the answer covers this process.
    for (auto& [process, open] : nvidia_open_) {
        open.is_asked |= is_whole && open.since <= asked;
        if (!nvml_.contains(process.first))
            continue;
        open.unreported_since.reset();
        open.listed_until = asked;
        if (!open.listed_since)
            open.listed_since = asked;
    }
    count_nvml();
}

std::optional<MonotonicTime> Watcher::unreported_since() const {
    std::optional<MonotonicTime> last;
    for (const auto& [process, open] : nvidia_open_)
        last = std::max(last, open.unreported_since);  // nullopt compares as less than any time
    return last;
}

std::vector<DeviceUse> Watcher::uses_of(const Shares& shares) const {
    std::vector<DeviceUse> uses;
    for (const auto& [place, share] : shares) {
        auto& use = uses.emplace_back(DeviceUse{
            .device = devices_[place].id, .memory = share.memory, .processes = share.processes});
        for (const auto api : share.apis)
            use.apis.emplace_back(info_of(api).word);
    }
    std::ranges::sort(uses, {}, &DeviceUse::device);
    return uses;
}

std::vector<DeviceUse> Watcher::most() const {
    return uses_of(most_);
}

bool Watcher::took_nvidia() const {
    return std::ranges::any_of(
        most_, [this](const auto& share) { return devices_[share.first].has_nvml; });
}

/// A process or a moment that was missed causes a doubt only if no use was measured at all.
void Watcher::finish(std::optional<MonotonicTime> ended, bool was_late) {
    if (ended)
        note_gap(*ended);
    const bool was_missed = std::ranges::any_of(nvidia_open_, [](const auto& entry) {
        const auto& open = entry.second;
        const bool was_starting =
            open.listed_since && *open.listed_until - *open.listed_since < kSettled;
        return !open.is_asked || open.unreported_since || was_starting;
    });
    const bool had_gap = longest_gap_ > kLongestGap && !took_nvidia();
    if (was_missed && !took_nvidia())
        doubts_.insert(Doubt::EndedTooSoon);
    else if (had_gap || (was_late && most_.empty() && !devices_.empty()))
        doubts_.insert(Doubt::SeldomSeen);
}

}  // namespace gpuprobe::watch
