// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/units.h"
#include "engine/engine.h"
#include "engine/probed_machine.h"
#include "inventory/scan.h"
#include "probe/launcher.h"
#include "support/places.h"

namespace gpuprobe::support {

/// An event loop in which a test sets the time and runs the timers.
class HandLoop final : public EventLoop {
public:
    [[nodiscard]] EventHandle watch(int,
                                    std::uint32_t,
                                    Priority,
                                    std::function<void(std::uint32_t)>) override {
        return std::make_unique<EventSource>();
    }
    [[nodiscard]] EventHandle after(Duration, Callback due) override {
        return defer(std::move(due));
    }
    [[nodiscard]] EventHandle defer(Callback next) override {
        auto source = std::make_unique<Source>();
        source->due = std::make_shared<Callback>(std::move(next));
        waiting_.push_back(source->due);
        return source;
    }
    [[nodiscard]] MonotonicTime now() const override { return time; }

    /// Runs all timers that were set before this call and not canceled.
    void run() {
        for (const auto& waiting : std::exchange(waiting_, {}))
            if (const auto due = waiting.lock())
                (*due)();
    }

    MonotonicTime time = {};

private:
    struct Source final : EventSource {
        std::shared_ptr<Callback> due = {};  // shared, because it must stay valid while it runs
    };
    std::vector<std::weak_ptr<Callback>> waiting_ = {};
};

/// The recorded machine "nvidia-h200-1", whose GPU only root and one group may open.
class ServedMachine {
    // Declared first, because the engine uses these members until it is destroyed.
    SystemClock clock_ = {};
    SpawnLauncher launcher_{"/no/such/worker", ""};

public:
    static constexpr std::uint32_t kGroup = 44;
    static constexpr const char* kGpu = "pci:0000:00:06.0";

    explicit ServedMachine(EventLoop& loop) {
        auto source =
            engine::replayed_machine(GPUPROBE_SOURCE_DIR "/tests/data/machines/nvidia-h200-1");
        EXPECT_TRUE(source) << source.error().text;
        files = source->files;
        source->nodes = std::make_shared<ClosedNodes>(source->nodes);
        engine = engine::Engine::create(std::move(source).value(), loop, launcher_, clock_, {});
        engine->start();
    }

    std::shared_ptr<const FileSystem> files = {};
    std::unique_ptr<engine::Engine> engine = {};

private:
    /// The nodes of another source, which only root and members of kGroup may open.
    class ClosedNodes final : public NodeSource {
    public:
        explicit ClosedNodes(std::shared_ptr<const NodeSource> nodes) : nodes_{std::move(nodes)} {}
        [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const override {
            auto node = nodes_->find(path);
            if (node) {
                node->mode = 0660;
                node->gid = kGroup;
                node->group = "video";
            }
            return node;
        }
        [[nodiscard]] std::vector<std::string> list(std::string_view folder) const override {
            return nodes_->list(folder);
        }

    private:
        std::shared_ptr<const NodeSource> nodes_;
    };
};

}  // namespace gpuprobe::support
