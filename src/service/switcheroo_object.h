// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <net.hadess.SwitcherooControl.adaptor.h>

#include "engine/engine.h"
#include "inventory/udev.h"
#include "wire/sdbus.h"

namespace gpuprobe::inline service {

/// A GPU as switcheroo-control tells of it.
struct SwitcherooGpu {
    std::string name = {};
    std::vector<std::string> environment = {};  ///< names and values in turn
    bool is_default = false;                    ///< shows the desktop
    bool is_discrete = false;
    bool operator==(const SwitcherooGpu&) const = default;
};

/// Those that pictures are made on: with a render node, sorted by place. One of them is the
/// default: the primary one, else the only one.
/// Source: switcheroo-control 2.6, src/switcheroo-control.c.
std::vector<SwitcherooGpu> switcheroo_gpus(const Report& report);

/// The same as udev knows them, with its names and in its order, which are the original's. Those
/// that no variable chooses are left out, as there.
std::vector<SwitcherooGpu> switcheroo_gpus(const Report& report,
                                           const std::vector<RenderNode>& nodes);

/// What desktops ask when they offer to start a program on another GPU.
class SwitcherooObject final
    : public sdbus::AdaptorInterfaces<net::hadess::SwitcherooControl_adaptor,
                                      sdbus::Properties_adaptor> {
public:
    static constexpr const char* kName = "net.hadess.SwitcherooControl";

    SwitcherooObject(sdbus::IConnection& connection, engine::Engine& engine);
    ~SwitcherooObject();

    /// Announces what changed.
    void update();

private:
    bool HasDualGpu() override { return NumGPUs() >= 2; }
    std::uint32_t NumGPUs() override;
    std::vector<std::map<std::string, sdbus::Variant>> GPUs() override;

    /// What is known now: events that arrived are heard first.
    [[nodiscard]] std::vector<SwitcherooGpu> current();
    [[nodiscard]] std::vector<SwitcherooGpu> now();

    engine::Engine& engine_;
    std::vector<SwitcherooGpu> announced_ = {};
};

}  // namespace gpuprobe::inline service
