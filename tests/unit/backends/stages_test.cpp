// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/stages.h"

#include <gtest/gtest.h>

#include "backends/compute/measure.h"
#include "base/value.h"
#include "fake_device.h"
#include "recording_sink.h"

namespace gpuprobe::backends {
namespace stages_test {

const DeviceFacts kFacts{.index = 3, .name = "Fake", .pci = PciAddress{.bus = 1}};

using Prepare = std::function<void(FakeDevice&)>;

OpenDevice opening(Prepare prepare) {
    return [prepare = std::move(prepare)]() -> Attempt<std::unique_ptr<ComputeDevice>> {
        auto device = std::make_unique<FakeDevice>();
        if (prepare)
            prepare(*device);
        return std::unique_ptr<ComputeDevice>{std::move(device)};
    };
}

struct Stage {
    Answer answer = {};
    DeviceFacts device = {};
    [[nodiscard]] const Value& extra(const char* key) const { return device.extra.at(key); }
};
Stage after(DeviceStage stage, Prepare prepare = {}) {
    RecordingSink sink;
    Stage result{.answer = stage(kFacts, opening(std::move(prepare)), sink)};
    EXPECT_EQ(sink.devices.size(), 1U);
    if (!sink.devices.empty())
        result.device = sink.devices.front();
    return result;
}

TEST(VerifyStage, ComparesEachWord) {
    const auto stage = after(verify_device);
    EXPECT_EQ(stage.answer.outcome, Outcome::Answered);
    EXPECT_EQ(stage.device.index, 3U);
    EXPECT_EQ(stage.device.pci, kFacts.pci);
    EXPECT_EQ(
        json_line(stage.extra("check")),
        R"({"result":"verified","words":65536,"wrong_words":0,"first_wrong":null,"note":null})");
}

TEST(VerifyStage, DistinguishesWrongWordsFromCorrectOnes) {
    const auto stage = after(verify_device, [](FakeDevice& device) {
        device.spoil = [n = 0](Kernel, std::uint32_t right) mutable {
            return ++n == 101 || n == 201 ? right ^ 1 : right;
        };
    });
    EXPECT_EQ(stage.answer.outcome, Outcome::Answered);
    EXPECT_EQ(stage.extra("check").at("result"), Value{"miscomputed"});
    EXPECT_EQ(stage.extra("check").at("wrong_words"), Value{2});
    EXPECT_EQ(stage.extra("check").at("first_wrong"), Value{100});
    EXPECT_TRUE(stage.extra("check").at("note").is_string());
}

TEST(VerifyStage, IsNotPassedByAKernelThatDoesNothing) {
    const auto stage = after(verify_device, [](FakeDevice& device) {
        // The output buffer keeps its old content.
        device.refuse = [](const Work&) { return std::nullopt; };
        device.spoil = [](Kernel, std::uint32_t right) { return ~right; };
    });
    EXPECT_EQ(stage.extra("check").at("wrong_words"), Value{65536});
}

TEST(VerifyStage, ReportsWhyNothingRan) {
    const auto stage = after(verify_device, [](FakeDevice& device) {
        device.refuse = [](const Work&) {
            return Refusal{.code = "out-of-memory", .note = "cuMemAlloc: 2"};
        };
    });
    EXPECT_EQ(stage.answer.outcome, Outcome::Failed);
    EXPECT_EQ(stage.answer.note, "cuMemAlloc: 2");
    ASSERT_EQ(stage.answer.reasons.size(), 1U);
    EXPECT_EQ(stage.answer.reasons[0].code, "out-of-memory");
    EXPECT_EQ(
        json_line(stage.extra("check")),
        R"({"result":"failed","words":null,"wrong_words":null,"first_wrong":null,"note":"cuMemAlloc: 2"})");
}

/// Whether the device was released after the kernel failed with this refusal.
bool tidied_after(const char* code) {
    bool destroyed = false;
    FakeDevice* opened = nullptr;
    (void)after(verify_device, [&](FakeDevice& device) {
        opened = &device;
        device.destroyed = &destroyed;
        device.refuse = [code](const Work&) { return Refusal{.code = code}; };
    });
    const bool is_tidied = destroyed;
    if (!is_tidied)
        delete opened;  // a worker would end here and leave the device to the kernel
    return is_tidied;
}

TEST(VerifyStage, DoesNotReleaseAStuckDevice) {
    EXPECT_TRUE(tidied_after("out-of-memory"));
    EXPECT_FALSE(tidied_after("dispatch-timed-out")) << "freeing would wait for the kernel";
    EXPECT_FALSE(tidied_after("device-lost"));
}

TEST(VerifyStage, TakesOtherWordsEachTime) {
    EXPECT_NE(random_words(64), random_words(64));
}

TEST(MeasureStage, GivesEachFigureWithItsSpread) {
    const auto stage = after(measure_device);
    ASSERT_EQ(stage.answer.outcome, Outcome::Answered) << stage.answer.note.value_or("");
    const auto& measured = stage.extra("measured");
    for (const auto* key : {"memory_read", "memory_copy", "host_to_device", "device_to_host",
                            "fp32", "fp16", "int8", "launch_usec"}) {
        EXPECT_GT(measured.at(key).as_double().value_or(0), 0) << key;
        EXPECT_GE(measured.at("spread").at(key).as_double().value_or(-1), 0) << key;
    }
    EXPECT_GT(measured.at("duration_usec").as_int().value_or(0), 0);
    EXPECT_TRUE(measured.at("note").is_null());
}

TEST(MeasureStage, VerifiesFirst) {
    EXPECT_EQ(after(measure_device).extra("check").at("result"), Value{"verified"});
    const auto wrong = after(measure_device, [](FakeDevice& device) {
        device.spoil = [](Kernel kernel, std::uint32_t right) {
            return kernel == Kernel::Check ? right + 2 : right;
        };
    });
    EXPECT_EQ(wrong.extra("check").at("result"), Value{"miscomputed"});
    EXPECT_TRUE(wrong.extra("measured").is_null());
    EXPECT_EQ(wrong.answer.outcome, Outcome::Answered) << "a wrong result is a result";
    EXPECT_TRUE(wrong.answer.note);
}

TEST(MeasureStage, LeavesOutWhatTheDeviceDoesNotSupport) {
    const auto stage = after(measure_device, [](FakeDevice& device) {
        device.can = {.free = mib(32), .is_cpu = true, .has_host_copies = false};
    });
    const auto& measured = stage.extra("measured");
    for (const auto* key : {"host_to_device", "device_to_host", "fp16", "int8", "launch_usec"}) {
        EXPECT_TRUE(measured.at(key).is_null()) << key;
        EXPECT_TRUE(measured.at("spread").at(key).is_null()) << key;
    }
    EXPECT_FALSE(measured.at("memory_read").is_null());
}

TEST(MeasureStage, HasNoRateOfWrongNumbers) {
    for (const auto wrong :
         {Kernel::Fill, Kernel::Read, Kernel::Copy, Kernel::Fp32, Kernel::Fp16, Kernel::Int8}) {
        const auto stage = after(measure_device, [wrong](FakeDevice& device) {
            device.spoil = [wrong](Kernel kernel, std::uint32_t right) {
                return kernel == wrong ? right + 2 : right;
            };
        });
        EXPECT_EQ(stage.answer.outcome, Outcome::Failed) << static_cast<int>(wrong);
        ASSERT_EQ(stage.answer.reasons.size(), 1U);
        EXPECT_EQ(stage.answer.reasons[0].code, "miscomputed");
        EXPECT_TRUE(stage.extra("measured").is_null());
    }
}

TEST(MeasureStage, BearsAPromiseThatIsNotKept) {
    const auto stage = after(measure_device, [](FakeDevice& device) {
        device.refuse = [](const Work& work) -> std::optional<Refusal> {
            if (work.kernel != Kernel::Fp16)
                return std::nullopt;
            return Refusal{.code = "build-failed", .note = "no halves"};
        };
    });
    EXPECT_EQ(stage.answer.outcome, Outcome::Answered);
    EXPECT_TRUE(stage.extra("measured").at("fp16").is_null());
    EXPECT_EQ(stage.extra("measured").at("note"), Value{"fp16: no halves"});
}

TEST(MeasureStage, UsesAtMostAQuarterOfTheFreeMemory) {
    for (const auto free : {mib(64), mib(100), gib(1), gib(7), gib(139)}) {
        const auto size = buffer_size({.free = free});
        EXPECT_LE(2 * size.count, free.count / 4);
        EXPECT_EQ(size.count % kGroupBytes.count, 0U);
    }
    EXPECT_EQ(buffer_size({.free = gib(139)}), gib(1));
    EXPECT_EQ(buffer_size({.free = gib(16), .is_cpu = true}), mib(256));
    EXPECT_EQ(buffer_size({.free = gib(16), .max_buffer = mib(129)}), mib(128));
    EXPECT_EQ(buffer_size({}), mib(32)) << "nobody says what is free";
    EXPECT_EQ(buffer_size({.free = mib(1)}), mib(2)) << "the smallest piece";
}

}  // namespace stages_test
}  // namespace gpuprobe::backends
