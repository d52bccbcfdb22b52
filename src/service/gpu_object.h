// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <org.gpuprobe.GpuProbe1.Gpu.adaptor.h>

#include "base/files.h"
#include "bus/sdbus.h"
#include "engine/engine.h"
#include "service/gpu_properties.h"
#include "service/inline_budget.h"

namespace gpuprobe {

/// What every object on the bus may use. All of it outlives the objects.
struct ServiceContext {
    Engine& engine;
    const FileSystem& files;  ///< of the machine that the engine reports on
    InlineBudget& budget;
};

/// One GPU on the bus, from its construction to its destruction.
class GpuObject final : public sdbus::AdaptorInterfaces<org::gpuprobe::GpuProbe1::Gpu_adaptor,
                                                        sdbus::ManagedObject_adaptor,
                                                        sdbus::Properties_adaptor> {
public:
    GpuObject(sdbus::IConnection& connection,
              const std::string& path,
              const Gpu& gpu,
              const ServiceContext& context);
    ~GpuObject();

    /// Signals what changed.
    void update(const Gpu& gpu);
    [[nodiscard]] const std::string& id() const { return id_; }

private:
    std::string Describe() override;
    bus::Dictionary GetMemory(const bus::Dictionary& options) override;
    std::string Id() override;
    std::string Kind() override;
    std::string Vendor() override;
    std::string Name() override;
    std::string PciAddress() override;
    std::uint32_t VendorId() override;
    std::uint32_t DeviceId() override;
    std::string Driver() override;
    std::uint64_t MemoryTotal() override;
    std::string Health() override;
    std::map<std::string, bus::Dictionary> Backends() override;
    std::map<std::string, std::string> Environment() override;
    std::string PowerState() override;

    /// This GPU in the current report. Throws NoSuchGpu when it is gone.
    [[nodiscard]] const Gpu& current() const;

    std::string id_;
    GpuProperties properties_;
    const ServiceContext& context_;
};

}  // namespace gpuprobe
