// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/record.h"
#include "base/result.h"
#include "base/units.h"
#include "report/facts.h"
#include "report/machine.h"
#include "report/outcome.h"
#include "store/state_files.h"

namespace gpuprobe::store {

/// A fingerprint of the machine: cached probe results are valid as long as the fingerprint stays
/// the same. The fingerprint covers the version of gpuprobe, the kernel release, each device with
/// its driver, version, partitions and nodes, and the path, inode, size and modification time of
/// every file in `watched` (manifests, the dynamic linker's cache). A reboot does not change the
/// fingerprint.
std::string fingerprint_of(const Machine& machine,
                           const FileSystem& files,
                           const std::vector<std::string>& watched);

/// A fingerprint of one installed driver: the version of gpuprobe, the kernel release, each device
/// that the driver serves, the kernel drivers of these devices with their versions, and the
/// `watched` files as in fingerprint_of(). Nodes are left out, because nodes appear and disappear
/// while a machine boots.
std::string driver_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                  const std::optional<std::string>& kernel,
                                  const FileSystem& files,
                                  const std::vector<std::string>& watched);

/// A fingerprint for verifications and measurements, which are valid as long as the fingerprint
/// stays the same: driver_fingerprint_of() plus the devices' partitions. If there is no device, the
/// processor computes, and the fingerprint contains the model of the processor.
std::string trial_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                 const Host& host,
                                 const FileSystem& files,
                                 const std::vector<std::string>& watched);

/// The result of a verification or measurement. The result is valid as long as its device and
/// driver have this fingerprint, even if other parts of the machine change.
struct CachedTrial {
    std::string fingerprint = {};
    ProbeResult probe = {};
};

struct CachedProbes {
    /// results that all have the same fingerprint of the machine
    std::vector<ProbeResult> queries = {};
    std::vector<CachedTrial> trials = {};
};

/// The results of past probes, on disk. Only probe results, verifications and measurements are
/// cached; hardware and host are always read again.
class ProbeCache {
public:
    /// `path`: the file, whose folder must exist when the file is saved.
    explicit ProbeCache(std::string path);

    /// The cached results. If the file has another fingerprint, only the trials are returned,
    /// because each trial has its own fingerprint. Errors: NotFound; Malformed or TooLarge (such a
    /// file is ignored, never repaired); PermissionDenied for a file that another user owns or can
    /// write to.
    [[nodiscard]] Result<CachedProbes> load(std::string_view fingerprint) const;
    /// Replaces the file. Errors: Io, PermissionDenied. On an error, the old file is kept.
    Status save(std::string_view fingerprint, const CachedProbes& probes) const;

private:
    CheckedFile file_;
};

/// Identifies a probe of one driver as it is installed now.
struct ProbeKey {
    std::string api = {};
    std::string driver = {};  ///< path of the manifest, or "" for the API's only driver
    std::string stage = {};
    /// the device; only for the stages "verify" and "measure"
    std::optional<std::string> device = {};
    std::string fingerprint = {};  ///< a value that changes when the driver may have changed
    auto operator<=>(const ProbeKey&) const = default;
};
RECORD_MEMBERS(ProbeKey, api, driver, stage, device, fingerprint)

/// Selects entries. If both members are empty, all entries are selected.
struct QuarantineFilter {
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
};

/// Records in one file which probes are running. If the daemon or the machine goes down during a
/// probe, the next start does not repeat this probe.
///
/// A probe is written to the file before it starts (begin) and removed after it has ended (ended,
/// settle). A probe that is still in the file at the next start may have done harm. If the machine
/// has rebooted in the meantime, the probe may have crashed the machine; otherwise it may have
/// crashed the process that ran it.
///
/// If several probes are left in the file, any of them may be the cause; after a power failure,
/// none of them is. All these probes become suspects, which are then run one at a time. If only one
/// probe is left, it is assumed to be the cause.
///
/// Penalties grow with each harm until the driver answers. The first harm has no penalty, unless
/// the machine went down or the probe was a suspect before. After each later harm, the driver is
/// not probed for a longer time: 10 minutes, 1 hour, 6 hours, and then 24 hours. A driver with a
/// new fingerprint starts without a penalty.
///
/// Only the first process that opens the folder writes the file. Other processes respect the
/// entries in the file but write nothing, so that the probes of a running process are never
/// mistaken for probes that were left running.
class Quarantine {
public:
    /// if there are more entries, the oldest entry is replaced
    static constexpr std::size_t kMaxEntries = 256;
    static constexpr std::size_t kMaxRunning = 256;
    /// Harm that isn't repeated within this time is forgotten.
    static constexpr Duration kRemembers = std::chrono::hours{30 * 24};

