// SPDX-License-Identifier: Apache-2.0
#include "report/memory.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/gpu_views.h"
#include "report/identity.h"
#include "report/kind.h"
#include "report/partition.h"

namespace gpuprobe::inline report {
namespace {

/// A reading with its source and the time when it was made.
struct Sample {
    MemoryReading reading = {};
    bool is_kernel = false;
    std::optional<WallTime> at = {};
};

/// Name that Samples::from() accepts for all kernel sources together.
constexpr std::string_view kKernel = "kernel";

/// Limits the size to kMaxGpuMemory before multiplying, so that the product does not overflow.
Bytes times(Bytes bytes, std::uint64_t factor) {
    return Bytes{std::min(bytes.count, kMaxGpuMemory.count) * factor};
}

bool is_plausible(Bytes bytes) {
    return bytes.count > 0 && bytes <= kMaxGpuMemory;
}

/// The largest plausible size on the machine.
Bytes limit_on(const Host& host) {
    if (!host.memory.total || host.memory.total->count == 0)
        return kMaxGpuMemory;
    return std::min(kMaxGpuMemory, times(*host.memory.total, kMaxTimesHost));
}

bool comes_from(const Sample& sample, std::string_view source) {
    return source == kKernel ? sample.is_kernel
                             : !sample.is_kernel && sample.reading.source == source;
}

/// All readings of one GPU's memory, from the kernel and the APIs, with the limits for using them.
class Samples {
public:
    Samples(const Subject& subject, const Host& host, WallTime now);
    [[nodiscard]] std::optional<Sample> from(std::string_view source, std::string_view what) const;
    /// The sample from the most trusted API.
    [[nodiscard]] std::optional<Sample> first(std::uint8_t ApiTrust::*trust,
                                              std::string_view what) const;
    /// The kernel's sample, or else the sample from the most trusted API.
    [[nodiscard]] std::optional<Sample> kernel_or(std::uint8_t ApiTrust::*trust,
                                                  std::string_view what) const;
    [[nodiscard]] std::optional<Bytes> kernel(std::string_view what) const;
    /// The memory that the firmware reserved; KFD's memory banks do not count.
    [[nodiscard]] std::optional<Bytes> carve_out() const;
    [[nodiscard]] const std::vector<Sample>& all() const { return samples_; }
    [[nodiscard]] std::vector<MemoryReading> evidence() const;
    /// Rejects drivers' readings that far exceed the kernel's value.
    void limit_by_kernel();
    /// A finding for each reading above its limit.
    [[nodiscard]] std::vector<Reason> implausible() const;
    void add(std::string source, std::string what, std::optional<Bytes> bytes, WallTime at);

