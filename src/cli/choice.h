// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/context.h"
#include "explain/doctor.h"
#include "explain/screen.h"
#include "policy/decision.h"
#include "policy/environment.h"
#include "report/compute_view.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// The GPU that the user means. A selector is one of these, tried in this order: the GPU's index in
/// the list; its id, its PCI address in any spelling, or the path of one of its nodes; the start of
/// its id, PCI address or NVIDIA UUID; a part of its name. A part of a name that consists of digits
/// must have at least three digits. A start or a part must match exactly one GPU.
///
/// Errors: UnknownDevice, listing the GPUs that exist, or the GPUs that the selector could mean.
Result<const Gpu*> pick_gpu(const Report& report, std::string_view selector);

/// Like pick_gpu(), but also accepts partitions of a divided GPU: by id, by a selector for the GPU
/// followed by a slash and the partition's name ("0/mig-1"), by UUID, or by the partition's own
/// node. Borrows the view.
Result<const Gpu*> pick_gpu(const ComputeView& view, std::string_view selector);
Result<const Gpu*> pick_gpu(ComputeView&& view, std::string_view selector) = delete;

/// Tries the ways of naming a GPU in order, and returns all GPUs that match in the first way that
/// matches any GPU.
std::vector<const Gpu*> gpus_meant(const Report& report, std::string_view selector);
std::vector<const Gpu*> gpus_meant(const ComputeView& view, std::string_view selector);

/// "pci:0000:01:00.0 (Card), …".
std::string gpu_listing(const std::vector<const Gpu*>& gpus);

/// Text for a shell: assignments of variables, and comments that show other ways to select the GPU.
struct EnvironmentLines {
    std::string settings = {};  ///< "KEY=VALUE" lines
    std::string comments = {};  ///< "# …" lines
};

/// The variables of environment_for() as assignments, and every other selector as a comment. The
/// whole text can be passed to eval.
EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors,
                                   const std::map<std::string, std::string>& settings);

/// The GPU's identity: PCI address, device nodes, UUIDs, index in each API, and selectors.
Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors);

/// "cuda on NVIDIA H200 (pci:0000:00:06.0)", the environment and the summary. The names of GPUs
/// come from `report`; if `report` is null, the ids of the GPUs are printed. Pure.
std::string decision_text(const Decision& decision, const Report* report, const Screen& screen);

/// One line with the facts that the answer assumes; "" if the answer assumes none. Pure.
std::string assumed_text(const std::map<std::string, std::string>& assumed, const Screen& screen);

/// One line for each warning. Pure.
std::string warnings_text(const std::vector<Reason>& warnings, const Screen& screen);

/// "✓", "✗" or "?" in color; "+", "-" or "?" on terminals without Unicode. A candidate that is
/// rejected only because of unknown facts gets "?". Pure.
std::string verdict_sign(Verdict verdict, const std::vector<Reason>& reasons, const Screen& screen);

/// A line with a sentence for every candidate, then the fixes for the candidates and the warnings.
/// `place` contains what is known about this machine. Pure.
std::string candidates_text(const Decision& decision,
                            const ReasonPlace& place,
                            const Screen& screen);

/// The section "What helps", with one line for each fix; "" if there are no fixes. Pure.
std::string fixes_text(const std::vector<std::string>& fixes, const Screen& screen);

/// The additional answers of the profile, and the messages of the application; "" if there are
/// none. Pure.
std::string application_text(const Decision& decision, const Screen& screen);

/// The decision for select, env and run. It contains the candidates if `explains` is true or if
/// nothing matches. Errors: as Client::select(). The error for an unknown application suggests the
/// most similar known name.
Result<Decision> choose(Context& context, bool explains = false);

/// The variables of this process that make the application use more GPUs than it does by default
/// (for instance integrated ones).
std::map<std::string, std::string> switches_here(const std::string& application);

/// Whether the user requested no GPU. If the application has no other backend, its environment then
/// hides all GPUs.
bool wants_no_gpu(const Arguments& arguments);

/// The ids of the GPUs that the user named, in that order; empty without names. Errors: as
/// pick_gpu().
Result<std::vector<std::string>> gpu_ids(Context& context,
                                         const std::vector<std::string>& selectors);

/// Replaces the selectors in the request's `gpus` with ids. Errors: as gpu_ids().
Status name_gpus_by_id(Context& context, Value& request);

/// Reports that no candidate matches: on standard error with the reason for each candidate, or as a
/// JSON document. Returns the exit code.
ExitCode report_no_match(const Context& context, const Decision& decision);

}  // namespace gpuprobe::inline cli
