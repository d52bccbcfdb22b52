// SPDX-License-Identifier: Apache-2.0
#include "knowledge/places.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fnmatch.h>

#include "base/version.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kPlacesSchema = "gpuprobe.distributions/1";
// The maximum length of a chain of `like` references. The maximum length ends the search if a
// faulty file contains a cycle.
constexpr int kMaxKinship = 8;

struct PlacesDocument {
    std::string schema = {};
    std::map<std::string, PackageRole> roles = {};
    std::vector<Distribution> distributions = {};
    std::vector<Engine> engines = {};
};

/// Whether `version` is `wanted` or one of its minor versions; for example, both "12" and "12.4"
/// match "12".
bool is_version(std::string_view wanted, std::string_view version) {
    return version == wanted ||
           (version.starts_with(wanted) && version.substr(wanted.size()).starts_with('.'));
}

/// Whether the row applies. A row without version applies to all versions, and a row without
/// variant applies to all variants.
bool fits(const Distribution& row,
          std::string_view id,
          std::string_view version,
          std::string_view variant) {
    return row.id == id && (!row.version || is_version(*row.version, version)) &&
           (!row.variant || *row.variant == variant);
}

/// The number of a release, such as 24.04, which can be compared with other numbers.
double number_of(std::string_view version) {
    const auto parsed = leading_version(version);
    return parsed ? parsed->parts[0] + parsed->parts[1] / 100.0 : 0;
}

/// The distance between the row's release and the machine's release; 0 if they are equal, or if the
/// row applies to all releases. If the machine's release has no number, the row with the newest
/// release is nearest.
double distance_to(const Distribution& row, const PlaceQuery& query) {
    const auto& release = row.version ? row.version : row.release;
    if (!release || is_version(*release, query.version) ||
        (row.codename &&
         std::ranges::find(query.codenames, *row.codename) != query.codenames.end()))
        return 0;
    const auto wanted = number_of(query.version);
    const auto distance = wanted - number_of(*release);
    return wanted > 0 ? std::max(std::abs(distance), 0.001) : 1000 - number_of(*release);
}

/// Whether `row` describes the machine better than `other`. Variants are compared first, then
/// releases.
bool is_closer(const Distribution& row, const Distribution& other, const PlaceQuery& query) {
    if (row.variant.has_value() != other.variant.has_value())
        return row.variant.has_value();
    const auto distance = distance_to(row, query) - distance_to(other, query);
    return distance < 0 || (distance == 0 && row.version && !other.version);
}

/// The rank of a row. A row for a variant precedes a row for a version, which precedes a row for
/// the whole distribution.
int precision(const Distribution& row) {
    return (row.version ? 1 : 0) + (row.variant ? 2 : 0);
}

}  // namespace

template <class Visitor>
void describe(Visitor& visit, PackageRole& role) {
    visit("says", role.name);
    // This member is optional in the data file, and false if it is missing.
    std::optional<bool> is_for_host;
    visit("on_host", is_for_host);
    role.is_for_host = is_for_host.value_or(false);
    visit("machine", role.machine);
    visit("driver", role.driver);
    visit("branch", role.branch);
    visit("flavour", role.flavour);
}

RECORD_MEMBERS(Distribution,
               id,
               name,
               version,
               variant,
               release,
               codename,
               kernel,
               like,
               ("same_versions", has_same_versions),
               commands,
               packages,
               notes,
               machines,
               image)

RECORD_MEMBERS(Engine, id, name, container, kernel, commands)

namespace {

RECORD_MEMBERS(PlacesDocument, schema, roles, distributions, engines)

}  // namespace

const Places& Places::current() {
    return table_in_use<Places>("distributions");
}

// References between rows aren't checked, because a wrong `like` only ends a search early.
Result<Places> Places::from(std::string_view json) {
    auto document = TRY(document_from<PlacesDocument>(json, kPlacesSchema));
    Places places;
    for (auto& [id, role] : document.roles)
        places.roles_.emplace(id, std::move(role));
    places.distributions_ = std::move(document.distributions);
    places.engines_ = std::move(document.engines);
    return places;
}