    [[nodiscard]] bool is_usable(const Sample& sample) const;

private:
    void add_claim(const ApiDevice& device);
    [[nodiscard]] Bytes limit_of(const Sample& sample) const {
        return sample.is_kernel ? limit_ : limit_of_drivers_;
    }
    std::vector<Sample> samples_ = {};
    Bytes limit_ = {};
    Bytes limit_of_drivers_ = {};
};

Samples::Samples(const Subject& subject, const Host& host, WallTime now)
    : limit_{limit_on(host)}, limit_of_drivers_{limit_} {
    if (subject.hardware)
        for (const auto& reading : subject.hardware->memory)
            samples_.push_back({.reading = reading, .is_kernel = true, .at = now});
    // On a partitioned GPU, compute APIs show one partition and not the memory on the board.
    const bool shows_partitions = is_divided(subject);
    for (const auto& claim : subject.claims)
        if (!shows_partitions || !computes(claim.device.probe->api))
            add_claim(claim.device);
}

void Samples::add(std::string source, std::string what, std::optional<Bytes> bytes, WallTime at) {
    if (bytes)
        samples_.push_back({.reading = {std::move(source), std::move(what), *bytes}, .at = at});
}

void Samples::add_claim(const ApiDevice& device) {
    const auto& api = device.probe->api;
    const auto& memory = device.facts->memory;
    const auto add_one = [&](const char* what, std::optional<Bytes> bytes) {
        if (bytes)
            samples_.push_back({.reading = {api, what, *bytes}, .at = device.probe->at});
    };
    if (memory) {
        add_one("total", memory->total);
        add_one("free", memory->free);
    }
    if (const auto reserved = fact(*device.facts, facts::kMemoryReserved))
        add_one("reserved", *reserved);
}

void Samples::limit_by_kernel() {
    if (const auto total = kernel("total"))
        limit_of_drivers_ = std::min(limit_, times(*total, kMaxTimesKernel));
}

std::vector<Reason> Samples::implausible() const {
    std::vector<Reason> findings;
    for (const auto& sample : samples_) {
        const auto limit = limit_of(sample);
        if (sample.reading.bytes > limit && sample.reading.source != "meminfo")
            findings.push_back(because("implausible", {{"source", sample.reading.source},
                                                       {"what", sample.reading.what},
                                                       {"bytes", to_value(sample.reading.bytes)},
                                                       {"limit", to_value(limit)}}));
    }
    return findings;
}

/// Whether a reading can be used. A free size must not exceed the total from the same source. The
/// free size may be zero, because a GPU can be full.
bool Samples::is_usable(const Sample& sample) const {
    if (sample.reading.bytes > limit_of(sample))
        return false;
    if (sample.reading.what.ends_with("used"))
        return true;
    if (sample.reading.what != "free")
        return sample.reading.bytes.count > 0;
    std::optional<Bytes> total;
    for (const auto& other : samples_)
        if (other.reading.source == sample.reading.source && other.reading.what == "total")
            total = std::max(total.value_or(Bytes{}), other.reading.bytes);
    return !total || sample.reading.bytes <= *total;
}

/// The first usable sample from a source. BARs are only evidence.
std::optional<Sample> Samples::from(std::string_view source, std::string_view what) const {
    for (const auto& sample : samples_)
        if (comes_from(sample, source) && sample.reading.what == what &&
            sample.reading.source != "pci-bar" && is_usable(sample))
            return sample;
    return std::nullopt;
}

std::optional<Sample> Samples::first(std::uint8_t ApiTrust::*trust, std::string_view what) const {
    for (const auto* api : by_trust(trust))
        if (auto sample = from(api->word, what))
            return sample;
    return std::nullopt;
}

std::optional<Sample> Samples::kernel_or(std::uint8_t ApiTrust::*trust,
                                         std::string_view what) const {
    auto sample = from(kKernel, what);
    return sample ? sample : first(trust, what);
}

std::optional<Bytes> Samples::kernel(std::string_view what) const {
    const auto sample = from(kKernel, what);
    return sample ? std::optional{sample->reading.bytes} : std::nullopt;
}

std::optional<Bytes> Samples::carve_out() const {
    const auto sample = from(kKernel, "total");
    const bool is_set_aside = sample && sample->reading.source != "kfd";
    return is_set_aside ? std::optional{sample->reading.bytes} : std::nullopt;
}

std::vector<MemoryReading> Samples::evidence() const {
    std::vector<MemoryReading> readings;
    for (const auto& sample : samples_)
        readings.push_back(sample.reading);
    return readings;
}

/// The total minus the used size; nullopt if a size is unknown or the used size exceeds the total.
std::optional<Bytes> less(std::optional<Bytes> total, std::optional<Bytes> used) {
    if (!total || !used || *used > *total)
        return std::nullopt;
    return Bytes{total->count - used->count};
}

Bytes sum(Bytes left, Bytes right) {
    return Bytes{left.count + right.count};
}

/// Adds a free size if the kernel reports only how much memory is used.
void derive_kernel_free(Samples& samples, const Subject& subject, WallTime now) {
    if (!subject.hardware || samples.kernel("free"))
        return;
    if (const auto free = less(samples.kernel("total"), samples.kernel("used")))
        samples.add("kernel-derived", "free", free, now);
}

Reason mismatch(const MemoryReading& kept, const MemoryReading& other) {
    return because("memory-mismatch", {{"kept", to_value(kept)}, {"other", to_value(other)}});
}

/// A finding for each usable total that differs too much from the chosen total.
std::vector<Reason> mismatches(const Samples& samples, const MemoryReading& kept) {
    std::vector<Reason> findings;
    for (const auto& sample : samples.all()) {
        const auto& other = sample.reading;
        const bool counts =
            other.what == "total" && other.source != "pci-bar" && samples.is_usable(sample);
        if (counts && !similar_sizes(kept.bytes, other.bytes))
            findings.push_back(mismatch(kept, other));
    }
    return findings;
}

/// The memory available to a process: CUDA's total, or else NVML's total minus the reserved memory,
/// or else the total from the most trusted API.
std::optional<Bytes> dedicated_allocatable(const Samples& samples) {
    constexpr auto kCuda = info_of(Api::Cuda).word;
    constexpr auto kNvml = info_of(Api::Nvml).word;
    if (const auto cuda = samples.from(kCuda, "total"))
        return cuda->reading.bytes;
    const auto total = samples.from(kNvml, "total");
    const auto reserved = samples.from(kNvml, "reserved");
    if (total && reserved)
        if (const auto left = less(total->reading.bytes, reserved->reading.bytes))
            return left;
    const auto api = samples.first(&ApiTrust::allocatable, "total");
    return api ? std::optional{api->reading.bytes} : std::nullopt;
}

void set_free(GpuMemory& memory, const std::optional<Sample>& sample) {
    if (!sample)
        return;
    memory.free = sample->reading.bytes;
    memory.free_at = sample->at;
}

MemoryFindings dedicated(Samples& samples) {
    MemoryFindings result;
    samples.limit_by_kernel();
    if (const auto physical = samples.kernel_or(&ApiTrust::physical, "total")) {
        result.memory.physical = physical->reading.bytes;
        result.findings = mismatches(samples, physical->reading);
    }
    result.memory.allocatable = dedicated_allocatable(samples);
    // The kernel's free size is preferred to the free sizes from NVML and other APIs.
    auto free = samples.from("kernel-derived", "free");
    set_free(result.memory, free ? free : samples.kernel_or(&ApiTrust::free, "free"));
    return result;
}

/// The memory of an AMD APU: the carve-out plus the GTT.
MemoryFindings carveout(const Samples& samples, const Host& host, WallTime now) {
    MemoryFindings result;
    const auto carved = samples.carve_out();
    const auto gtt = samples.kernel("gtt-total");
    result.memory.physical = carved;
    if (carved && gtt)
        result.memory.allocatable = sum(*carved, *gtt);
    else if (const auto api = samples.first(&ApiTrust::shared, "total"))
        result.memory.allocatable = api->reading.bytes;
    const auto carved_free = less(carved, samples.kernel("used"));
    const auto gtt_free = less(gtt, samples.kernel("gtt-used"));
    if (!carved_free || !gtt_free)
        return result;
    // The GTT is host memory, so its free part cannot exceed the host's available memory.
    const auto shared =
        host.memory.available ? std::min(*gtt_free, *host.memory.available) : *gtt_free;
    result.memory.free = sum(*carved_free, shared);
    result.memory.free_at = now;
    return result;
}

/// The memory of a GPU that uses only the host's memory.
MemoryFindings unified(const Samples& samples, bool is_intel, const Host& host, WallTime now) {
    MemoryFindings result;
    if (const auto api = samples.first(&ApiTrust::shared, "total"))
        result.memory.allocatable = api->reading.bytes;
    if (host.memory.available) {
        const auto available = host.memory.available->count;
        result.memory.free = Bytes{is_intel ? available / 10 * 9 : available};
        result.memory.free_at = now;
        return result;
    }
    set_free(result.memory, samples.kernel_or(&ApiTrust::free, "free"));
    return result;
}

Reason mismatch(const Partition& partition, const ApiDevice& device) {
    const MemoryReading kept{
        .source = partition.name, .what = "total", .bytes = *partition.memory->total};
    const MemoryReading other{
        .source = device.probe->api, .what = "total", .bytes = *device.facts->memory->total};
    return mismatch(kept, other);
}

/// Adds a finding for each API whose reported partition size contradicts the known size.
void compare_partitions(const Subject& subject,
                        const std::vector<Partition>& partitions,
                        std::vector<Reason>& findings) {
    for (const auto& claim : subject.claims) {
        const auto& facts = *claim.device.facts;
        if (!facts.memory || !facts.memory->total || !is_plausible(*facts.memory->total))
            continue;
        const auto partition = std::ranges::find_if(partitions, [&](const Partition& one) {
            const auto place = one.indices.find(claim.device.probe->api);
            return place != one.indices.end() && place->second == facts.index;
        });
        if (partition != partitions.end() && partition->memory && partition->memory->total &&
            !similar_sizes(*partition->memory->total, *facts.memory->total))
            findings.push_back(mismatch(*partition, claim.device));
    }
}

/// The free memory of all partitions together; nullopt if a partition's free memory is unknown.
/// Compute instances of one GPU instance share its memory. Partitions also share memory if the sum
/// of their totals exceeds the card's memory.
std::optional<Bytes> free_in(const std::vector<Partition>& partitions,
                             std::optional<Bytes> physical) {
    Bytes total, free, largest;
    std::set<std::uint32_t> counted;
    for (const auto& partition : partitions) {
        if (!partition.memory || !partition.memory->total || !partition.memory->free)
            return std::nullopt;
        if (partition.gpu_instance && !counted.insert(*partition.gpu_instance).second)
            continue;
        total = sum(total, *partition.memory->total);
        free = sum(free, *partition.memory->free);
        largest = std::max(largest, *partition.memory->free);
    }
    if (total.count == 0)
        return std::nullopt;
    return physical && total > *physical ? largest : free;
}

/// Limits `allocatable` to the largest partition, because a program gets only one partition. `free`
/// is the free memory of all partitions together or, if it is unknown for a partition, the free
/// memory of the card.
void sum_up_partitions(const Subject& subject, MemoryFindings& result) {
    auto partitions = partitions_of(subject);
    std::erase_if(partitions, [](const Partition& one) { return !is_usable(one); });
    std::optional<Bytes> largest;
    for (const auto& partition : partitions)
        if (partition.memory)
            largest = std::max(largest, partition.memory->total);
    result.memory.allocatable = largest;
    if (const auto free = free_in(partitions, result.memory.physical))
        result.memory.free = free;
    compare_partitions(subject, partitions, result.findings);
}

/// Whether the GPU is in MIG mode. Without an instance, programs cannot use the GPU's memory.
bool is_out_of_use(const Subject& subject) {
    const auto* claim = preferred_claim(subject, info_of(Api::Nvml).word);
    return claim && fact(*claim->device.facts, facts::kMigMode) == true;
}

/// Enforces free ≤ allocatable ≤ physical, because sources may differ by reserved memory or may
/// have been read at different times. `physical` does not limit a carve-out. If the GPU is divided,
/// `allocatable` is the size of one partition and does not limit `free`.
void enforce_order(GpuMemory& memory, bool is_divided) {
    const auto on_board =
        memory.kind == MemoryKind::Carveout ? std::optional<Bytes>{} : memory.physical;
    if (memory.allocatable && on_board)
        memory.allocatable = std::min(*memory.allocatable, *on_board);
    const auto limit = memory.allocatable && !is_divided ? memory.allocatable : on_board;
    if (memory.free && limit)
        memory.free = std::min(*memory.free, *limit);
}

void add_host_readings(Samples& samples, const Host& host, WallTime now) {
    samples.add("meminfo", "host-total", host.memory.total, now);
    samples.add("meminfo", "host-available", host.memory.available, now);
}

/// AMD APUs have a carve-out, unless processor and GPU share all memory (MI300A).
MemoryFindings integrated(Samples& samples,
                          const Subject& subject,
                          const Host& host,
                          WallTime now) {
    const auto vendor = vendor_of(subject);
    const bool has_carveout =
        vendor == "amd" && !(subject.hardware && shares_all_memory(*subject.hardware));
    add_host_readings(samples, host, now);
    auto result = has_carveout ? carveout(samples, host, now)
                               : unified(samples, vendor == "intel", host, now);
    result.memory.kind = has_carveout ? MemoryKind::Carveout : MemoryKind::Unified;
    return result;
}

}  // namespace

std::optional<Bytes> reading_of(const HardwareDevice& hardware,
                                std::string_view source,
                                std::string_view what) {
    for (const auto& reading : hardware.memory)
        if (reading.source == source && reading.what == what && is_plausible(reading.bytes))
            return reading.bytes;
    return std::nullopt;
}

MemoryFindings memory_of(const Subject& subject, GpuKind kind, const Host& host, WallTime now) {
    Samples samples{subject, host, now};
    const auto evidence = samples.evidence();
    if (kind == GpuKind::DisplayOnly)
        return {.memory = {.evidence = evidence}};
    MemoryFindings result;
    if (kind == GpuKind::Integrated) {
        result = integrated(samples, subject, host, now);
    } else {
        derive_kernel_free(samples, subject, now);
        result = dedicated(samples);
        if (is_divided(subject) || is_out_of_use(subject))
            sum_up_partitions(subject, result);
        if (kind == GpuKind::Discrete || (kind != GpuKind::Unknown && result.memory.physical))
            result.memory.kind = MemoryKind::Dedicated;
    }
    enforce_order(result.memory, is_divided(subject));
    std::ranges::move(samples.implausible(), std::back_inserter(result.findings));
    result.memory.evidence = kind == GpuKind::Integrated ? samples.evidence() : evidence;
    return result;
}

}  // namespace gpuprobe::inline report