    /// Without a folder, the quarantine lasts as long as this object. `clock` must outlive this
    /// object.
    Quarantine(const std::optional<std::string>& folder, const Clock& clock);
    /// Removes the running probes from the file, because after an orderly exit no probe has done
    /// harm.
    ~Quarantine();
    Quarantine(const Quarantine&) = delete;
    Quarantine& operator=(const Quarantine&) = delete;

    /// Reads the file and counts probes that were left running as harm. `boot`: the id of this
    /// boot, or "" if the id is unknown; in this case, a reboot is never assumed. A missing file
    /// means an empty quarantine. Errors: those of CheckedFile::load() except NotFound, and
    /// CheckedFile::save(). A file that can't be read has been set aside.
    Status open(std::string boot);

    /// Records on disk that these probes are about to run. Errors: those of CheckedFile::save(),
    /// and Io or PermissionDenied if the folder isn't writable. On an error, only this object has
    /// the record.
    Status begin(const std::vector<ProbeKey>& keys);
    /// Records that the probe has ended without crashing the daemon or the machine. The probe is no
    /// longer a suspect.
    void ended(const ProbeKey& key);
    /// Whether the probe must run alone, that is, while no other probe runs.
    [[nodiscard]] bool is_suspect(const ProbeKey& key) const { return suspects_.contains(key); }
    /// Records what went wrong in this probe. Returns whether the probe is held back from now on.
    bool strike(const ProbeKey& key, Harm why, std::optional<std::string> note);
    /// Records that the driver has answered. Earlier harm by this driver no longer counts.
    void pardon(const ProbeKey& key);
    /// Writes the file if anything has changed since the last write. Errors: those of
    /// CheckedFile::save().
    Status settle();

    /// Whether, according to the file, no probe has ended since the machine booted. False if the id
    /// of the boot is unknown.
    [[nodiscard]] bool is_cold() const { return is_cold_; }
    void warm_up() { is_cold_ = false; }

    /// The entry that holds this probe back, or null if the probe may run now. Valid until the next
    /// change.
    [[nodiscard]] const QuarantinedProbe* find(const ProbeKey& key) const;
    /// The probes that are held back now, regardless of their fingerprints, sorted by API and
    /// driver.
    [[nodiscard]] std::vector<QuarantinedProbe> held() const;
    /// Whether no probe is a suspect or held back, regardless of fingerprints.
    [[nodiscard]] bool is_clean() const { return suspects_.empty() && held().empty(); }
    /// Forgets the matching entries and returns how many of them were held back. Errors: those of
    /// CheckedFile::save(). On an error, nothing has changed.
    Result<std::uint32_t> clear(const QuarantineFilter& filter);

private:
    struct Entry {
        std::string fingerprint = {};
        std::uint32_t level = 0;  ///< how long the probe is held back: an index into kLengths
        QuarantinedProbe probe = {};
        /// when the penalty ends; monotonic, because the wall clock may be set
        MonotonicTime over = {};
        template <class Visitor>
        friend void describe(Visitor& visit, Entry& entry) {
            visit("fingerprint", entry.fingerprint);
            visit("level", entry.level);
            visit("probe", entry.probe);
        }
    };
    [[nodiscard]] bool holds(const Entry& entry) const;
    [[nodiscard]] Result<std::vector<ProbeKey>> read(Result<Value> loaded);
    void judge(const std::vector<ProbeKey>& left);
    void convict(const ProbeKey& key, Harm why);
    void drop_old();
    Status save();

    const Clock& clock_;
    std::optional<CheckedFile> file_ = {};
    UniqueFd lock_ = {};  ///< nothing is written without the lock
    /// why locking failed; empty if another process has the lock
    std::optional<Error> no_lock_ = {};
    std::string boot_ = {};
    bool is_cold_ = false;
    std::string left_boot_ = {};  ///< id of the boot in which the file was written
    std::vector<Entry> entries_ = {};
    std::set<ProbeKey> running_ = {};
    std::set<ProbeKey> written_ = {};  ///< the running probes that the file contains
    std::set<ProbeKey> suspects_ = {};
    bool is_changed_ = false;  ///< whether entries_ or suspects_ have changed since the last save
};

}  // namespace gpuprobe::store
