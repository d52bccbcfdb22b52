// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "calls/methods.h"
#include "service/call_server.h"
#include "service/caller_access.h"
#include "wire/bus_message.h"
#include "wire/bus_object.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {

inline constexpr const char* kManagerInterface = "org.gpuprobe.GpuProbe1.Manager";
inline constexpr const char* kGpuInterface = "org.gpuprobe.GpuProbe1.Gpu";

/// The methods of the table, as D-Bus methods of the GPU objects or of the manager.
std::vector<bus::BusMethod> bus_methods_of(bool is_of_gpu);

/// Names of GPUs on the bus.
struct GpuNames {
    bus::MessageWriter::PathOf path_of = {};
    /// The id of the GPU with this object path; nullopt if there is no such GPU.
    std::function<std::optional<std::string>(const std::string& path)> id_of = {};
};

/// Serves the methods of the table on one bus connection.
class BusCalls {
public:
    /// All arguments must outlive this object.
    BusCalls(bus::Connection& connection,
             CallServer& server,
             CallerAccess& access,
             Authority& authority,
             GpuNames names);
    /// Calls that are still waiting for an answer get the error Cancelled.
    ~BusCalls();

    /// Answers a call immediately or later. `gpu`: the id of the GPU whose object was called; empty
    /// for the manager.
    void serve(sd_bus_message* call, std::string gpu);

private:
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

    [[nodiscard]] const Row& row_of(const std::string& member, bool is_of_gpu);
    [[nodiscard]] Result<Value> parameters_of(const Row& row,
                                              sd_bus_message* call,
                                              const std::string& gpu) const;
    void name_by_id(Value& parameters) const;
    void serve(const Row& row,
               const std::string& gpu,
               const Reply& reply,
               const std::string& sender);
    void send(const Asked& asked, const bus::MessageBody& body, std::size_t size) const;
    void heard(const Asked& asked, const MethodAnswer& answer, const std::string& key);
    [[nodiscard]] bus::MessageBody body_of(const Asked& asked, const MethodAnswer& answer) const;
    void send_file(const Asked& asked, const std::string& text) const;
    void send_progress(const Asked& asked, const MethodAnswer& answer) const;

    bus::Connection& connection_;
    CallServer& server_;
    CallerAccess& access_;
    Authority& authority_;
    GpuNames names_;
    std::vector<std::unique_ptr<Row>> rows_ = {};  ///< the rows of methods that were called
    std::uint64_t last_call_ = 0;
    std::unordered_map<std::uint64_t, std::weak_ptr<bus::BusReply>> pending_ = {};
    /// Callbacks hold a weak pointer to this member, because answers may arrive after this object
    /// was destroyed.
    std::shared_ptr<BusCalls*> self_;
};

}  // namespace gpuprobe::inline service
