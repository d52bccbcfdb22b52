// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/engine.h"
#include "policy/decision.h"
#include "policy/recommendation.h"
#include "report/report.h"
#include "wire/sdbus.h"

/// What methods answer, as dictionaries. Keys and types: dbus/*.xml.
namespace gpuprobe {

/// From a GPU's id to its object.
using PathOf = std::function<sdbus::ObjectPath(const std::string& id)>;

constexpr Bytes kMaxTrace = kib(32);

bus::Dictionary answer_from(const Decision& decision, const PathOf& path_of);
/// Reasons of rejected variants lose their details, and then go, when there are more than the bus
/// should carry.
bus::Dictionary answer_from(const Recommendation& recommendation, const PathOf& path_of);
bus::Dictionary answer_from(const engine::LiveMemory& memory);
/// What tells a GPU from another of its kind, of what is known: NvidiaUuid, VulkanDeviceUuid,
/// OpenclUuid, HipUniqueId, LevelZeroUuid, CanonicalUuid, Luid.
std::map<std::string, std::string> identifiers_of(const Gpu& gpu);
/// The probes of the stage and the APIs that were asked for (none: of all) and the generation that
/// holds them.
bus::Dictionary probe_answer(const Report& report, const engine::ProbeRequest& request);
/// Backend → Usable, Verified, Score, Verification, Measurement, Reasons; `backends` is an object
/// of BackendViews.
std::map<std::string, bus::Dictionary> backends_from(const Value& backends);

/// The message of Error.NoMatch: a line for people, then the decision as one line of JSON of at
/// most kMaxTrace. Over that, reasons lose their details, then candidates their reasons, then all
/// candidates go.
std::string no_match_message(const Decision& decision);

}  // namespace gpuprobe
