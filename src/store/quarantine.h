// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/handle.h"
#include "base/record.h"
#include "base/result.h"
#include "report/quarantined.h"
#include "store/checked_file.h"

namespace gpuprobe::store {

/// One probe of one driver as it is installed now.
struct ProbeKey {
    std::string api = {};
    std::string driver = {};  ///< manifest, or "" for the API's only driver
    std::string stage = {};
    std::optional<std::string> device = {};  ///< for "verify" and "measure" only
    std::string fingerprint = {};            ///< changes when the driver may have changed
    auto operator<=>(const ProbeKey&) const = default;
};
RECORD_MEMBERS(ProbeKey, api, driver, stage, device, fingerprint)

/// Which entries are meant: all of them when both members are empty.
struct QuarantineFilter {
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
};

/// Remembers in one file which probes were running when something went down, so that the next start
/// does not repeat them.
///
/// A probe is written to disk before it starts (begin) and removed once it has ended (ended,
/// settle). One that is still there at the next start may have done harm: if the machine has
/// rebooted since, it may have taken the machine down, otherwise the process that ran it. Of
/// several nobody knows which, and a power cut leaves all of them: they are suspects, to be asked
/// one after the other. One that is there alone did it. Each harm makes the next penalty longer
/// until the driver answers. From the second harm on, which being a suspect counts as, and from the
/// first if the machine went down, the driver is held back for 10 minutes, then 1 hour, 6 hours and
/// 24 hours. A driver with another fingerprint starts afresh.
///
/// Only the first process that opens the folder writes. Others obey what they find and write
/// nothing, so that the probes of a running process are never mistaken for leftovers.
class Quarantine {
public:
    static constexpr std::size_t kMaxEntries = 256;  ///< a further one replaces the oldest
    static constexpr std::size_t kMaxRunning = 256;
    /// Harm that is not repeated within this time is forgotten.
    static constexpr Duration kRemembers = std::chrono::hours{30 * 24};

    /// Without a folder it lasts as long as this object. `clock` must outlive it.
    Quarantine(const std::optional<std::string>& folder, const Clock& clock);
    /// Removes the running probes from the file: an orderly exit means that none of them did harm.
    ~Quarantine();
    Quarantine(const Quarantine&) = delete;
    Quarantine& operator=(const Quarantine&) = delete;

    /// Reads the file and counts as harm what was left running. `boot`: the id of this boot, ""
    /// when it is not known; a reboot is then never assumed. Errors: those of CheckedFile::load()
    /// except NotFound, which means empty, and those of saving; a file that can't be read has been
    /// set aside.
    Status open(std::string boot);

    /// Records on disk that these are about to run. Errors: those of CheckedFile::save() and of a
    /// folder that can't be written; only this object knows of them then.
    Status begin(const std::vector<ProbeKey>& keys);
    /// It no longer runs, and whatever it did, it took nothing down.
    void ended(const ProbeKey& key);
    /// Whether it is to be asked while nothing else is.
    [[nodiscard]] bool is_suspect(const ProbeKey& key) const { return suspects_.contains(key); }
    /// It did harm. Returns whether it is held back from now on.
    bool strike(const ProbeKey& key, Harm why, std::optional<std::string> note);
    /// It answered, so its past harm is forgotten.
    void pardon(const ProbeKey& key);
    /// Writes what has changed since the last time. Errors: those of CheckedFile::save().
    Status settle();

    /// Whether no probe has ended since the machine booted, as far as this file tells; false when
    /// the boot is not known.
    [[nodiscard]] bool is_cold() const { return is_cold_; }
    void warm_up() { is_cold_ = false; }

    /// Null when it may run now. Valid until the next change.
    [[nodiscard]] const QuarantinedProbe* find(const ProbeKey& key) const;
    /// Those that are held back now, with any fingerprint, sorted by API and driver.
    [[nodiscard]] std::vector<QuarantinedProbe> held() const;
    /// Nothing is held back, whatever the fingerprint, and nothing suspect.
    [[nodiscard]] bool is_clean() const { return suspects_.empty() && held().empty(); }
    /// Forgets the matching entries and returns how many of them were held back. Errors: those of
    /// saving; nothing has changed then.
    Result<std::uint32_t> clear(const QuarantineFilter& filter);

private:
    struct Entry {
        std::string fingerprint = {};
        std::uint32_t level = 0;  ///< how long it is held back
        QuarantinedProbe probe = {};
        MonotonicTime over = {};  ///< monotonic because the wall clock may be set
        template <class Visitor>
        friend void describe(Visitor& visit, Entry& entry) {
            visit("fingerprint", entry.fingerprint);
            visit("level", entry.level);
            visit("probe", entry.probe);
        }
    };
    [[nodiscard]] bool holds(const Entry& entry) const;
    [[nodiscard]] Result<std::vector<ProbeKey>> load();
    void judge(const std::vector<ProbeKey>& left);
    void convict(const ProbeKey& key, Harm why);
    void drop_old();
    Status save();

    const Clock& clock_;
    std::optional<CheckedFile> file_ = {};
    UniqueFd lock_ = {};                 ///< nothing is written without it
    std::optional<Error> no_lock_ = {};  ///< why locking failed; not set if another process has it
    std::string boot_ = {};
    bool is_cold_ = false;
    std::string left_boot_ = {};  ///< the boot in which the file was written
    std::vector<Entry> entries_ = {};
    std::set<ProbeKey> running_ = {};
    std::set<ProbeKey> written_ = {};  ///< running_ as it is in the file
    std::set<ProbeKey> suspects_ = {};
    bool is_changed_ = false;  ///< entries_ or suspects_, since the last save
};

}  // namespace gpuprobe::store
