// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calls/methods.h"
#include "engine/engine.h"
#include "explain/doctor.h"
#include "report/report.h"
#include "service/authority.h"
#include "service/call_server.h"
#include "service/fair_queue.h"
#include "wire/bus.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {

inline constexpr const char* kManagerInterface = "org.gpuprobe.GpuProbe1.Manager";
inline constexpr const char* kGpuInterface = "org.gpuprobe.GpuProbe1.Gpu";

/// The methods of the table, as D-Bus methods of the GPU objects or of the manager.
std::vector<bus::BusMethod> bus_methods_of(bool is_of_gpu);

class GpuObjects;

/// Serves the methods of the table on one bus connection.
class BusCalls {
public:
    /// All arguments must outlive this object.
    BusCalls(bus::Connection& connection,
             EventLoop& loop,
             CallServer& server,
             bus::Callers& callers,
             Authority& authority,
             const GpuObjects& gpus);
    /// Calls that are still waiting for an answer get the error Cancelled.
    ~BusCalls();
    BusCalls(const BusCalls&) = delete;
    BusCalls& operator=(const BusCalls&) = delete;

    /// Answers a call immediately or later. `gpu`: the id of the GPU whose object was called; empty
    /// for the manager.
    void serve(sd_bus_message* call, std::string gpu);

private:
    /// Calls of one sender that may wait until the bus has identified the sender. On a system bus,
    /// a connection cannot have more pending calls than this. A session bus allows more pending
    /// calls, and the daemon accepts calls until all senders together reach kMaxUnknownOfAll.
    static constexpr std::size_t kMaxUnknown = 128;
    static constexpr std::size_t kMaxUnknownOfAll = 1024;

    /// A method, and the types of its answer.
    struct Row {
        BusMethodRow method = {};
        std::vector<bus::BusArgument> in = {};
        std::vector<bus::BusArgument> out = {};
        TypeTable types = {};
        MemberType answer = {};
        std::vector<TypedMember> parameters = {};
    };
    using Reply = std::shared_ptr<bus::BusReply>;
    /// A call whose last answer has not been sent yet.
    struct Asked {
        const Row* row = nullptr;
        Reply reply = {};
        std::string sender = {};
        bool explains = false;  ///< whether the request sets "explain"
    };

    /// A call that waits for the identity of its sender, or for its turn.
    struct Held {
        std::shared_ptr<ServedCall> served = {};
        Reply reply = {};
        std::size_t size = 0;  ///< size of the call in bytes

        void serve(CallServer& server) const;
    };

    /// Whether a call of `sender` may be read. Requests the sender's identity from the bus once.
    Status admit(const std::string& sender);
    [[nodiscard]] const Row& row_of(const std::string& member, bool is_of_gpu);
    [[nodiscard]] Result<Value> parameters_of(const Row& row,
                                              sd_bus_message* call,
                                              const std::string& gpu) const;
    void name_by_id(Value& parameters) const;
    [[nodiscard]] std::string question_of(const Row& row, const std::string& gpu) const;
    bool send_kept(const Asked& asked, const std::string& question);
    void serve(Asked asked, const std::string& gpu, std::string question);
    void identify(const std::string& sender, const Held& held);
    void take_turn(const bus::Credentials& caller, const Held& held);
    void send(const Asked& asked, const bus::MessageBody& body, std::size_t size) const;
    void heard(const Asked& asked, const MethodAnswer& answer, const std::string& key);
    [[nodiscard]] bus::MessageBody body_of(const Asked& asked, const MethodAnswer& answer) const;
    void send_file(const Asked& asked, const std::string& text) const;
    void send_progress(const Asked& asked, const MethodAnswer& answer) const;

    bus::Connection& connection_;
    CallServer& server_;
    bus::Callers& callers_;
    Authority& authority_;
    const GpuObjects& gpus_;
    FairQueue queue_;
    /// the methods that were called, by name and whether the object is a GPU
    std::map<std::pair<std::string, bool>, Row> rows_ = {};
    std::uint64_t last_call_ = 0;
    std::unordered_map<std::uint64_t, std::weak_ptr<bus::BusReply>> pending_ = {};
    /// Callbacks hold a weak pointer to this member, because answers may arrive after this object
    /// was destroyed.
    std::shared_ptr<BusCalls*> self_;
};

