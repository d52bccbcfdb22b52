// SPDX-License-Identifier: Apache-2.0
#include "wire/daemon_client.h"

#include <algorithm>
#include <array>
#include <optional>

#include <unistd.h>

#include "base/files.h"
#include "wire/connection.h"
#include "wire/dictionary.h"
#include "wire/reply.h"

namespace gpuprobe::bus {
namespace {

constexpr const char* kManager = "org.gpuprobe.GpuProbe1.Manager";
constexpr const char* kGpu = "org.gpuprobe.GpuProbe1.Gpu";
constexpr const char* kJob = "org.gpuprobe.GpuProbe1.Job";
constexpr const char* kProperties = "org.freedesktop.DBus.Properties";
constexpr const char* kObjectManager = "org.freedesktop.DBus.ObjectManager";
constexpr Bytes kMaxReportText = mib(8);
/// The default timeout of sd-bus.
constexpr auto kPatience = std::chrono::seconds{25};
constexpr auto kProbePatience = std::chrono::minutes{5};
/// Longer than the time that the daemon gives polkit to get a password.
constexpr auto kPatienceWithPeople = std::chrono::minutes{3};

using Changed = std::map<std::string, sdbus::Variant>;
using Interfaces = std::map<std::string, Changed>;

/// Calls `body`, which returns a Result, and turns exceptions of sdbus-c++ into Errors.
template <class Body>
auto at_the_door(Body&& body) -> decltype(body()) try {
    return body();
} catch (const sdbus::Error& problem) {
    return error_from(problem);
}

/// Activates the signal handlers of a proxy.
void finish_registration(sdbus::IProxy& proxy) {
#ifdef GPUPROBE_SDBUS_2
    (void)proxy;  // version 2 registers handlers immediately
#else
    proxy.finishRegistration();
#endif
}

/// Reads a whole memory file. pread() ignores the file position, which the daemon shares with us.
Result<std::string> content_of(int fd) {
    std::string text;
    std::array<char, 16384> block{};
    for (;;) {
        const auto got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(text.size()));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno_error("report", errno);
        if (got == 0)
            return text;
        text.append(block.data(), static_cast<std::size_t>(got));
        if (text.size() > kMaxReportText.count)
            return Error{ErrorCode::TooLarge, "report: over 8 MiB"};
    }
}

/// An entry of ListOverrides.
struct ListedOverride {
    Value rule = Value{Value::Object{}};
    WallTime set_at = {};
    std::uint32_t set_by = 0;
};
RECORD_MEMBERS(ListedOverride, rule, ("set_at_usec", set_at), ("set_by_uid", set_by))

/// The state of a running probe() call.
struct Waiting {
    std::optional<Status> answer = {};
    std::unique_ptr<sdbus::IProxy> job = {};
    DaemonClient::Progress progress = {};
};

}  // namespace

struct DaemonClient::Impl {
    explicit Impl(SystemLoop& event_loop) : loop{event_loop} {}

    [[nodiscard]] std::unique_ptr<sdbus::IProxy> proxy(const std::string& path) const {
        return make_proxy(connection->bus(), kBusName, path);
    }
    /// Makes a call to the manager that may require authorization, and returns its reply.
    template <class... Words>
    sdbus::MethodReply call_with_leave(const std::string& method, const Words&... words) const {
        auto call = method_call(*root, kManager, method, may_ask);
        (call << ... << words);
        const std::chrono::microseconds patience = may_ask ? kPatienceWithPeople : kPatience;
        return root->callMethod(call, static_cast<std::uint64_t>(patience.count()));
    }
    [[nodiscard]] Result<std::vector<std::string>> names(const std::string& method) const {
        std::vector<std::string> names;
        root->callMethod(method).onInterface(kManager).storeResultsTo(names);
        return names;
    }
    void load_properties();
    [[nodiscard]] GpuIds gpu_ids() const;
    Result<std::vector<sdbus::ObjectPath>> paths_of(const std::vector<std::string>& ids) const;
    void follow_job(Waiting& waiting, const std::string& path, const Interfaces& added);
    /// Runs the loop until `done` returns true. Errors: Unavailable if the bus connection is lost;
    /// Cancelled on a signal.
    Status turn_until(const std::function<bool()>& done);

