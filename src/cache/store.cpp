// SPDX-License-Identifier: Apache-2.0
#include "cache/store.h"

namespace gpuprobe {
namespace {

constexpr Bytes kMaxCache = mib(8);

}  // namespace

ProbeCache::ProbeCache(std::string path) : file_{std::move(path), "cache", 1, kMaxCache} {}

Result<std::vector<ProbeResult>> ProbeCache::load(std::string_view fingerprint) const {
    const auto document = TRY(file_.load());
    const auto* made_for = document.at("fingerprint").as_string();
    if (!made_for || *made_for != fingerprint)
        return Error{ErrorCode::NotFound, file_.path() + ": made for another state of the machine"};
    const auto* items = document.at("probes").as_array();
    if (!items)
        return Error{ErrorCode::Malformed, file_.path() + ": probes: missing"};
    std::vector<ProbeResult> probes;
    for (const auto& item : *items) {
        auto probe = probe_result_from(item);
        if (!probe)
            return std::move(probe).error().in(file_.path());
        probes.push_back(std::move(probe).value());
    }
    return probes;
}

Status ProbeCache::save(std::string_view fingerprint,
                        const std::vector<ProbeResult>& probes) const {
    Value document;
    document["fingerprint"] = Value{fingerprint};
    document["probes"] = Value{Value::Array{}};
    for (const auto& probe : probes)
        document["probes"].push_back(value_of(probe));
    return file_.save(document);
}

}  // namespace gpuprobe
