// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "explain/screen.h"
#include "probe/launcher.h"
#include "probe/supervisor.h"
#include "report/report.h"
#include "watch/watcher.h"

namespace gpuprobe::inline cli {

/// The devices that a program used, and the doubts: reasons why the program may have used more
/// devices than were seen.
struct SeenUse {
    std::vector<watch::DeviceUse> devices = {};
    std::set<watch::Doubt> doubts = {};
    std::set<Api> loaded = {};  ///< the APIs whose library was loaded
};

/// The choice that a program was started with. If `backend` is "cpu" or "", no GPU was chosen.
struct ChosenUse {
    std::string backend = {};
    std::vector<std::string> gpus = {};  ///< ids of GPUs and partitions
};

/// Whether the program used only the chosen GPUs, through the chosen backend. nullopt if that
/// cannot be determined.
std::optional<bool> is_as_chosen(const SeenUse& seen,
                                 const ChosenUse& chosen,
                                 const Report& report);
/// Whether a GPU was used through the expected API or backend; if "cpu" is expected, whether no GPU
/// was used. nullopt if that cannot be determined.
std::optional<bool> is_as_expected(const SeenUse& seen,
                                   std::string_view word,
                                   const Report& report);
/// Whether the word is valid for --expect, that is, "cpu", a backend, or an API through which
/// programs compute.
bool is_expectable(std::string_view word);

/// Whether a valid word for --expect and a backend mean the same API, as "hip" and "rocm" do.
bool is_same_api(std::string_view word, std::string_view backend);

/// The devices as text, such as "NVIDIA H200, 18.2 GiB through CUDA". Several devices are joined
/// with "and".
std::string devices_text(const std::vector<watch::DeviceUse>& devices, const Report& report);
/// The outcome as text, which is "used …", "used no GPU, although cuda was chosen", or the reason
/// why it isn't known which devices were used.
std::string outcome_text(const SeenUse& seen, const ChosenUse& chosen, const Report& report);
/// The doubts as text, separated by semicolons.
std::string doubts_text(const std::set<watch::Doubt>& doubts);
/// The choice as text, such as "cuda on NVIDIA H200".
std::string chosen_text(const ChosenUse& chosen, const Report& report);

/// The devices as JSON: [{device, name, memory, apis, processes}].
Value devices_document(const std::vector<watch::DeviceUse>& devices, const Report& report);
/// The names of the APIs as a sorted JSON array.
Value apis_document(const std::set<Api>& apis);
/// The doubts as JSON: ["process-not-readable", …].
Value doubts_document(const std::set<watch::Doubt>& doubts);

/// Watches which devices a process and its descendants use until they end. The class searches forty
/// times a second at first, then ten times a second, and less often if each search uses
/// much CPU time. A worker queries NVML, but only while one of the processes has an NVIDIA device
/// open.
class DeviceWatch {
public:
    using Looked = std::function<void(const std::vector<watch::DeviceUse>&)>;

    /// Starts watching. `loop` and `report` must outlive this object. `looked` is called from the
    /// loop after each search. `root` and `mark` are passed to watch::Watcher.
    DeviceWatch(EventLoop& loop,
                const Arguments& arguments,
                const Report& report,
                pid_t root,
                std::string mark,
                Looked looked);

    [[nodiscard]] watch::Watcher& watcher() { return watcher_; }
    /// Whether NVML has answered, has failed too often, or isn't needed.
    [[nodiscard]] bool is_settled() const;
    /// Whether NVML is being queried. NVML's answer may be about a process that has ended in the
    /// meantime.
    [[nodiscard]] bool is_asking() const { return is_asking_; }
    /// Stops the search. The result of an NVML query in progress is still used.
    void stop();
    /// Whether a search began much later than planned, because the machine was busy.
    [[nodiscard]] bool was_late() const { return was_late_; }

private:
    void look();
    void note_delay(MonotonicTime now);
    void ask_nvml();

    EventLoop& loop_;
    const Arguments& arguments_;
    Looked looked_;
    RootedFiles files_ = RootedFiles{};
    SystemClock clock_ = {};
    watch::Watcher watcher_;
    MonotonicTime began_;
    // The time between two searches.
    Duration pause_;
    MonotonicTime planned_;  ///< the time at which the next search should begin
    bool was_late_ = false;
    std::unique_ptr<Launcher> launcher_ = {};
    std::unique_ptr<Supervisor> supervisor_ = {};
    bool is_asking_ = false;
    bool was_asked_ = false;
    // The number of NVML queries that failed in a row.
    int refusals_ = 0;
    MonotonicTime last_ask_ = {};
    MonotonicTime next_ask_ = {};
    // The time between two NVML queries.
    Duration ask_pause_;
    EventHandle timer_ = {};
};

}  // namespace gpuprobe::inline cli
