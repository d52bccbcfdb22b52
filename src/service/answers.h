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

/// What methods answer, as dictionaries. Keys and types: dbus/*.xml.
namespace gpuprobe::inline service {

/// From a GPU's id to its object.
using PathOf = std::function<std::string(const std::string& id)>;

/// What the doctor finds on the machine that an answer is about.
using FindingsOf = std::function<std::vector<Finding>()>;

/// Reasons with their text and fix, GPUs as objects. The machine is examined when the first reason
/// is written, and once; without `findings` a fix is what usually helps. Of `machine` host and
/// is_root are taken.
bus::Spelling spelling_for(PathOf path_of = {},
                           FindingsOf findings = {},
                           const ReasonPlace& machine = {});

/// `explains`: with every candidate. A decision that chose nothing has an empty Backend.
bus::Dictionary answer_from(Decision decision, bool explains, const bus::Spelling& spelling);
/// Reasons of rejected variants lose their details, and then go, when there are more than the bus
/// should carry.
bus::Dictionary answer_from(Recommendation recommendation,
                            bool explains,
                            const bus::Spelling& spelling);
bus::Dictionary answer_from(const engine::LiveMemory& memory);
/// What tells a GPU from another of its kind, of what is known: NvidiaUuid, HipUniqueId,
/// CanonicalUuid, Luid, and what APIs call it (VulkanDeviceUuid …).
std::map<std::string, std::string> identifiers_of(const Gpu& gpu);
/// The probes of the stage and the APIs that were asked for (none: of all) and the generation that
/// holds them.
bus::Dictionary probe_answer(const Report& report, const ProbeRequest& request);
/// Backend → Usable, Verified, Score, Verification, Measurement, Reasons; of a GPU on which these
/// are the findings.
std::map<std::string, bus::Dictionary> backends_from(
    const std::map<std::string, BackendView>& backends,
    const std::string& gpu,
    const std::vector<Finding>& findings);

/// The same for APIs: Outcome, Reasons.
std::map<std::string, bus::Dictionary> apis_from(const std::map<std::string, ApiAnswer>& apis,
                                                 const std::string& gpu,
                                                 const std::vector<Finding>& findings);

/// The message of Error.NoMatch, one line for people.
std::string no_match_message(const Decision& decision);

}  // namespace gpuprobe::inline service
