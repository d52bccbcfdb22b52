// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/record.h"
#include "explain/explain.h"
#include "policy/causes.h"
#include "report/report.h"

/// Why a GPU or an accelerator is not used: the causes of data/knowledge/causes, held against a
/// report. docs/doctor.md lists them.
namespace gpuprobe::inline explain {

/// One thing that keeps a GPU from being used, or could.
struct Finding {
    std::string id = {};  ///< stable; docs/doctor.md has them all
    Severity severity = Severity::Info;
    std::optional<std::string> gpu = {};      ///< the first of `gpus`; nullopt: of the machine
    std::vector<std::string> gpus = {};       ///< all that it is the same for; accelerators too
    Value evidence = Value{Value::Object{}};  ///< the facts it rests on; an object
    std::string sentence = {};                ///< one clause, without a capital and a full stop
    std::optional<std::string> fix = {};      ///< what helps at this place; absent: nothing
    std::vector<std::string> commands = {};   ///< those in `fix`, for a shell
    bool is_safe = false;                     ///< the commands may go into a script of fixes
    bool is_for_host = false;  ///< they are the host's, and this is a container or a sandbox
    bool operator==(const Finding&) const = default;
};
RECORD_MEMBERS(Finding, id, severity, gpu, gpus, evidence, sentence, fix, commands,
               ("safe", is_safe), ("on_host", is_for_host))

/// What no report holds: it belongs to the process that asks rather than to the machine, or says
/// nothing about a GPU by itself. A captured machine has none of it.
struct Surroundings {
    /// Variables that change which GPUs a program sees, by name (Causes::variables());
    /// others are not looked at.
    std::map<std::string, std::string> environment = {};
    std::vector<std::string> vulkan_layers = {};  ///< paths of implicit layers' manifests
    std::vector<std::string> cdi_specs = {};      ///< paths of the Container Device Interface's
    std::vector<std::string> cdi_drivers = {};    ///< versions of NVIDIA's driver that those name
    std::vector<std::string> programs = {};       ///< those of Causes::programs() that are there
    /// A daemon of this machine, or of the host, could be asked from here.
    std::optional<bool> has_door = {};
    std::optional<bool> has_wsl_libraries = {};  ///< /usr/lib/wsl/lib is there
    std::optional<bool> is_root = {};
    /// Groups of the account that this login does not have.
    std::vector<std::string> new_groups = {};
    /// It has none that /etc/group gives the account: they are its first ones, or a container has
    /// taken them away.
    std::optional<bool> has_no_group = {};
    /// When this is; nullopt where a report is as it was recorded, however old.
    std::optional<WallTime> at = {};
    /// Of SELinux or AppArmor, of this process: "system_u:system_r:container_t:s0:c1,c2".
    std::optional<std::string> security_label = {};
    /// Lines of the kernel's log about graphics drivers; none where it can't be read.
    std::vector<std::string> kernel_log = {};
};
RECORD_MEMBERS(Surroundings, environment, ("layers", vulkan_layers), ("cdi", cdi_specs),
               cdi_drivers, programs, ("door", has_door), ("wsl_libraries", has_wsl_libraries),
               new_groups, ("no_group", has_no_group), security_label, kernel_log)

/// What is wrong, that of the machine first, then by device in the report's order; equal findings
/// of several devices are one. Empty: nothing was found.
std::vector<Finding> examine(const Report& report, const Surroundings& surroundings);

/// What helps against a reason by the findings of its place, which has them; nullopt where none is
/// about it, nothing helps, or it is not clear which is meant.
std::optional<std::string> found_fix(const Reason& reason, const ReasonPlace& place);

/// What helps against a reason wherever it is told: the fix of the first cause that rests on it, as
/// far as that is known without a report; with findings, of one that no doctor finds. nullopt where
/// no cause does, or nothing helps.
std::optional<std::string> usual_fix(const Reason& reason, const ReasonPlace& place = {});

/// `[{"id", "severity", "gpus"}]` of those that are worth a warning, in their order: for programs
/// that count them.
Value summary_of(const std::vector<Finding>& findings);

/// The gravest of them; Ok without any.
Severity gravest(const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline explain
