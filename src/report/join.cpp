// SPDX-License-Identifier: Apache-2.0
#include "report/join.h"

#include <algorithm>
#include <map>

#include "report/api_device.h"
#include "report/api_table.h"
#include "report/fact_key.h"

namespace gpuprobe::inline report {
namespace {

Value index_of(const ApiDevice& device) {
    return device.facts->index ? Value{*device.facts->index} : Value{};
}

/// Members of a note's detail that identify a record.
Value::Object origin_of(const ApiDevice& device) {
    return {
        {"api", device.probe->api}, {"driver", device.probe->driver}, {"index", index_of(device)}};
}

/// The state of one join. Each step joins the pending records that it can join; run() sets the
/// order of the steps. A step returns true if it has dealt with the record.
class Joiner {
public:
    Joiner(const Machine& machine, const std::vector<const ProbeResult*>& probes);
    Joined run();

private:
    using Step = bool (Joiner::*)(const ApiDevice&);
    void add_hardware(const Machine& machine);
    void add_devices(const Machine& machine, const std::vector<const ProbeResult*>& probes);
    void note_excess(const ProbeResult& probe, std::size_t listed, std::size_t left_out);
    void each_pending(Step step);
    Subject* hardware_at(const PciAddress& address);
    Subject* hardware_with(const DrmNodes& nodes);
    Subject* hardware_with(const std::string& node);
    bool claim_or_refuse(const ApiDevice& device, Subject& subject, const char* key);
    void note_conflict(const ApiDevice& device, const Subject& subject, const char* key);
    bool by_address(const ApiDevice& device);
    bool by_partition(const ApiDevice& device);
    bool by_uuid(const ApiDevice& device);
    bool weakly(const ApiDevice& device);
    bool described_hardware(const ApiDevice& device);
    bool by_founder(const ApiDevice& device);
    bool found(const ApiDevice& device);
    bool remember_ambiguous(const ApiDevice& device, const std::vector<Subject*>& candidates);
    std::vector<Subject*> candidates_for(const ApiDevice& device);
    void drop_transports();
    [[nodiscard]] bool has_twin(const ApiDevice& device, const Subject& subject) const;
    std::string new_id(const ApiDevice& device) const;

