// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/units.h"
#include "explain/explain.h"
#include "policy/causes.h"
#include "report/report.h"

/// Finds out why a GPU or an accelerator can't be used, by evaluating the causes of
/// data/knowledge/causes on a report. docs/doctor.md lists the causes.

namespace gpuprobe::inline explain {

/// A problem that keeps a GPU from being used, or could.
struct Finding {
    std::string id = {};  ///< the cause's stable id; docs/doctor.md lists all
    Severity severity = Severity::Info;
    std::optional<std::string> gpu = {};  ///< the first of `gpus`; null: about the machine
    std::vector<std::string> gpus = {};   ///< ids of all GPUs and accelerators with this finding
    Value evidence = Value{Value::Object{}};  ///< the facts that it is based on; an object
    std::string sentence = {};                ///< one clause, without a capital and a full stop
    std::optional<std::string> fix = {};      ///< the fix for this place; absent: nothing helps
    std::vector<std::string> commands = {};   ///< the commands in `fix`, for a shell
    bool is_safe = false;                     ///< the commands may be put into a script of fixes
    bool is_for_host = false;  ///< run the commands on the host, not in this container or sandbox
    bool operator==(const Finding&) const = default;
};
RECORD_MEMBERS(Finding,
               id,
               severity,
               gpu,
               gpus,
               evidence,
               sentence,
               fix,
               commands,
               ("safe", is_safe),
               ("on_host", is_for_host))

/// Facts that reports don't contain, because they are about the calling process instead of the
/// machine, or have nothing to do with GPUs by themselves. A captured machine has none of them.
struct Surroundings {
    /// Environment variables that change which GPUs a program sees, by name (Causes::variables());
    /// others are never read.
    std::map<std::string, std::string> environment = {};
    std::vector<std::string> vulkan_layers = {};  ///< manifests of implicit layers, as paths
    std::vector<std::string> cdi_specs = {};  ///< specs of the Container Device Interface, as paths
    std::vector<std::string> cdi_drivers = {};  ///< versions of NVIDIA's driver in those specs
    std::vector<std::string> programs = {};     ///< the installed ones of Causes::programs()
    /// A daemon of this machine or of the host can be reached from here.
    std::optional<bool> reaches_daemon = {};
    std::optional<bool> has_wsl_libraries = {};  ///< /usr/lib/wsl/lib exists
    std::optional<bool> is_root = {};
    /// Groups of the account that this login session does not have yet.
    std::vector<std::string> new_groups = {};
    /// The process has none of the groups that /etc/group lists for the account: they were added
    /// after login as the account's first groups, or a container has removed them.
    std::optional<bool> has_no_group = {};
    /// The current time; nullopt if the report is evaluated as recorded, regardless of its age.
    std::optional<WallTime> at = {};
    /// The process's label of SELinux or AppArmor: "system_u:system_r:container_t:s0:c1,c2".
    std::optional<std::string> security_label = {};
    /// How much memory the process may lock (RLIMIT_MEMLOCK); nullopt if there is no limit.
    std::optional<Bytes> memlock = {};
    /// Lines of the kernel log about graphics drivers; empty if it can't be read.
    std::vector<std::string> kernel_log = {};
};
RECORD_MEMBERS(Surroundings,
               environment,
               ("layers", vulkan_layers),
               ("cdi", cdi_specs),
               cdi_drivers,
               programs,
               ("daemon", reaches_daemon),
               ("wsl_libraries", has_wsl_libraries),
               ("root", is_root),
               new_groups,
               ("no_group", has_no_group),
               security_label,
               memlock,
               kernel_log)

/// All findings: first about the machine, then by device in the report's order. Equal findings of
/// several devices are joined. Empty if no problem was found.
std::vector<Finding> examine(const Report& report, const Surroundings& surroundings);

/// The fix for a reason according to the findings in `place`, which must be set. nullopt if no
/// finding is about the reason, if nothing helps, or if several findings with different fixes
/// match.
std::optional<Fix> found_fix(const Reason& reason, const ReasonPlace& place);

/// The usual fix for a reason: the fix of the first cause that is based on it, as far as it is
/// known without a report. If `place` has findings, only causes of kind kOfAReason count, which the
/// doctor does not look for. nullopt without such a cause, or if nothing helps.
std::optional<Fix> usual_fix(const Reason& reason, const ReasonPlace& place = {});

/// `[{"id", "severity", "gpus"}]` for the findings that are at least warnings, in their order: for
/// programs that count findings.
Value summary_of(const std::vector<Finding>& findings);

/// The highest severity of the findings; Ok for an empty list.
Severity gravest(const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline explain
