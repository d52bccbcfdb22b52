// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <net.hadess.SwitcherooControl.adaptor.h>

#include "engine/engine.h"
#include "inventory/udev.h"
#include "wire/bus.h"

namespace gpuprobe::inline service {

/// A GPU as switcheroo-control reports it.
struct SwitcherooGpu {
    std::string name = {};
    std::vector<std::string> environment = {};  ///< names and values of variables, alternating
    bool is_default = false;                    ///< whether this GPU renders the desktop
    bool is_discrete = false;
    bool operator==(const SwitcherooGpu&) const = default;
};

/// The GPUs that can render (GPUs with a render node), sorted by id. The default GPU is the primary
/// GPU, or the only GPU if there is just one. Source: switcheroo-control 2.6,
/// src/switcheroo-control.c.
std::vector<SwitcherooGpu> switcheroo_gpus(const Report& report);

/// The GPUs with the names and the order of udev, which switcheroo-control uses. GPUs that no
/// environment variable can select are left out, as in switcheroo-control.
std::vector<SwitcherooGpu> switcheroo_gpus(const Report& report,
                                           const std::vector<RenderNode>& nodes);

/// The D-Bus interface with which desktops offer to start a program on another GPU.
class SwitcherooObject final
    : public sdbus::AdaptorInterfaces<net::hadess::SwitcherooControl_adaptor,
                                      sdbus::Properties_adaptor> {
public:
    static constexpr const char* kName = "net.hadess.SwitcherooControl";

    SwitcherooObject(sdbus::IConnection& connection, engine::Engine& engine);
    ~SwitcherooObject();

    /// Signals changes; call this when the report has changed.
    void update();

private:
    bool HasDualGpu() override { return NumGPUs() >= 2; }
    std::uint32_t NumGPUs() override;
    std::vector<std::map<std::string, sdbus::Variant>> GPUs() override;

    /// The GPUs, after Engine::catch_up().
    [[nodiscard]] std::vector<SwitcherooGpu> current();
    /// The GPUs as they are currently known.
    [[nodiscard]] std::vector<SwitcherooGpu> now();

    engine::Engine& engine_;
    std::vector<SwitcherooGpu> announced_ = {};
};

}  // namespace gpuprobe::inline service