    Joined joined_ = {};
    std::vector<ApiDevice> pending_ = {};
    std::vector<ApiDevice> twins_ = {};  ///< pending records when weak joining began
};

Joiner::Joiner(const Machine& machine, const std::vector<const ProbeResult*>& probes) {
    add_hardware(machine);
    add_devices(machine, probes);
}

/// Counts the devices that one driver lists.
class ListedDevices {
public:
    /// Whether the device is among the first `most` devices. Devices in one PCI slot count once,
    /// because they may be the partitions of one GPU, such as the 8 partitions of an MI300X in CPX
    /// mode.
    bool takes(const ApiDevice& device, std::size_t most) {
        constexpr std::size_t kMostInSlot = 16;
        ++listed_;
        if (device.address) {
            auto slot = *device.address;
            slot.function = 0;
            const auto others = in_slot_[slot]++;
            if (others > 0 && others < kMostInSlot && taken_ <= most)
                return true;
        }
        const bool is_taken = ++taken_ <= most;
        left_out_ += is_taken ? 0 : 1;
        return is_taken;
    }
    [[nodiscard]] std::size_t listed() const { return listed_; }
    [[nodiscard]] std::size_t left_out() const { return left_out_; }

private:
    std::size_t listed_ = 0;
    std::size_t taken_ = 0;
    std::size_t left_out_ = 0;
    std::map<PciAddress, std::size_t> in_slot_ = {};
};

void Joiner::add_devices(const Machine& machine, const std::vector<const ProbeResult*>& probes) {
    auto parts = joined_.subjects.size();
    for (const auto& hardware : machine.devices)
        parts += hardware.partitions.size();
    const auto most = most_devices_of_a_driver(parts);
    std::map<const ProbeResult*, ListedDevices> listed;
    // Sort the records into software implementations and pending devices.
    for (auto& device : listed_devices(machine, probes)) {
        if (!listed[device.probe].takes(device, most))
            continue;
        const bool is_api = device.probe->api != "pci";
        (is_api && is_software(device) ? joined_.software : pending_).push_back(std::move(device));
    }
    for (const auto* probe : probes)
        if (const auto& count = listed[probe]; count.left_out() > 0)
            note_excess(*probe, count.listed(), count.left_out());
}

void Joiner::note_excess(const ProbeResult& probe, std::size_t listed, std::size_t left_out) {
    joined_.notes.push_back(because("too-many-devices", {{"api", probe.api},
                                                         {"driver", probe.driver},
                                                         {"listed", listed},
                                                         {"left_out", left_out}}));
}

/// Creates a subject for each device of the inventory. Ids are unique; duplicates are dropped.
void Joiner::add_hardware(const Machine& machine) {
    for (const auto& hardware : machine.devices)
        joined_.subjects.push_back(Subject{.id = hardware.id, .hardware = &hardware});
    std::ranges::sort(joined_.subjects, {}, &Subject::id);
    const auto same = [](const Subject& left, const Subject& right) { return left.id == right.id; };
    auto& subjects = joined_.subjects;
    subjects.erase(std::unique(subjects.begin(), subjects.end(), same), subjects.end());
}

/// Runs a step on all pending records and removes the records that the step has handled.
void Joiner::each_pending(Step step) {
    std::vector<ApiDevice> left;
    for (const auto& device : pending_)
        if (!(this->*step)(device))
            left.push_back(device);
    pending_ = std::move(left);
}

Subject* Joiner::hardware_at(const PciAddress& address) {
    for (auto& subject : joined_.subjects)
        if (subject.hardware && subject.hardware->pci == address)
            return &subject;
    return nullptr;
}

Subject* Joiner::hardware_with(const DrmNodes& nodes) {
    for (auto& subject : joined_.subjects)
        if (subject.hardware && same_node(subject.hardware->drm, nodes))
            return &subject;
    return nullptr;
}

Subject* Joiner::hardware_with(const std::string& node) {
    for (auto& subject : joined_.subjects)
        if (subject.hardware && has_node(*subject.hardware, node))
            return &subject;
    return nullptr;
}

/// Joins the record to hardware with the same key, or notes a conflict if the vendors differ.
bool Joiner::claim_or_refuse(const ApiDevice& device, Subject& subject, const char* key) {
    if (!contradicts(device, *subject.hardware)) {
        subject.claims.push_back(Claim{.device = device, .joined_by = key});
        return true;
    }
    note_conflict(device, subject, key);
    return true;
}

void Joiner::note_conflict(const ApiDevice& device, const Subject& subject, const char* key) {
    auto detail = origin_of(device);
    detail.push_back({"gpu", subject.id});
    detail.push_back({"key", key});
    detail.push_back({"vendor_id", to_value(device.facts->vendor_id)});
    joined_.notes.push_back(because("conflict", std::move(detail)));
}

/// Joins by PCI address and DRM node. If the address and the node belong to different GPUs, the
/// address decides. A device with neither an address nor a DRM node is joined by the node that the
/// probe opened.
bool Joiner::by_address(const ApiDevice& device) {
    auto* by_place = device.address ? hardware_at(*device.address) : nullptr;
    auto* by_node = device.facts->drm ? hardware_with(*device.facts->drm) : nullptr;
    if (by_place && by_node && by_place != by_node)
        note_conflict(device, *by_node, "drm");
    if (by_place)
        return claim_or_refuse(device, *by_place, "pci");
    if (!by_node && !device.facts->drm && has_own_nodes(device.probe->api)) {
        auto* opened = hardware_with(device.probe->driver);
        return opened && claim_or_refuse(device, *opened, "node");
    }
    return by_node && claim_or_refuse(device, *by_node, "drm");
}

/// The key that identifies the API's device as a partition of the GPU ("drm" or "pci"); null if it
/// isn't a partition.
const char* key_of_part(const ApiDevice& device, const HardwareDevice& hardware) {
    const auto& facts = *device.facts;
    const auto node = fact(facts, facts::kKfdNode);
    for (const auto& part : hardware.partitions) {
        if (part.pci && address_of(device) == part.pci)
            return "pci";
        if (part.kfd_node && node == *part.kfd_node)
            return "drm";
        if (part.node && facts.drm && facts.drm->render &&
            part.node->substr(kRenderNode.size()) ==
                facts.drm->render->substr(facts.drm->render->find(':') + 1))
            return "drm";
    }
    // Many kernels report the partition's number as the PCI function, so compare only the slot.
    const auto has_parts = std::ranges::any_of(
        hardware.partitions,
        [](const HardwarePartition& part) { return part.kfd_node.has_value(); });
    const auto& address = device.address;
    const bool shares_slot = address && hardware.pci && address->domain == hardware.pci->domain &&
                             address->bus == hardware.pci->bus &&
                             address->device == hardware.pci->device;
    return has_parts && shares_slot ? "pci" : nullptr;
}

/// Whether NVML lists a MIG instance with that UUID on this GPU.
bool lists_instance(const Subject& subject, const std::string& uuid) {
    for (const auto& claim : subject.claims)
        if (const auto* list = fact(*claim.device.facts, facts::kMigDevices))
            if (std::ranges::any_of(
                    *list, [&uuid](const Value& entry) { return entry.at("uuid") == Value{uuid}; }))
                return true;
    return false;
}

/// Joins partitions to their GPU.
bool Joiner::by_partition(const ApiDevice& device) {
    for (auto& subject : joined_.subjects) {
        if (const auto* key = subject.hardware ? key_of_part(device, *subject.hardware) : nullptr;
            key && !contradicts(device, *subject.hardware))
            return claim_or_refuse(device, subject, key);
        const auto& uuid = device.facts->uuid;
        if (uuid && uuid->starts_with("MIG-") && lists_instance(subject, *uuid)) {
            subject.claims.push_back(Claim{.device = device, .joined_by = "uuid"});
            return true;
        }
    }
    return false;
}

/// Joins by the address that the UUID encodes, or by a UUID that exactly one subject has. A subject
/// with a record from this probe is skipped, because a driver lists each device once.
bool Joiner::by_uuid(const ApiDevice& device) {
    if (!device.address && device.packed)
        if (auto* subject = hardware_at(*device.packed);
            subject && !contradicts(device, *subject->hardware))
            return claim_or_refuse(device, *subject, "uuid");
    if (!device.uuid)
        return false;
    std::vector<Subject*> owners;
    for (auto& subject : joined_.subjects) {
        const bool owns = (subject.hardware && family_uuid(*subject.hardware) == device.uuid) ||
                          std::ranges::any_of(subject.claims, [&](const Claim& claim) {
                              return claim.device.uuid == device.uuid;
                          });
        if (owns && !is_claimed_by(subject, *device.probe))
            owners.push_back(&subject);
    }
    if (owners.size() != 1)
        return false;
    owners.front()->claims.push_back(Claim{.device = device, .joined_by = "uuid"});
    return true;
}

/// Drops records from libpci and V4L2 that weren't joined by address or node. libpci sees the same
/// functions as the inventory, and V4L2 codecs are not GPUs, so any other record isn't about a
/// GPU.
bool Joiner::described_hardware(const ApiDevice& device) {
    return device.probe->api == "pci" || device.probe->api == info_of(Api::V4l2).word;
}

/// Whether the subject may also be another device of the same driver.
bool Joiner::has_twin(const ApiDevice& device, const Subject& subject) const {
    const auto may_be_it = [&](const ApiDevice& other) {
        return other.probe == device.probe && may_be(other, subject) &&
               memory_agrees(other, subject);
    };
    return std::ranges::count_if(twins_, may_be_it) > 1;
}

/// The subjects that the record may describe. Hardware is a candidate even if the memory sizes
/// differ, because the hardware exists and the record may describe it. If only APIs report a
/// subject, the subject and this record may also be two devices.
std::vector<Subject*> Joiner::candidates_for(const ApiDevice& device) {
    std::vector<Subject*> candidates;
    for (auto& subject : joined_.subjects)
        if (may_be(device, subject) && (subject.hardware || memory_agrees(device, subject)))
            candidates.push_back(&subject);
    return candidates;
}

/// Reduces several candidates to the candidate with the same memory size, if the memory sizes of
/// all other candidates contradict the record.
void keep_by_memory(const ApiDevice& device, std::vector<Subject*>& candidates) {
    const auto is_as_large = [&](const Subject* one) { return has_size_of(device, *one); };
    const auto may_be_it = [&](const Subject* one) { return memory_agrees(device, *one); };
    if (std::ranges::count_if(candidates, is_as_large) == 1 &&
        std::ranges::count_if(candidates, may_be_it) == 1)
        std::erase_if(candidates, [&](const Subject* one) { return !is_as_large(one); });
}

/// Joins as a last resort, if vendor and device id match, exactly one candidate remains, and the
/// memory sizes agree.
bool Joiner::weakly(const ApiDevice& device) {
    auto candidates = candidates_for(device);
    keep_by_memory(device, candidates);
    if (candidates.size() != 1 || !device.vendor || !memory_agrees(device, *candidates.front()) ||
        has_twin(device, *candidates.front()))
        return false;
    candidates.front()->claims.push_back(
        Claim{.device = device,
              .joined_by = "weak",
              .reasons = {because("joined-weakly", {{"by", "vendor-and-device"}})}});
    return true;
}

/// The key that shows that two records are one device; null if they have no key in common.
const char* shared_key(const ApiDevice& left, const ApiDevice& right) {
    const auto address = address_of(left);
    if (address && address == address_of(right))
        return "pci";
    if (left.facts->drm && right.facts->drm && same_node(*left.facts->drm, *right.facts->drm))
        return "drm";
    if (left.uuid && left.uuid == right.uuid && left.probe != right.probe)
        return "uuid";
    return left.luid && left.luid == right.luid ? "luid" : nullptr;
}

/// The key that the record shares with any record of the subject; null if they share no key.
const char* shared_key(const ApiDevice& device, const Subject& subject) {
    for (const auto& claim : subject.claims)
        if (const auto* key = shared_key(device, claim.device))
            return key;
    return nullptr;
}

/// Joins the record to a device that only APIs report and that another API has already added.
bool Joiner::by_founder(const ApiDevice& device) {
    for (auto& subject : joined_.subjects) {
        const auto* key = subject.hardware ? nullptr : shared_key(device, subject);
        if (!key)
            continue;
        subject.claims.push_back(Claim{.device = device, .joined_by = key});
        return true;
    }
    return false;
}

/// A unique id for a device that only APIs report: the device's address, or else the API with the
/// UUID or index.
std::string Joiner::new_id(const ApiDevice& device) const {
    const auto taken = [&](const std::string& id) {
        return std::ranges::any_of(joined_.subjects,
                                   [&](const Subject& subject) { return subject.id == id; });
    };
    if (const auto address = address_of(device); address && !taken("pci:" + text_of(*address)))
        return "pci:" + text_of(*address);
    const auto index = device.facts->index.value_or(0);
    const auto base =
        device.probe->api + ":" +
        (device.uuid && device.facts->uuid ? *device.facts->uuid : std::to_string(index));
    auto id = base;
    for (int copy = 2; taken(id); ++copy)
        id = base + "." + std::to_string(copy);
    return id;
}

/// Notes the record on each candidate, so that the candidates' views can explain why the API is
/// missing.
bool Joiner::remember_ambiguous(const ApiDevice& device, const std::vector<Subject*>& candidates) {
    Value ids{Value::Array{}};
    for (auto* subject : candidates) {
        subject->ambiguous.push_back(device);
        ids.push_back(subject->id);
    }
    auto detail = origin_of(device);
    detail.push_back({"gpus", std::move(ids)});
    joined_.notes.push_back(because("ambiguous", std::move(detail)));
    return true;
}

/// Handles a record that no step has joined. Adds the record to a device from another API. If there
/// is no such device, notes the record as ambiguous or as an error, or adds a new device.
bool Joiner::found(const ApiDevice& device) {
    if (by_founder(device))
        return true;
    if (!address_of(device)) {
        if (weakly(device))
            return true;
        if (const auto candidates = candidates_for(device); !candidates.empty())
            return remember_ambiguous(device, candidates);
    }
    if (const auto error = fact(*device.facts, facts::kError)) {
        // NVML keeps the index of a GPU that it can no longer reach. Report the error, not a new
        // GPU.
        auto detail = origin_of(device);
        detail.push_back({"error", *error});
        if (const auto code = fact(*device.facts, facts::kErrorCode))
            detail.push_back({"code", Value{*code}});
        joined_.notes.push_back(because("device-error", std::move(detail)));
        return true;
    }
    joined_.subjects.push_back(Subject{.id = new_id(device), .claims = {Claim{.device = device}}});
    return true;
}

/// Whether the subject is the paravirtual function of WSL, which only passes through the host's
/// GPU; APIs report the GPU's own address.
bool is_transport(const Subject& subject) {
    const bool is_only_listed = std::ranges::all_of(
        subject.claims, [](const Claim& claim) { return claim.device.probe->api == "pci"; });
    return subject.hardware && is_only_listed && subject.hardware->driver == kTransport &&
           role_of(*subject.hardware) == Role::Gpu;
}

/// Removes one of WSL's paravirtual functions for each GPU that only APIs report.
void Joiner::drop_transports() {
    auto& subjects = joined_.subjects;
    auto hosts_gpus = std::ranges::count(subjects, nullptr, &Subject::hardware);
    std::erase_if(subjects, [&hosts_gpus](const Subject& subject) {
        return is_transport(subject) && hosts_gpus-- > 0;
    });
}

/// Strong keys come first, so that weak joining only sees the records that are left.
Joined Joiner::run() {
    each_pending(&Joiner::by_address);
    each_pending(&Joiner::described_hardware);
    each_pending(&Joiner::by_partition);
    each_pending(&Joiner::by_uuid);
    twins_ = pending_;
    each_pending(&Joiner::weakly);
    // Records with an address come first, because their ids are better.
    std::stable_partition(pending_.begin(), pending_.end(),
                          [](const ApiDevice& device) { return address_of(device).has_value(); });
    each_pending(&Joiner::found);
    drop_transports();
    return std::move(joined_);
}

}  // namespace

std::size_t most_devices_of_a_driver(std::size_t hardware) {
    constexpr std::size_t kLeast = 16;  // lower bound, for machines whose hardware is hidden
    constexpr std::size_t kEach = 2;    // some drivers list a GPU's tiles next to the GPU
    return std::max(kLeast, kEach * hardware);
}

Joined join(const Machine& machine, const std::vector<const ProbeResult*>& probes) {
    return Joiner{machine, probes}.run();
}

}  // namespace gpuprobe::inline report