    SystemLoop& loop;
    std::unique_ptr<Connection> connection = {};
    std::unique_ptr<sdbus::IProxy> root = {};
    Value properties = {};
    bool may_ask = false;  ///< polkit may ask the user for a password
};

void DaemonClient::Impl::load_properties() {
    Dictionary all;
    root->callMethod("GetAll")
        .onInterface(kProperties)
        .withArguments(std::string{kManager})
        .storeResultsTo(all);
    properties = Value{Value::Object{}};
    for (const auto& [name, variant] : all)
        if (auto value = value_from(variant))  // members of unknown types are left out
            properties[name] = std::move(value).value();
}

/// Adds the ids of a divided GPU's partitions.
void add_partitions(const sdbus::Variant& partitions, GpuIds& ids) {
    using Partitions = std::map<sdbus::ObjectPath, Dictionary>;
    // A daemon of another version may send another type.
    if (signature_in(partitions) != "a{oa{sv}}")
        return;
    for (const auto& [path, partition] : partitions.get<Partitions>())
        if (const auto id = partition.find("Id"); id != partition.end())
            ids.emplace(path, id->second.get<std::string>());
}

// The bus identifies GPUs by object paths. The ids of GPUs and partitions are properties.
GpuIds DaemonClient::Impl::gpu_ids() const {
    std::map<sdbus::ObjectPath, Interfaces> objects;
    root->callMethod("GetManagedObjects").onInterface(kObjectManager).storeResultsTo(objects);
    GpuIds ids;
    for (const auto& [path, interfaces] : objects) {
        const auto gpu = interfaces.find(kGpu);
        const bool has_id = gpu != interfaces.end() && gpu->second.contains("Id");
        if (!has_id)
            continue;
        ids.emplace(path, gpu->second.at("Id").get<std::string>());
        if (const auto partitions = gpu->second.find("Partitions"); partitions != gpu->second.end())
            add_partitions(partitions->second, ids);
    }
    return ids;
}

// The reverse direction, for requests that name GPUs by their ids.
Result<std::vector<sdbus::ObjectPath>> DaemonClient::Impl::paths_of(
    const std::vector<std::string>& ids) const {
    std::vector<sdbus::ObjectPath> paths;
    if (ids.empty())
        return paths;
    // The daemon identifies GPUs by object paths, users by ids.
    const auto known = gpu_ids();
    for (const auto& id : ids) {
        const auto found =
            std::ranges::find_if(known, [&id](const auto& entry) { return entry.second == id; });
        if (found == known.end())
            return Error{ErrorCode::UnknownDevice, "no GPU '" + id + "'"};
        paths.emplace_back(found->first);
    }
    return paths;
}

Status DaemonClient::Impl::turn_until(const std::function<bool()>& done) {
    std::optional<std::string> lost;
    connection->start([&lost](const std::string& reason) { lost = reason; });
    // run_until() fails if a signal stops the loop.
    const auto turned = loop.run_until([&] { return lost || done(); });
    connection->start(nullptr);  // stop watching for the loss of the bus
    if (!turned)
        return Error{ErrorCode::Cancelled, "interrupted"};
    if (lost)
        return Error{ErrorCode::Unavailable, "the bus went away: " + *lost};
    return Done{};
}

