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

namespace gpuprobe {

/// One question to one driver as it is installed now.
struct ProbeKey {
    std::string api = {};
    std::string driver = {};  ///< manifest, or "" for the API's only driver
    std::string stage = {};
    std::optional<std::string> device = {};  ///< of "verify" and "measure": which
    std::string fingerprint = {};  ///< another text when the driver may have become another one
    auto operator<=>(const ProbeKey&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, ProbeKey& key) {
    visit("api", key.api);
    visit("driver", key.driver);
    visit("stage", key.stage);
    visit("device", key.device);
    visit("fingerprint", key.fingerprint);
}

/// Which entries are meant; without a word, all of them.
struct QuarantineFilter {
    std::optional<std::string> api = {};
    std::optional<std::string> driver = {};
};

/// What was being asked when something went down, kept in one file, so that the next start does not
/// do it again.
///
/// Before a driver is asked, that is on disk (begin), and when it has answered it is taken off
/// (ended, settle). What is still there at the next start did harm: in another boot it may have
/// taken the machine down, in the same one the process that asked. Harm adds up until the driver
/// answers; from the second time on, and at once where the machine went down, the driver is held
/// back for 10 minutes, then 1 hour, 6 hours and 24 hours (6 hours at least where the machine went
/// down). Another fingerprint is another driver.
///
/// Whoever opens the folder first writes; others honour what they find and leave no trace, so that
/// programs that run at the same time are not taken for each other's remains.
class Quarantine {
public:
    static constexpr std::size_t kMaxEntries = 256;  ///< the oldest gives way
    static constexpr std::size_t kMaxRunning = 256;
    /// Harm that was not repeated is forgotten after this.
    static constexpr Duration kRemembers = std::chrono::hours{30 * 24};

    /// Without a folder it lasts as long as this object. `clock` must outlive it.
    Quarantine(const std::optional<std::string>& folder, const Clock& clock);
    /// Takes off what runs: whoever ends in order was not brought down.
    ~Quarantine();
    Quarantine(const Quarantine&) = delete;
    Quarantine& operator=(const Quarantine&) = delete;

    /// Reads the file and judges what it says was running. `boot`: an id of this boot, "" when it
    /// is not known; another boot is then never assumed. Errors: as CheckedFile::load() but
    /// NotFound, which is an empty one, and those of saving; a file that can't be read has been set
    /// aside.
    Status open(std::string boot);

    /// These are about to be asked; on disk when it returns. Errors: those of CheckedFile::save()
    /// and of a folder in which nothing can be made; they are then known to this object alone.
    Status begin(const std::vector<ProbeKey>& keys);
    /// It is no longer being asked.
    void ended(const ProbeKey& key) { running_.erase(key); }
    /// Asking it did harm. Whether it is held back now.
    bool strike(const ProbeKey& key, Harm why, std::optional<std::string> note);
    /// It answered: what it did before is forgotten.
    void pardon(const ProbeKey& key);
    /// Writes what has changed since the last time. Errors: those of CheckedFile::save().
    Status settle();

    /// Whether no round has ended in this boot, as far as this file tells; false where the boot is
    /// not known.
    [[nodiscard]] bool is_cold() const { return is_cold_; }
    void warm_up() { is_cold_ = false; }

    /// Null when it may be asked now. Valid until the next change.
    [[nodiscard]] const QuarantinedProbe* find(const ProbeKey& key) const;
    /// The ones that are held back now, whatever their fingerprint; sorted by API and driver.
    [[nodiscard]] std::vector<QuarantinedProbe> held() const;
    /// Forgets those meant and says how many were held back. Errors: those of saving; nothing has
    /// changed then.
    Result<std::uint32_t> clear(const QuarantineFilter& filter);

private:
    struct Entry {
        std::string fingerprint = {};
        std::uint32_t level = 0;  ///< how long it is held back
        QuarantinedProbe probe = {};
        MonotonicTime over = {};  ///< the clock on the wall may be set
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
    void drop_old();
    Status save();

    const Clock& clock_;
    std::optional<CheckedFile> file_ = {};
    UniqueFd lock_ = {};                 ///< only with it anything is written
    std::optional<Error> no_lock_ = {};  ///< why there is none, where no other process has it
    std::string boot_ = {};
    bool is_cold_ = false;
    std::string left_boot_ = {};  ///< of what the file said was running
    std::vector<Entry> entries_ = {};
    std::set<ProbeKey> running_ = {};
    std::set<ProbeKey> written_ = {};  ///< running_ as the file has it
    bool is_changed_ = false;          ///< entries_, since the last save
};

}  // namespace gpuprobe
