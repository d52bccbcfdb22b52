// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "explain/doctor.h"
#include "policy/decision.h"
#include "report/report.h"
#include "service/gpu_properties.h"
#include "wire/dictionary.h"

/// The answers of D-Bus methods, encoded as dictionaries. Keys and types: dbus/*.xml.
namespace gpuprobe::inline service {

/// Maps a GPU's id to its object path.
using PathOf = std::function<std::string(const std::string& id)>;

/// Returns the doctor's findings for the machine that an answer describes.
using FindingsOf = std::function<std::vector<Finding>()>;

/// An encoding that adds text and fix to each reason and replaces GPU ids by object paths.
/// `findings` is called once, when the first reason is encoded; without it, fixes are the generic
/// ones. Only host and is_root of `machine` are used.
bus::Spelling spelling_for(PathOf path_of = {},
                           FindingsOf findings = {},
                           const ReasonPlace& machine = {});

/// The answer of SelectBackend. `explains`: include all candidates. If no backend was chosen,
/// Backend is "".
bus::Dictionary answer_from(Decision decision, bool explains, const bus::Spelling& spelling);
/// The answer of RecommendVariant. If the candidates have too many reasons for a bus message, the
/// reasons lose their details; if there are still too many, they are left out.
bus::Dictionary answer_from(Recommendation recommendation,
                            bool explains,
                            const bus::Spelling& spelling);
/// The answer of GetMemory.
bus::Dictionary answer_from(const engine::LiveMemory& memory);
/// The known identifiers that distinguish a GPU from others of the same model: NvidiaUuid,
/// HipUniqueId, CanonicalUuid, Luid, and identifiers from the APIs (VulkanDeviceUuid …).
std::map<std::string, std::string> identifiers_of(const Gpu& gpu);
/// The probes of the requested stage and APIs (all APIs if the request names none), with the
/// generation of the report that contains them.
bus::Dictionary probe_answer(const Report& report, const ProbeRequest& request);
/// Maps each backend to Usable, Verified, Score, Verification, Measurement and Reasons. `findings`:
/// the doctor's findings, for the fixes.
std::map<std::string, bus::Dictionary> backends_from(
    const std::map<std::string, BackendView>& backends,
    const std::string& gpu,
    const std::vector<Finding>& findings);

/// Maps each API to Outcome and Reasons.
std::map<std::string, bus::Dictionary> apis_from(const std::map<std::string, ApiAnswer>& apis,
                                                 const std::string& gpu,
                                                 const std::vector<Finding>& findings);

/// The message of Error.NoMatch: one human-readable line.
std::string no_match_message(const Decision& decision);

}  // namespace gpuprobe::inline service