/// Reports progress of the job that our own call started. Jobs of other users are ignored.
void DaemonClient::Impl::follow_job(Waiting& waiting,
                                    const std::string& path,
                                    const Interfaces& added) {
    const auto job = added.find(kJob);
    // Follow only the first job, and only if the caller wants progress.
    if (waiting.job || job == added.end() || !waiting.progress)
        return;
    const auto starter = job->second.find("StartedByUid");
    if (starter == job->second.end() || starter->second.get<std::uint32_t>() != ::getuid())
        return;
    waiting.job = proxy(path);
    waiting.job->uponSignal("PropertiesChanged")
        .onInterface(kProperties)
        .call([&waiting](const std::string&, const Changed& changed,
                         const std::vector<std::string>&) {
            const auto share = changed.find("Progress");
            if (share != changed.end())
                waiting.progress(share->second.get<double>());
        });
    finish_registration(*waiting.job);
}

DaemonClient::DaemonClient(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
DaemonClient::~DaemonClient() = default;

Result<std::unique_ptr<DaemonClient>> DaemonClient::connect(const std::string& where,
                                                            SystemLoop& loop) {
    auto impl = std::make_unique<Impl>(loop);
    // Reading the properties starts the daemon if it is not running.
    impl->connection = TRY(Connection::open(where, loop));
    const auto asked = at_the_door([&]() -> Status {
        impl->root = impl->proxy(kRootPath);
        impl->load_properties();
        return Done{};
    });
    if (!asked)
        return asked.error();
    return std::unique_ptr<DaemonClient>{new DaemonClient{std::move(impl)}};
}

void DaemonClient::allow_questions() {
    impl_->may_ask = true;
}

const Value& DaemonClient::properties() const {
    return impl_->properties;
}

Result<std::string> DaemonClient::report_json() {
    return at_the_door([this]() -> Result<std::string> {
        sdbus::UnixFd file;
        impl_->root->callMethod("DescribeFd").onInterface(kManager).storeResultsTo(file);
        return content_of(file.get());
    });
}

Result<Decision> DaemonClient::select(const std::string& application, const Value& request) {
    return at_the_door([&]() -> Result<Decision> {
        Dictionary answer;
        impl_->root->callMethod("SelectBackend")
            .onInterface(kManager)
            .withArguments(application, dictionary_from(request))
            .storeResultsTo(answer);
        auto decision = record_of<Decision>(answer, impl_->gpu_ids());
        decision.application = application;
        // D-Bus has no null: an empty string means no backend.
        if (decision.backend == "")
            decision.backend.reset();
        return decision;
    });
}

Result<std::vector<std::string>> DaemonClient::applications() {
    return at_the_door([this] { return impl_->names("ListApplications"); });
}

Result<std::vector<std::string>> DaemonClient::manifests() {
    return at_the_door([this] { return impl_->names("ListManifests"); });
}

Result<std::string> DaemonClient::diagnosis() {
    return at_the_door([this]() -> Result<std::string> {
        std::string json;
        impl_->root->callMethod("Diagnose").onInterface(kManager).storeResultsTo(json);
        return json;
    });
}

Result<GpuMemory> DaemonClient::memory(const std::string& gpu) {
    return at_the_door([&]() -> Result<GpuMemory> {
        const auto paths = TRY(impl_->paths_of({gpu}));
        Dictionary answer;
        impl_->proxy(paths.front())
            ->callMethod("GetMemory")
            .onInterface(kGpu)
            .withArguments(Dictionary{})
            .storeResultsTo(answer);
        return record_of<GpuMemory>(answer);
    });
}

Result<Recommendation> DaemonClient::recommend(const std::string& application,
                                               const std::string& manifest,
                                               const Value& request) {
    return at_the_door([&]() -> Result<Recommendation> {
        Dictionary answer;
        impl_->root->callMethod("RecommendVariant")
            .onInterface(kManager)
            .withArguments(application, manifest, dictionary_from(request))
            .storeResultsTo(answer);
        return record_of<Recommendation>(answer, impl_->gpu_ids());
    });
}

Status DaemonClient::probe(const ProbeRequest& wanted, const Progress& progress) {
    return at_the_door([&]() -> Status {
        const auto paths = TRY(impl_->paths_of(wanted.gpus));
        Waiting waiting{.progress = progress};
        const auto caller = impl_->proxy(kRootPath);
        // Subscribe before the call, so that the job's signals are not missed.
        caller->uponSignal("InterfacesAdded")
            .onInterface(kObjectManager)
            .call([&](const sdbus::ObjectPath& path, const Interfaces& added) {
                impl_->follow_job(waiting, path, added);
            });
        finish_registration(*caller);
        Dictionary options;
        options.emplace("allow-wake", sdbus::Variant{wanted.allow_wake});
        options.emplace("stage", sdbus::Variant{wanted.stage});
        if (wanted.force)
            options.emplace("force", sdbus::Variant{true});
        auto call = method_call(*caller, kManager, "Probe", impl_->may_ask);
        call << paths << wanted.apis << options;
        // Asynchronous, because a blocking call would not deliver progress signals.
        call_later(*caller, call, kProbePatience, [&waiting](const sdbus::Error* error) {
            waiting.answer = error ? Status{error_from(*error)} : Status{Done{}};
        });
        TRY(impl_->turn_until([&waiting] { return waiting.answer.has_value(); }));
        return *waiting.answer;
    });
}

Status DaemonClient::set_override(const std::string& application, const Value& rule) {
    return at_the_door([&]() -> Status {
        (void)impl_->call_with_leave("SetOverride", application, dictionary_from(rule));
        return Done{};
    });
}

Result<bool> DaemonClient::clear_override(const std::string& application) {
    return at_the_door([&]() -> Result<bool> {
        bool cleared = false;
        impl_->call_with_leave("ClearOverride", application) >> cleared;
        return cleared;
    });
}

Result<Value> DaemonClient::overrides() {
    return at_the_door([&]() -> Result<Value> {
        std::map<std::string, Dictionary> answer;
        impl_->root->callMethod("ListOverrides").onInterface(kManager).storeResultsTo(answer);
        Value overrides{Value::Object{}};
        for (const auto& [application, entry] : answer)
            overrides[application] = to_value(record_of<ListedOverride>(entry));
        return overrides;
    });
}

Status DaemonClient::report_outcome(const Value& outcome) {
    return at_the_door([&]() -> Status {
        impl_->root->callMethod("ReportOutcome")
            .onInterface(kManager)
            .withArguments(dictionary_from(outcome));
        return Done{};
    });
}

Result<std::uint32_t> DaemonClient::clear_quarantine(const Value& filter) {
    return at_the_door([&]() -> Result<std::uint32_t> {
        std::uint32_t cleared = 0;
        impl_->call_with_leave("ClearQuarantine", dictionary_from(filter)) >> cleared;
        return cleared;
    });
}

Status DaemonClient::watch(const std::function<void()>& changed) {
    return at_the_door([&]() -> Status {
        bool is_changed = false;
        bool has_left = false;
        const auto manager = impl_->proxy(kRootPath);
        manager->uponSignal("PropertiesChanged")
            .onInterface(kProperties)
            .call([&is_changed](const std::string&, const Changed&,
                                const std::vector<std::string>&) { is_changed = true; });
        finish_registration(*manager);
        const auto names =
            make_proxy(impl_->connection->bus(), "org.freedesktop.DBus", "/org/freedesktop/DBus");
        // The daemon leaves when its name loses its owner.
        names->uponSignal("NameOwnerChanged")
            .onInterface("org.freedesktop.DBus")
            .call(
                [&has_left](const std::string& name, const std::string&, const std::string& owner) {
                    has_left = has_left || (name == kBusName && owner.empty());
                });
        finish_registration(*names);
        // Changes that arrive while `changed` runs are reported once, in the next round.
        while (!has_left) {
            TRY(impl_->turn_until([&] { return is_changed || has_left; }));
            if (std::exchange(is_changed, false))
                changed();
        }
        return Error{ErrorCode::Unavailable, "the daemon left the bus"};
    });
}

}  // namespace gpuprobe::bus
