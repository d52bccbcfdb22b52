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

/// Finds out why programs cannot use a GPU or an accelerator, by evaluating the causes in
/// data/knowledge/causes on a report. docs/doctor.md lists the causes.

namespace gpuprobe::inline explain {

/// A problem that prevents, or could prevent, programs from using a GPU.
struct Finding {
    std::string id = {};  ///< stable id of the cause; docs/doctor.md lists all ids
    Severity severity = Severity::Info;
    /// The first id in `gpus`; null if the finding is about the whole machine.
    std::optional<std::string> gpu = {};
    std::vector<std::string> gpus = {};  ///< ids of all GPUs and accelerators with this finding
    Value evidence = Value{Value::Object{}};  ///< the facts that the finding is based on; an object
    /// A description of the problem: one clause, without a capital letter at the beginning or a
    /// full stop at the end.
    std::string sentence = {};
    std::optional<std::string> fix = {};     ///< the fix for this machine; null if there is no fix
    std::vector<std::string> commands = {};  ///< the shell commands in `fix`
    bool is_safe = false;                    ///< whether a script of fixes may contain the commands
    /// Whether the commands must be run on the host instead of in this container or sandbox.
    bool is_for_host = false;
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

/// Facts that reports do not contain, because these facts are about the calling process instead of
/// the machine, or aren't directly about GPUs. A captured machine has these facts only if the
/// capture contains them.
struct Surroundings {
    /// Environment variables that change which GPUs a program sees, by name (Causes::variables()).
    /// Other variables are never read.
    std::map<std::string, std::string> environment = {};
    std::vector<std::string> vulkan_layers = {};  ///< manifest paths of implicit Vulkan layers
    std::vector<std::string> cdi_specs = {};      ///< paths of the CDI specifications
    /// The versions of NVIDIA's driver that are mentioned in the CDI specifications.
    std::vector<std::string> cdi_drivers = {};
    /// The programs in Causes::programs() that are installed.
    std::vector<std::string> programs = {};
    /// Whether this process can reach a daemon on this machine or on the host.
    std::optional<bool> reaches_daemon = {};
    std::optional<bool> has_wsl_libraries = {};  ///< whether /usr/lib/wsl/lib exists
    std::optional<bool> is_root = {};
    /// The groups of the account that this login session does not have yet.
    std::vector<std::string> new_groups = {};
    /// Whether the process has none of the groups that /etc/group lists for the account. Either the
    /// account got its first groups after the login, or a container removed the groups from the
    /// process.
    std::optional<bool> has_no_group = {};
    /// The current time; nullopt if the report is evaluated as of the time when it was recorded,
    /// regardless of its age.
    std::optional<WallTime> at = {};
    /// The SELinux or AppArmor label of the process, such as
    /// "system_u:system_r:container_t:s0:c1,c2".
    std::optional<std::string> security_label = {};
    /// How much memory the process may lock (RLIMIT_MEMLOCK); nullopt if there is no limit.
    std::optional<Bytes> memlock = {};
    /// The lines of the kernel log that are about graphics drivers; empty if the log cannot be
    /// read.
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

/// All findings: first the findings about the machine, then the findings about each device, in the
/// report's order. Equal findings about several devices are joined. The list is empty if no problem
/// was found.
std::vector<Finding> examine(const Report& report, const Surroundings& surroundings);

/// The fix for a reason according to the findings in `place`, which must be set; nullopt if no
/// finding matches the reason, if there is no fix, or if findings with different fixes match.
std::optional<Fix> found_fix(const Reason& reason, const ReasonPlace& place);

/// The usual fix for a reason: the fix of the first cause that is based on the reason, as far as
/// that fix is known without a report. If `place` has findings, only causes of the kind kOfAReason
/// count, because the doctor does not look for these causes. The result is nullopt if there is no
/// such cause, or if the cause has no fix.
std::optional<Fix> usual_fix(const Reason& reason, const ReasonPlace& place = {});

/// A list with an object {"id", "severity", "gpus"} for each finding that is a warning or an error,
/// in the order of the findings. Programs use this list to count findings.
Value summary_of(const std::vector<Finding>& findings);

/// The highest severity of the findings; Ok if the list is empty.
Severity gravest(const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline explain
