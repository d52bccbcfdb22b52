// SPDX-License-Identifier: Apache-2.0
#include "policy/causes.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "base/text.h"
#include "base/value.h"
#include "explain/doctor.h"
#include "explain/reason_words.h"
#include "knowledge/library.h"
#include "knowledge/places.h"
#include "policy/known_bad.h"
#include "report/api_table.h"
#include "support/places.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"
#include "unit/properties/hosts.h"

/// Tests the causes in data/knowledge/causes on the machines that they name, and at every place.
namespace gpuprobe::testing_properties {
namespace causes_test {

std::string text_of_file(const std::string& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// The data files in the source tree, because the embedded copies lack the sources.
const Value& documents() {
    static const Value all = [] {
        Value list{Value::Array{}};
        for (const auto& document : knowledge::builtin_causes())
            list.push_back(parse_json(text_of_file(GPUPROBE_SOURCE_DIR "/data/knowledge/causes/" +
                                                   std::string{document.name} + ".json"),
                                      mib(1))
                               .value());
        return list;
    }();
    return all;
}

std::vector<Value> causes() {
    std::vector<Value> found;
    for (const auto& document : *documents().as_array())
        for (const auto& cause : *document.at("causes").as_array())
            found.push_back(cause);
    return found;
}

Report recorded_report(const std::string& name) {
    for (const auto& recorded : recorded_machines())
        if (recorded.name == name)
            return report_of(scene_of(recorded));
    ADD_FAILURE() << name << ": no such machine";
    return {};
}

/// Sets the value at a path such as "gpus.0.driver.name". An index one past the end appends.
void set(Value& value, std::string_view path, const Value& content) {
    auto* place = &value;
    for (const auto step : split(path, '.')) {
        auto* items = place->as_array();
        const auto index = parse_number<std::size_t>(step);
        if (items && index) {
            if (*index >= items->size())
                items->resize(*index + 1);
            place = &(*items)[*index];
        } else {
            place = &(*place)[step];
        }
    }
    *place = content;
}

struct Example {
    Report report = {};
    Surroundings here = {};
    std::optional<Reason> reason = {};  ///< for a cause that the doctor does not find
};

std::vector<std::string> texts(const Value& list) {
    std::vector<std::string> found;
    if (const auto* items = list.as_array())
        for (const auto& item : *items)
            found.push_back(*item.as_string());
    return found;
}

/// A recorded machine with some members of its report changed.
Example example_of(const Value& description) {
    auto report = to_value(recorded_report(*description.at("machine").as_string()));
    if (const auto* members = description.at("set").as_object())
        for (const auto& member : *members)
            set(report, member.key, member.value);
    auto read = record_from<Report>(report);
    EXPECT_TRUE(read) << read.error().text;
    Example example{.report = read ? std::move(read).value() : Report{}};
    const auto& here = description.at("here");
    if (const auto* variables = here.at("environment").as_object())
        for (const auto& variable : *variables)
            example.here.environment[variable.key] = *variable.value.as_string();
    example.here.kernel_log = texts(here.at("kernel_log"));
    example.here.new_groups = texts(here.at("new_groups"));
    example.here.has_no_group = here.at("no_group").as_bool();
    example.here.vulkan_layers = texts(here.at("layers"));
    example.here.programs = texts(here.at("programs"));
    example.here.cdi_specs = texts(here.at("cdi"));
    example.here.cdi_drivers = texts(here.at("cdi_drivers"));
    if (const auto bytes = here.at("memlock").as_unsigned())
        example.here.memlock = Bytes{*bytes};
    example.here.reaches_daemon = here.at("daemon").as_bool();
    example.here.has_wsl_libraries = here.at("wsl_libraries").as_bool();
    if (const auto* label = here.at("security_label").as_string())
        example.here.security_label = *label;
    return example;
}

Example example_of_cause(const Value& cause) {
    auto example = example_of(cause.at("shows"));
    if (cause.at("of") == Value{kOfAReason})
        example.reason =
            Reason{.code = *cause.at("id").as_string(), .detail = cause.at("shows").at("detail")};
    return example;
}

/// The doctor's findings, or the reason and its fix as a finding.
std::vector<Finding> findings_of(const Example& example) {
    auto findings = examine(example.report, example.here);
    if (!example.reason)
        return findings;
    const auto words = explained(
        *example.reason,
        {.findings = &findings, .machine = &example.report, .is_root = example.here.is_root});
    return {Finding{.id = example.reason->code, .sentence = words.text, .fix = words.fix}};
}

std::string data_file(const std::string& name) {
    return GPUPROBE_SOURCE_DIR "/tests/data/doctor/" + name;
}

std::string file_text(const std::string& name) {
    return text_of_file(data_file(name));
}

bool is_found(const Value& description, const std::string& id) {
    const auto example = example_of(description);
    const auto findings = examine(example.report, example.here);
    return std::ranges::find(findings, id, &Finding::id) != findings.end();
}

TEST(Causes, AreReadAndRestOnReasonsThatThereAre) {
    for (const auto& document : knowledge::builtin_causes()) {
        const auto added = Causes{}.add(document.json);
        EXPECT_TRUE(added) << document.name << (added ? "" : ": " + added.error().text);
    }
    static const std::regex kCodes{R"(\[code=([a-z|-]+)\])"};
    for (const auto& cause : causes())
        for (const auto& from : texts(cause.at("from"))) {
            std::smatch match;
            const auto codes = std::regex_search(from, match, kCodes) ? match[1].str() : "lost";
            for (const auto code : split(codes, '|'))
                EXPECT_TRUE(find_reason(code)) << code;
        }
}

TEST(Causes, EachHasASourceAndAMeaning) {
    for (const auto& cause : causes()) {
        const auto& id = *cause.at("id").as_string();
        EXPECT_TRUE(cause.at("source").as_array() && !cause.at("source").as_array()->empty()) << id;
        EXPECT_TRUE(cause.at("meaning").is_string()) << id;
    }
}

/// For each cause, one machine must have the cause, and another machine must not have it.
TEST(Causes, AreShownByTheMachineThatTheyNameAndByNoSoundOne) {
    constexpr std::size_t kFewest = 120;
    std::set<std::string> shown;
    for (const auto& cause : causes()) {
        const auto& id = *cause.at("id").as_string();
        SCOPED_TRACE(id);
        ASSERT_TRUE(cause.at("shows").at("machine").is_string());
        shown.insert(id);
        if (cause.at("of") == Value{kOfAReason}) {
            EXPECT_TRUE(findings_of(example_of_cause(cause)).front().fix) << "nothing helps";
            EXPECT_FALSE(is_found(cause.at("shows"), id)) << "no doctor finds a reason";
            continue;
        }
        EXPECT_TRUE(is_found(cause.at("shows"), id)) << "is not shown";
        auto sound = cause.at("hides");
        if (sound.is_null())
            sound["machine"] = cause.at("shows").at("machine");
        EXPECT_FALSE(is_found(sound, id)) << "is shown where it must not be";
    }
    EXPECT_GE(shown.size(), kFewest);
}

// Known-bad pairs ---------------------------------------------------------------------------------

bool is_known_bad(const Report& report, const std::string& backend, const std::string& id) {
    KnownBad known_bad{report};
    return std::ranges::any_of(report.gpus, [&](const Gpu& gpu) {
        return std::ranges::any_of(known_bad.on(gpu, backend), [&id](const Reason& reason) {
            return reason.detail.at("cause") == Value{id};
        });
    });
}

std::vector<Value> pairs() {
    auto found = causes();
    std::erase_if(found, [](const Value& cause) { return cause.at("backends").is_null(); });
    return found;
}

TEST(KnownBadPairs, AreReadForChoicesAsTheDoctorReadsThem) {
    constexpr std::size_t kFewest = 60;
    EXPECT_GE(pairs().size(), kFewest);
    for (const auto& pair : pairs()) {
        const auto& id = *pair.at("id").as_string();
        SCOPED_TRACE(id);
        const auto shown = example_of(pair.at("shows")).report;
        const auto sound =
            example_of(pair.at("hides").is_null()
                           ? Value{Value::Object{{"machine", pair.at("shows").at("machine")}}}
                           : pair.at("hides"))
                .report;
        for (const auto& backend : texts(pair.at("backends"))) {
            EXPECT_TRUE(is_known_bad(shown, backend, id)) << backend;
            EXPECT_FALSE(is_known_bad(sound, backend, id)) << backend;
        }
        EXPECT_FALSE(is_known_bad(shown, "another", id));
    }
}

/// The report without any version of a kernel, driver or runtime.
Report without_versions(Report report) {
    report.host.kernel.reset();
    for (auto& [api, runtime] : report.runtimes)
        runtime = {};
    for (auto& gpu : report.gpus) {
        gpu.driver.version.reset();
        for (auto& [api, view] : gpu.apis)
            for (const auto* key : {"driver_version", "platform_version"})
                view.device[key] = Value{};
    }
    return report;
}

TEST(KnownBadPairs, AreNotFoundIfAVersionIsUnknown) {
    static const std::regex kVersions{
        R"((^|[ .])(kernel|cuda|driver|release|driver_version|platform_version)[<>=])"};
    for (const auto& pair : pairs()) {
        const auto& id = *pair.at("id").as_string();
        const auto conditions = texts(pair.at("when"));
        const bool names_versions = std::ranges::any_of(
            conditions,
            [](const std::string& condition) { return std::regex_search(condition, kVersions); });
        if (!names_versions)
            continue;
        const auto report = without_versions(example_of(pair.at("shows")).report);
        for (const auto& backend : texts(pair.at("backends")))
            EXPECT_FALSE(is_known_bad(report, backend, id)) << id;
    }
}

/// The fixes for all candidates of the application that the complaint names. `select` must choose
/// the backend in the complaint.
std::string fixes_of_choice(const Value& complaint,
                            const Report& report,
                            const std::vector<Finding>& findings) {
    const auto* asked = complaint.at("application").as_string();
    if (!asked)
        return "";
    auto decision =
        choice(*profile_called(*asked), report, {.require = texts(complaint.at("require"))});
    EXPECT_EQ(decision.backend, *complaint.at("backend").as_string());
    if (const auto* answers = complaint.at("answers").as_object()) {
        for (const auto& answer : *answers)
            EXPECT_EQ(decision.answers[std::string{answer.key}], *answer.value.as_string())
                << answer.key;
    }
    ReasonWriter writer{[&] { return ReasonPlace{.findings = &findings, .machine = &report}; }};
    writer.add_to(decision);
    std::string fixes;
    for (const auto& candidate : decision.candidates)
        for (const auto& reason : candidate.reasons)
            if (reason.words)
                fixes += reason.words->fix.value_or("") + "\n";
    return fixes;
}

/// tests/data/doctor/complaints.json contains complaints of users, a similar machine for each, and
/// all findings of the doctor on that machine. If `fix` is null, the doctor has no fix. `never` is
/// a string that no fix may contain. If there is an `application`, `select` must choose `backend`
/// for it under the predicates in `require`, with the settings in `answers`.
TEST(Complaints, AreAnsweredWithTheirCauseAndNothingBeside) {
    const auto text = file_text("complaints.json");
    const auto document = parse_json(text, mib(1)).value();
    for (const auto& complaint : *document.at("complaints").as_array()) {
        SCOPED_TRACE(*complaint.at("thread").as_string() + ": " +
                     *complaint.at("says").as_string());
        const auto example = example_of(complaint);
        std::set<std::string> found;
        std::string fixes;
        const auto findings = examine(example.report, example.here);
        for (const auto& finding : findings) {
            found.insert(finding.id);
            fixes += finding.fix.value_or("") + "\n";
        }
        const auto expected = texts(complaint.at("found"));
        EXPECT_EQ(found, (std::set<std::string>{expected.begin(), expected.end()}));
        const auto* fix = complaint.at("fix").as_string();
        const auto has_fix = fixes.find_first_not_of('\n') != std::string::npos;
        fixes += fixes_of_choice(complaint, example.report, findings);
        EXPECT_TRUE(fix ? fixes.find(*fix) != std::string::npos : !has_fix) << fixes;
        for (const auto& harmful : texts(complaint.at("never")))
            EXPECT_EQ(fixes.find(harmful), std::string::npos) << fixes;
    }
}

// Places ------------------------------------------------------------------------------------------

/// The packages that a package manager would install.
std::vector<std::string> packages_in(const std::string& command) {
    static const std::regex kInstalls{
        R"((?:apt install|dnf install|pacman -S|zypper install|apk add|emerge --ask|xbps-install -S|tdnf install) (.*))"};
    std::smatch match;
    std::vector<std::string> found;
    if (std::regex_search(command, match, kInstalls)) {
        const auto list = match[1].str();
        for (const auto word : words(list))
            found.emplace_back(word);
    }
    return found;
}

/// The name of a package on a machine whose architecture is unknown.
std::string for_machine(std::string package, const knowledge::Distribution& row) {
    constexpr std::string_view kMachine = "{machine}";
    const auto at = package.find(kMachine);
    const auto named = row.machines.find("x86_64");
    if (at != std::string::npos && named != row.machines.end())
        package.replace(at, kMachine.size(), named->second);
    return package;
}

/// The row for a host outside of containers; nullptr if no row is for this host.
const knowledge::Distribution* row_of(const Host& host) {
    const auto& places = knowledge::Places::current();
    const bool is_inside = host.container || host.sandbox;
    const auto* appliance = host.kernel && !is_inside ? places.appliance(*host.kernel) : nullptr;
    if (appliance || !host.os_release)
        return appliance;
    const auto& release = *host.os_release;
    return places.find(*release.id, release.version_id.value_or(""),
                       release.variant_id.value_or(""));
}

std::set<std::string> packages_of(const Host& host) {
    const auto& places = knowledge::Places::current();
    std::set<std::string> known;
    auto version = host.os_release->version_id.value_or("");
    const auto* row = row_of(host);
    for (int i = 0; row && i < 8; ++i) {
        for (const auto& [role, list] : row->packages)
            for (const auto word : words(list))
                known.insert(for_machine(std::string{word}, *row));
        for (const auto& [name, command] : row->commands)
            for (const auto& package : packages_in(command))
                known.insert(package);
        if (!row->has_same_versions.value_or(false))
            version.clear();
        row = row->like ? places.find(*row->like, version, "") : nullptr;
    }
    return known;
}

void expect_fit(const Finding& finding, const Where& place) {
    SCOPED_TRACE(place.name + ": " + finding.id);
    const auto fix = finding.fix.value_or("");
    EXPECT_EQ(fix.find("{}"), std::string::npos) << fix;
    EXPECT_EQ(finding.sentence.find('{'), std::string::npos) << finding.sentence;
    if (place.host.os_release) {
        const auto known = packages_of(place.host);
        for (const auto& command : finding.commands)
            for (const auto& package : packages_in(command))
                EXPECT_TRUE(known.contains(package)) << package;
    } else {
        EXPECT_EQ(fix.find("apt install"), std::string::npos) << fix;
    }
    if (!place.host.container && !place.host.sandbox)
        return;
    // A Flatpak or a snap contains its own drivers, and its files are read-only.
    const bool is_sealed = place.host.sandbox == "flatpak" || place.host.sandbox == "snap";
    for (const auto* word : {"apt install", "dnf install", "backports", "of the distribution"})
        EXPECT_TRUE(!is_sealed || finding.is_for_host || fix.find(word) == std::string::npos)
            << fix;
    for (const auto* word : {"modprobe ", "linux-headers", "nvidia-driver ", "akmod", "dkms"})
        for (const auto& command : finding.commands)
            EXPECT_EQ(command.find(word), std::string::npos) << command;
}

/// Whether a cause does not depend on a container, a board or WSL. The place where its machine was
/// recorded is ignored.
bool is_of_no_place(const Value& cause, const Report& report) {
    const auto* members = cause.at("shows").at("set").as_object();
    const bool names_place =
        members && std::ranges::any_of(*members, [](const auto& member) {
            return member.key == "host.container" || member.key == "host.sandbox";
        });
    return !names_place && !report.host.l4t && !report.host.wsl;
}

/// The same machine at another place; `own` is the place where it was recorded.
void move_to(const Where& place, const Host& own, Host& host) {
    host.os_release = place.host.os_release;
    host.container = place.host.container;
    host.sandbox = place.host.sandbox;
    host.kernel = place.host.kernel ? place.host.kernel : own.kernel;
}

/// Tests each cause at each place: no fix installs a package that the place lacks, or a kernel
/// driver in a container.
TEST(Causes, HaveAFixThatFitsEachPlace) {
    const auto places = all_places();
    for (const auto& cause : causes()) {
        auto example = example_of_cause(cause);
        if (!is_of_no_place(cause, example.report))
            continue;
        const auto own = example.report.host;
        for (const auto& place : places) {
            move_to(place, own, example.report.host);
            for (const auto& finding : findings_of(example))
                expect_fit(finding, place);
        }
    }
}

// Machines ----------------------------------------------------------------------------------------

/// The API that is preferred on a vendor's GPUs; empty if all APIs are equally good.
std::string_view usual_api(const Gpu& gpu) {
    return gpu.vendor == "nvidia" ? "cuda" : gpu.vendor == "amd" ? "hip" : "";
}

/// Whether a GPU can compute with that API. If `api` is empty, every API is accepted.
bool works(const Gpu& gpu, std::string_view api) {
    return std::ranges::any_of(gpu.backends, [api](const auto& entry) {
        return entry.second.usable == true && (api.empty() || api_below(entry.first) == api);
    });
}

/// Several cards may have a node with this path, so all of these nodes must be accessible.
bool may_open(const Report& report, const std::string& path) {
    std::vector<DeviceNode> nodes = report.nodes;
    for (const auto& gpu : report.gpus)
        nodes.insert(nodes.end(), gpu.nodes.begin(), gpu.nodes.end());
    std::erase_if(nodes, [&path](const DeviceNode& node) { return node.path != path; });
    return !nodes.empty() && std::ranges::all_of(nodes, [](const DeviceNode& node) {
        return node.accessible == true;
    });
}

/// Whether the report contradicts the finding: something that is reported as missing exists,
/// something that is reported as closed is open, or an error is reported for something that works.
bool is_refuted(const Finding& finding, const Report& report) {
    const auto api = word_of(finding.evidence.at("api"));
    const auto node = word_of(finding.evidence.at("node"));
    const auto runtime = report.runtimes.find(api);
    const bool is_absent = finding.id.ends_with("-loader-missing") || finding.id == "rocm-missing";
    if (is_absent && runtime != report.runtimes.end() &&
        runtime->second.outcome == Outcome::Answered)
        return true;
    if (finding.id == "no-gpu" || finding.id == "container-without-gpu")
        return std::ranges::any_of(report.gpus, [](const Gpu& gpu) { return works(gpu, ""); });
    return std::ranges::any_of(report.gpus, [&](const Gpu& gpu) {
        if (std::ranges::find(finding.gpus, gpu.id) == finding.gpus.end())
            return false;
        if (!node.empty())
            return may_open(report, node) && finding.id == "no-permission";
        const auto of = finding.id == "no-driver" ? "" : api.empty() ? usual_api(gpu) : api;
        return finding.severity == Severity::Error && works(gpu, of);
    });
}

/// Causes that only a reboot with other kernel parameters, or the firmware, can fix.
bool needs_a_restart(std::string_view id) {
    constexpr auto kIds = std::to_array<std::string_view>(
        {"nomodeset", "modeset-off", "msi-off", "force-probe-shut", "vfio-by-parameter",
         "npu-without-iommu", "secure-boot", "gttsize-deprecated", "nvidia-modeset-off",
         "worker-stuck", "lost"});
    return std::ranges::find(kIds, id) != kIds.end() || id.ends_with("-blacklisted");
}

/// A restart, or work inside the machine, is only suggested if no smaller step helps.
void expect_modest(const Finding& finding) {
    static const std::regex kSmaller{R"(else restart|or restart|and restart|then restart|, or )"};
    static const std::regex kTwice{R"((then|and) restart[,:]? (.*, )?(then|and) restart)"};
    const auto fix = finding.fix.value_or("");
    EXPECT_FALSE(std::regex_search(fix, kTwice)) << fix;
    for (const auto* word : {"restart", "reboot", "reinstall"}) {
        const bool is_advised = fix.find(word) != std::string::npos &&
                                fix.find("systemctl restart") == std::string::npos &&
                                fix.find("pct reboot") == std::string::npos;
        EXPECT_TRUE(!is_advised || needs_a_restart(finding.id) || std::regex_search(fix, kSmaller))
            << fix;
    }
    for (const auto* word : {" -mig 0", "--gpu-reset", " purge "})
        for (const auto& command : finding.commands)
            EXPECT_TRUE(command.find(word) == std::string::npos || finding.id == "wsl-linux-driver")
                << command;
}

constexpr const char* kAsItIs = "as it is";

void expect_sound(const Finding& finding, const Report& report, const Where& place, bool is_root) {
    if (place.name != kAsItIs)  // packages of a board differ from those of its distribution
        expect_fit(finding, place);
    SCOPED_TRACE(place.name + (is_root ? " as root: " : ": ") + finding.id);
    const auto fix = finding.fix.value_or("");
    EXPECT_FALSE(is_refuted(finding, report)) << finding.sentence;
    EXPECT_TRUE(!is_root || fix.find("sudo ") == std::string::npos) << fix;
    expect_modest(finding);
    const auto* row = row_of(place.host);
    const bool is_image = row && row->image && !place.host.container;
    for (const auto* manager : {"apt install", "dnf install", "pacman -S", "zypper install"}) {
        const bool installs = fix.find(manager) != std::string::npos;
        EXPECT_FALSE(is_image && installs) << fix;
        for (const auto* driver : {"nvidia-driver", "akmod", "kmp", "nvidia-open", "firmware"})
            EXPECT_FALSE(place.host.container && installs && fix.find(driver) != std::string::npos)
                << fix;
    }
}

/// Tests each recorded or mixed machine at some of the places in turn.
TEST(Causes, AreSoundOnEveryMachineInEachPlace) {
    constexpr std::size_t kPlacesOfOne = 6;
    const auto places = all_places();
    std::size_t next = 0;
    std::size_t machines = 0;
    on_every_machine([&](const MachineFixture& fixture) {
        auto report = report_of(fixture);
        const auto own = report.host;
        ++machines;
        const bool is_bound = report.host.l4t || report.host.wsl || report.host.container;
        for (std::size_t i = 0; i < (is_bound ? 1 : kPlacesOfOne); ++i, ++next) {
            Where place{.name = kAsItIs, .host = report.host};
            if (!is_bound) {
                place = places[next % places.size()];
                move_to(place, own, report.host);
            }
            const bool is_root = next % 3 == 0;
            for (const auto& finding : examine(report, {.is_root = is_root}))
                expect_sound(finding, report, place, is_root);
        }
    });
    EXPECT_TRUE(machines > 200 || number_in("GPUPROBE_PROPERTY_SEED")) << machines;
}

/// The fix for each cause at each place must be as in tests/data/doctor/fixes.json. "elsewhere" is
/// the fix at most places. GPUPROBE_ACCEPT=1 writes the file.
TEST(Causes, HaveTheFixesOfTheirTable) {
    const auto places = all_places();
    Value table{Value::Object{}};
    for (const auto& cause : causes()) {
        const auto& id = *cause.at("id").as_string();
        const std::string of = cause.at("of") == Value{"accelerator"} ? "accelerator "
                               : cause.at("of") == Value{kOfAReason}  ? "reason "
                                                                      : "";
        auto example = example_of_cause(cause);
        const bool varies = is_of_no_place(cause, example.report);
        const auto own = example.report.host;
        std::map<std::string, std::vector<std::string>> by_fix;
        for (const auto& place : places) {
            if (varies)
                move_to(place, own, example.report.host);
            for (const auto& finding : findings_of(example))
                if (finding.id == id) {
                    by_fix[finding.fix.value_or("nothing")].push_back(place.name);
                    break;
                }
        }
        const auto usual = std::ranges::max_element(
            by_fix, {}, [](const auto& entry) { return entry.second.size(); });
        for (auto entry = by_fix.begin(); entry != by_fix.end(); ++entry) {
            std::string names;
            for (const auto& name : entry->second)
                names += (names.empty() ? "" : ", ") + name;
            table[of + id][entry == usual ? "elsewhere" : names] = Value{entry->first};
        }
    }
    const auto text = json_pretty(table) + "\n";
    if (std::getenv("GPUPROBE_ACCEPT"))
        std::ofstream{data_file("fixes.json")} << text;
    EXPECT_EQ(file_text("fixes.json"), text);
}

TEST(Causes, AskNobodyForSudoWhoIsRoot) {
    for (const auto& cause : causes()) {
        auto example = example_of_cause(cause);
        example.here.is_root = true;
        for (const auto& finding : findings_of(example))
            EXPECT_EQ(finding.fix.value_or("").find("sudo "), std::string::npos) << *finding.fix;
    }
}

}  // namespace causes_test
}  // namespace gpuprobe::testing_properties
