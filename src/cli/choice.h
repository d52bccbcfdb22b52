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
/// its id, PCI address or NVIDIA UUID; a part of its name. A name's part that is a number needs
/// more than two digits. The last two must fit only one GPU.
///
/// Errors: UnknownDevice, listing the GPUs that exist, or the GPUs that the selector could mean.
Result<const Gpu*> pick_gpu(const Report& report, std::string_view selector);

/// The same, and also partitions of a divided GPU: by id, by a selector for the GPU followed by a
/// slash and the partition's name ("0/mig-1"), by UUID, or by the partition's own node. Borrows the
/// view.
Result<const Gpu*> pick_gpu(const ComputeView& view, std::string_view selector);
Result<const Gpu*> pick_gpu(ComputeView&& view, std::string_view selector) = delete;

/// All GPUs that match in the first of these ways that any GPU matches.
std::vector<const Gpu*> gpus_meant(const Report& report, std::string_view selector);
std::vector<const Gpu*> gpus_meant(const ComputeView& view, std::string_view selector);

/// "pci:0000:01:00.0 (Card), …".
std::string gpu_listing(const std::vector<const Gpu*>& gpus);

/// Text for a shell: variables to set, and comments with the other ways to select the GPU.
struct EnvironmentLines {
    std::string settings = {};  ///< "KEY=VALUE" lines
    std::string comments = {};  ///< "# …" lines
};

/// The variables of environment_for() as assignments, and every other selector as a comment, so
/// that the whole text can be passed to eval.
EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors,
                                   const std::map<std::string, std::string>& settings);

/// The GPU's identity: PCI address, device nodes, UUIDs, index in each API, and selectors.
Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors);

/// "cuda on NVIDIA H200 (pci:0000:00:06.0)", the environment and the summary. `report` is used for
/// the names of GPUs; without it (null) their ids are printed. Pure.
std::string decision_text(const Decision& decision, const Report* report, const Screen& screen);

/// The facts that the answer assumes, in one line; "" without any. Pure.
std::string assumed_text(const std::map<std::string, std::string>& assumed, const Screen& screen);

/// One line for each warning. Pure.
std::string warnings_text(const std::vector<Reason>& warnings, const Screen& screen);

/// "✓", "✗" or "?" in its color; "+", "-" or "?" on terminals without Unicode. A rejection for
/// unknown facts only is "?". Pure.
std::string verdict_sign(Verdict verdict, const std::vector<Reason>& reasons, const Screen& screen);

/// Every candidate with a sentence, then the fixes for the candidates and the warnings. `place`
/// describes this machine as far as it is known. Pure.
std::string candidates_text(const Decision& decision,
                            const ReasonPlace& place,
                            const Screen& screen);

/// The section "What helps" with a line for each fix; "" without fixes. Pure.
std::string fixes_text(const std::vector<std::string>& fixes, const Screen& screen);

/// The profile's further answers and the application's own messages; "" without either. Pure.
std::string application_text(const Decision& decision, const Screen& screen);

/// The decision for select, env and run. It contains the candidates if `explains` is true or if
/// nothing matches. Errors: as Client::select(); for an unknown application, with the closest known
/// name.
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

/// Reports that nothing matches: with each candidate's reason on standard error, or as a JSON
/// document. Returns the exit code.
ExitCode report_no_match(const Context& context, const Decision& decision);

}  // namespace gpuprobe::inline cli
