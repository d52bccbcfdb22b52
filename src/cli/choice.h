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
#include "policy/application_set.h"
#include "policy/decision.h"
#include "policy/environment.h"
#include "report/compute_view.h"
#include "report/report.h"

namespace gpuprobe::inline cli {

/// Whether `--installed` names a file or a folder, and not variants.
bool names_a_build(const Arguments& arguments);

/// Replaces a path in the member `variant` of the request with the properties of the files below
/// the path. This process reads the files, because the daemon may not be allowed to read them.
/// Errors: InvalidRequest if other members contain such properties; NotFound, PermissionDenied or
/// Io.
Status read_build(const Arguments& arguments, Value& request);

/// The GPU that the user means. A selector has one of the following forms, which are tried in this
/// order: the GPU's index in the list; its id, its PCI address in any spelling, or the path of one
/// of its nodes; the start of its id, PCI address or NVIDIA UUID; a part of its name. A part of a
/// name that consists of digits must have at least three digits. A selector that is only a start or
/// a part must match exactly one GPU.
///
/// Errors: UnknownDevice, listing the GPUs that exist, or the GPUs that the selector could mean.
Result<const Gpu*> pick_gpu(const Report& report, std::string_view selector);

/// Like pick_gpu(), but also accepts partitions of a divided GPU: by id, by a selector for the GPU
/// followed by a slash and the partition's name ("0/mig-1"), by UUID, or by the partition's own
/// node. The result is borrowed from the view.
Result<const Gpu*> pick_gpu(const ComputeView& view, std::string_view selector);
Result<const Gpu*> pick_gpu(ComputeView&& view, std::string_view selector) = delete;

/// Tries the forms of a selector in order, and returns all GPUs that match in the first form that
/// matches any GPU.
std::vector<const Gpu*> gpus_meant(const Report& report, std::string_view selector);
std::vector<const Gpu*> gpus_meant(const ComputeView& view, std::string_view selector);

/// The GPUs in one line, such as "pci:0000:01:00.0 (Card), …".
std::string gpu_listing(const std::vector<const Gpu*>& gpus);

/// Lines for a shell: variable assignments, and comments that show other ways to select the GPU.
struct EnvironmentLines {
    std::string settings = {};  ///< lines of the form "KEY=VALUE"
    std::string comments = {};  ///< lines of the form "# …"
};

/// The variables of environment_for() as assignments, and every other selector as a comment. All
/// lines together can be passed to eval.
EnvironmentLines environment_lines(const std::vector<GpuSelector>& selectors,
                                   const std::map<std::string, std::string>& settings);

/// The GPU's identity: PCI address, device nodes, UUIDs, index in each API, and selectors.
Value identity_card(const Gpu& gpu, const std::vector<GpuSelector>& selectors);

/// The decision as text: a line such as "cuda on NVIDIA H200 (pci:0000:00:06.0)", the environment
/// and the summary. The names of GPUs come from `report`; if `report` is null, the ids of the GPUs
/// are printed. This function is pure.
std::string decision_text(const Decision& decision, const Report* report, const Screen& screen);

/// One line that lists the facts that the answer assumes; "" if the answer assumes no facts. This
/// function is pure.
std::string assumed_text(const std::map<std::string, std::string>& assumed, const Screen& screen);

/// One line for each warning. This function is pure.
std::string warnings_text(const std::vector<Reason>& warnings, const Screen& screen);

/// The sign for a verdict, which is "✓", "✗" or "?" in color; on terminals without Unicode, "+",
/// "-" or "?". The sign is "?" for a candidate that is rejected only because of unknown facts. This
/// function is pure.
std::string verdict_sign(Verdict verdict, const std::vector<Reason>& reasons, const Screen& screen);

/// A line with a sentence for every candidate, then the fixes for the candidates and the warnings.
/// `place` contains the known facts about this machine. This function is pure.
std::string candidates_text(const Decision& decision,
                            const ReasonPlace& place,
                            const Screen& screen);

/// The section "What helps", with one line for each fix; "" if there are no fixes. This function is
/// pure.
std::string fixes_text(const std::vector<std::string>& fixes, const Screen& screen);

/// The additional answers of the profile, and the messages of the application; "" if there are
/// none. This function is pure.
std::string application_text(const Decision& decision, const Screen& screen);

/// The decision for select, env and run. The decision contains the candidates if `explains` is true
/// or if nothing matches. Errors: the same as for Client::select(). The error for an unknown
/// application suggests the most similar known name.
Result<Decision> choose(Context& context, bool explains = false);

/// The applications that the engine knows: from the knowledge base, and from the folders of
/// administrators and of --applications.
ApplicationSet known_applications(const Arguments& arguments);

/// The variables of this process that make the application use more GPUs than it does by default,
/// for instance integrated GPUs.
std::map<std::string, std::string> switches_here(const Arguments& arguments,
                                                 const std::string& application);

/// Whether the user requested that no GPU is used. If no GPU is used and the application has no
/// other backend, the application's environment hides all GPUs.
bool wants_no_gpu(const Arguments& arguments);

/// The ids of the GPUs that the user named, in the user's order; empty if the user named no GPU.
/// Errors: the same as for pick_gpu().
Result<std::vector<std::string>> gpu_ids(Context& context,
                                         const std::vector<std::string>& selectors);

/// Replaces the selectors in the request's `gpus` with ids. Errors: the same as for gpu_ids().
Status name_gpus_by_id(Context& context, Value& request);

/// Reports that no candidate matches: on standard error with the reason for each candidate, or as a
/// JSON document. Returns the exit code.
ExitCode report_no_match(const Context& context, const Decision& decision);

}  // namespace gpuprobe::inline cli