const Distribution* Places::find(std::string_view id,
                                 std::string_view version,
                                 std::string_view variant) const {
    const Distribution* best = nullptr;
    for (const auto& row : distributions_)
        if (fits(row, id, version, variant) && (!best || precision(row) > precision(*best)))
            best = &row;
    return best;
}

const Distribution* Places::appliance(std::string_view kernel) const {
    const auto found = std::ranges::find_if(distributions_, [kernel](const Distribution& row) {
        return row.kernel &&
               fnmatch(row.kernel->c_str(), std::string{kernel}.c_str(), FNM_CASEFOLD) == 0;
    });
    return found == distributions_.end() ? nullptr : &*found;
}

PlaceMatch Places::find(const PlaceQuery& query) const {
    const Distribution* best = nullptr;
    for (const auto& row : distributions_)
        if (row.id == query.id && (!row.variant || *row.variant == query.variant) &&
            (!best || is_closer(row, *best, query)))
            best = &row;
    return {.row = best, .is_other_release = best && distance_to(*best, query) > 0};
}

PlaceMatch Places::find_kin(PlaceQuery query, const std::vector<std::string>& kin) const {
    PlaceMatch nearest;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& id : kin) {
        query.id = id;
        const auto match = find(query);
        if (!match.row)
            continue;
        const auto distance = distance_to(*match.row, query);
        if (!nearest.row || distance < least) {
            nearest = match;
            least = distance;
        }
    }
    return nearest;
}

bool Places::has_releases(const Distribution& row) const {
    return std::ranges::any_of(distributions_, [&row](const Distribution& other) {
        return other.id == row.id && other.version;
    });
}

std::vector<std::string> Places::entries_of_releases(
    const Distribution& row,
    std::map<std::string, std::string> Distribution::*what,
    const std::string& key) const {
    std::vector<std::string> found;
    const auto add = [&](const Distribution& release) {
        const auto* entry = entry_of(release, what, key, release.version.value_or(""));
        auto text = entry ? *entry : std::string{};
        if (std::ranges::find(found, text) == found.end())
            found.push_back(std::move(text));
    };
    add(row);
    for (const auto& other : distributions_)
        if (other.id == row.id && other.variant == row.variant)
            add(other);
    return found;
}

const Engine* Places::engine(std::string_view kind, std::string_view kernel) const {
    const Engine* best = nullptr;
    for (const auto& row : engines_)
        // A row for a certain kernel release takes precedence over a general row.
        if (row.container.value_or(row.id) == kind && kernel.ends_with(row.kernel.value_or("")) &&
            (!best || row.kernel))
            best = &row;
    return best;
}

const PackageRole* Places::role(std::string_view id) const {
    const auto found = roles_.find(id);
    return found == roles_.end() ? nullptr : &found->second;
}

const std::string* Places::entry_of(const Distribution& row,
                                    std::map<std::string, std::string> Distribution::*what,
                                    const std::string& key,
                                    std::string_view version) const {
    // Try the row, then the row that its `like` names, and so on. The version is taken into account
    // only if both distributions use the same version numbers.
    const auto* place = &row;
    for (int i = 0; place && i < kMaxKinship; ++i) {
        const auto found = (place->*what).find(key);
        if (found != (place->*what).end())
            return &found->second;
        // If there is no entry for "mesa-vulkan.amd", use the entry for "mesa-vulkan".
        const auto general = (place->*what).find(key.substr(0, key.find('.')));
        if (general != (place->*what).end())
            return &general->second;
        if (!place->has_same_versions.value_or(false))
            version = {};
        place = place->like ? find(*place->like, version, "") : nullptr;
    }
    return nullptr;
}

}  // namespace gpuprobe::knowledge
