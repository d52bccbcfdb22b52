// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <org.gpuprobe.GpuProbe1.Gpu.adaptor.h>

#include "base/files.h"
#include "engine/engine.h"
#include "service/admission.h"
#include "service/answers.h"
#include "service/caller_access.h"
#include "service/gpu_properties.h"
#include "wire/reply.h"
#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// The parts of the daemon that all bus objects use. They outlive the objects.
struct ServiceContext {
    engine::Engine& engine;
    const FileSystem& files;  ///< files of the machine that the engine reports on
    Admission& admission;
};

/// One GPU as an object on the bus; exported while this object exists.
class GpuObject final : public sdbus::AdaptorInterfaces<org::gpuprobe::GpuProbe1::Gpu_adaptor,
                                                        sdbus::ManagedObject_adaptor,
                                                        sdbus::Properties_adaptor> {
public:
    GpuObject(sdbus::IConnection& connection,
              const std::string& path,
              const Gpu& gpu,
              const Report& open_to_all,
              FindingsOf findings,
              const ServiceContext& context,
              const CallerAccess& access);
    ~GpuObject();

    /// Emits InterfacesAdded, for clients that already have a list of objects.
    void announce();
    /// Updates the properties and signals the changes. `has_other_words`: as in
    /// changed_properties().
    void update(const Gpu& gpu, const Report& open_to_all, bool has_other_words);
    [[nodiscard]] const std::string& id() const { return id_; }

private:
    using Identifiers = std::map<std::string, std::string>;

    void Describe(sdbus::Result<std::string>&& result) override;
    void GetIdentifiers(sdbus::Result<Identifiers>&& result, bus::Dictionary options) override;
    void GetMemory(sdbus::Result<bus::Dictionary>&& result, bus::Dictionary options) override;
    std::string Id() override;
    std::string Kind() override;
    std::string Vendor() override;
    std::string Name() override;
    std::string Title() override;
    std::string PciAddress() override;
    std::uint32_t VendorId() override;
    std::uint32_t DeviceId() override;
    std::string Driver() override;
    std::uint64_t MemoryTotal() override;
    std::string Health() override;
    std::map<std::string, bus::Dictionary> Backends() override;
    std::map<std::string, bus::Dictionary> Apis() override;
    std::map<std::string, std::string> Environment() override;
    std::map<sdbus::ObjectPath, bus::Dictionary> Units() override;
    std::string PowerState() override;

    /// This GPU in the current report. Throws the D-Bus error NoSuchGpu if it was removed.
    [[nodiscard]] const Gpu& current() const;
    void describe_to(const std::string& sender,
                     const Caller& caller,
                     bus::Reply<std::string>& reply) const;
    void identify_to(const Requester& who,
                     const Caller& caller,
                     bus::Reply<Identifiers>& reply) const;

    void read_memory(const std::string& id,
                     const Caller& caller,
                     bus::Reply<bus::Dictionary>& reply);

    std::string id_;
    GpuProperties properties_;
    FindingsOf findings_;  ///< the doctor's findings for the whole machine
    const ServiceContext& context_;
    const CallerAccess& access_;
    /// Callbacks hold a weak pointer to this, to notice that the object was destroyed.
    std::shared_ptr<GpuObject*> self_;
    bus::WaitingReplies<bus::Dictionary> memory_replies_ = {};
};

}  // namespace gpuprobe::inline service