/// The report as seen by a user who may open only the nodes that all users may open.
Report open_to_all(const Report& report);

/// The values of a GPU's properties, in the order of gpu_properties(). All users can read these
/// properties, so values that depend on access to device nodes are taken from `open_to_all`, the
/// result of the function open_to_all().
std::vector<Value> property_values(const Gpu& gpu, const Report& open_to_all);
/// The properties of GPU objects, as in dbus/org.gpuprobe.GpuProbe1.Gpu.xml.
const std::vector<bus::BusProperty>& gpu_properties();

/// The id as an element of an object path: each byte that isn't an ASCII letter or digit becomes
/// "_".
std::string path_element(std::string_view id);

/// The path that identifies a partition of the GPU at `path`. No object is exported at this path.
std::string partition_path(const std::string& path, std::string_view name);

/// One GPU as an object on the bus; exported while this object exists.
class GpuObject final : public bus::BusObject {
public:
    /// `all` is the collection that this object belongs to.
    GpuObject(sd_bus* bus,
              const std::string& path,
              std::string id,
              std::vector<Value> values,
              GpuObjects& all,
              const CallServer& server,
              BusCalls& calls);

    [[nodiscard]] const std::string& id() const { return id_; }
    /// Sets the properties and signals the changes. `has_other_words`: whether fixes have changed.
    void update(std::vector<Value> values, bool has_other_words);

private:
    void called(sd_bus_message* call) override { calls_.serve(call, id_); }
    bus::MessageBody read(std::string_view property) override;
    [[nodiscard]] Value with_words(std::string_view property, const Value& value) const;

    std::string id_;
    std::vector<Value> values_;
    GpuObjects& all_;
    const CallServer& server_;
    BusCalls& calls_;
};

/// The GPU objects of one connection: one for each GPU of the report.
class GpuObjects {
public:
    /// All arguments must outlive this object.
    GpuObjects(bus::Connection& connection, const CallServer& server)
        : connection_{connection}, server_{server} {}

    /// Updates the objects to match the report and signals each difference. Objects that exist
    /// before the first message is read aren't announced. `calls` answers the objects' calls.
    void update(BusCalls& calls);
    /// The object path of a GPU or partition; "/" if the GPU does not exist.
    [[nodiscard]] std::string path_of(const std::string& id) const;
    /// The id of the GPU with this object path; nullopt if there is no such GPU.
    [[nodiscard]] std::optional<std::string> id_of(const std::string& path) const;
    /// The doctor's findings for the whole machine.
    [[nodiscard]] const std::vector<Finding>& findings();

private:
    [[nodiscard]] std::string free_path(const std::string& id) const;
    void add(const Gpu& gpu, std::vector<Value> values, BusCalls& calls);
    void remove_all_but(const std::vector<Gpu>& gpus);

    bus::Connection& connection_;
    const CallServer& server_;
    std::map<std::string, std::unique_ptr<GpuObject>> by_path_ = {};
    /// The doctor's findings, computed on first use, because reading the causes takes a third of
    /// the daemon's start time.
    std::optional<std::vector<Finding>> findings_ = {};
};

/// The object of the machine as a whole.
class ManagerObject final : public bus::BusObject {
public:
    ManagerObject(bus::Connection& connection,
                  const CallServer& server,
                  const GpuObjects& gpus,
                  BusCalls& calls);

    /// Signals changed properties; call this after the GPU objects were updated.
    void update();

private:
    void called(sd_bus_message* call) override { calls_.serve(call, {}); }
    bus::MessageBody read(std::string_view property) override;
    [[nodiscard]] std::vector<Value> current() const;

    const CallServer& server_;
    const GpuObjects& gpus_;
    BusCalls& calls_;
    std::vector<Value> values_;  ///< in the same order as the properties
};

}  // namespace gpuprobe::inline service
