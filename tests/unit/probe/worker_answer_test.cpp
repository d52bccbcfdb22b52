// SPDX-License-Identifier: Apache-2.0
#include "probe/worker_answer.h"

#include <csignal>

#include <gtest/gtest.h>

#include "base/value.h"

namespace gpuprobe {
namespace worker_answer_test {

const ProbeTarget kTarget{.api = "vulkan", .driver = "/icd.json"};

Value object(const char* key, Value value) {
    Value made;
    made[key] = std::move(value);
    return made;
}

/// A stream without its end, and a complete stream.
struct Streams {
    std::string open = {};
    std::string whole = {};
};
Streams streams() {
    FrameWriter writer;
    Streams made;
    for (const auto& bytes :
         {writer.phase("dlopen"), writer.runtime(object("loader", Value{"old"})),
          writer.runtime(object("loader", Value{"new"})),
          writer.runtime(object("version", Value{"1.3"})), writer.phase("query"),
          writer.device(DeviceFacts{.name = "one"})})
        made.open += bytes;
    made.whole = made.open + writer.done(Outcome::Absent, "no driver", {because("no-device")});
    return made;
}

ProbeResult conclude(std::string_view bytes, const Ending& ending) {
    Transcript transcript;
    transcript.add(bytes);
    return transcript.conclude(kTarget, ending);
}

Ending exited(int code) {
    return Ending{.exit = WorkerExit{.code = code, .signal = std::nullopt}};
}
Ending killed(int signal) {
    return Ending{.exit = WorkerExit{.code = std::nullopt, .signal = signal}};
}

TEST(Transcript, TakesTheWorkersWordFromADoneFrame) {
    const auto result = conclude(streams().whole, exited(0));
    EXPECT_EQ(result.outcome, Outcome::Absent);
    EXPECT_EQ(result.note, "no driver");
    EXPECT_EQ(result.reasons, std::vector{because("no-device")});
    EXPECT_EQ(result.api, "vulkan");
    EXPECT_EQ(result.driver, "/icd.json");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.devices.size(), 1U);
}

TEST(Transcript, KeepsAReasonThatItDoesNotKnowAndNotesIt) {
    const Reason strange{.code = "of-tomorrow"};
    const auto bytes = FrameWriter{}.done(Outcome::Absent, std::nullopt, {strange});
    const auto result = conclude(bytes, exited(0));
    EXPECT_EQ(result.outcome, Outcome::Absent);
    const auto noted = because("malformed-answer", {{"problem", "unknown reason of-tomorrow"}});
    EXPECT_EQ(result.reasons, (std::vector{strange, noted}));
}

TEST(Transcript, LetsLaterRuntimeFactsReplaceEarlierOnes) {
    EXPECT_EQ(json_line(conclude(streams().whole, exited(0)).runtime),
              R"({"loader":"new","version":"1.3"})");
}

/// A device, the frame after the last device, an additional fact, and the end.
struct StagedFrames {
    std::string first = {};
    std::string more = {};
    std::string end = {};
};
StagedFrames staged_frames(std::uint32_t index_of_more) {
    FrameWriter writer;
    StagedFrames frames;
    frames.first = writer.device(DeviceFacts{.index = 0, .name = "one"});
    frames.first += writer.known();
    DeviceFacts more{.index = index_of_more, .name = "another"};
    more.extra["power_limit"] = Value{700};
    frames.more = writer.device(more);
    frames.end = writer.done(Outcome::Answered, std::nullopt, {});
    return frames;
}

TEST(Transcript, KnowsWhenEveryDeviceHasBeenTold) {
    const auto frames = staged_frames(0);
    Transcript transcript;
    EXPECT_FALSE(transcript.is_known());
    transcript.add(frames.first);
    EXPECT_TRUE(transcript.is_known());
    EXPECT_FALSE(transcript.is_complete());
    const auto early = transcript.so_far(kTarget);
    EXPECT_EQ(early.outcome, Outcome::Answered);
    ASSERT_EQ(early.devices.size(), 1U);
    EXPECT_EQ(early.devices[0].extra.find("power_limit"), nullptr);
    transcript.add(frames.more + frames.end);
    const auto whole = transcript.conclude(kTarget, exited(0));
    ASSERT_EQ(whole.devices.size(), 1U);
    EXPECT_EQ(whole.devices[0].name, "one");
    EXPECT_EQ(whole.devices[0].extra.at("power_limit"), Value{700});
}

TEST(Transcript, AddsNothingToADeviceOfAnotherNumber) {
    const auto frames = staged_frames(1);
    EXPECT_EQ(conclude(frames.first + frames.more + frames.end, exited(0)).devices.size(), 2U);
}

TEST(Transcript, CallsACrashAfterThatACrash) {
    const auto result = conclude(staged_frames(0).first, killed(SIGSEGV));
    EXPECT_EQ(result.outcome, Outcome::Crashed);
    EXPECT_EQ(result.devices.size(), 1U);
}

TEST(Transcript, BelievesACompleteAnswerWhateverHappensAfterwards) {
    EXPECT_EQ(conclude(streams().whole, killed(SIGSEGV)).outcome, Outcome::Absent);
    EXPECT_EQ(conclude(streams().whole, exited(1)).outcome, Outcome::Absent);
}

TEST(Transcript, KeepsFactsThatArrivedBeforeACrash) {
    const auto result = conclude(streams().open, killed(SIGSEGV));
    EXPECT_EQ(result.outcome, Outcome::Crashed);
    EXPECT_EQ(result.note, "SIGSEGV in phase query");
    EXPECT_EQ(result.signal, SIGSEGV);
    EXPECT_EQ(result.devices.size(), 1U);
    EXPECT_EQ(result.runtime.at("version"), Value{"1.3"});
}

TEST(Transcript, CallsAnExitWithoutAnAnswerAFailure) {
    const auto result = conclude(streams().open, exited(0));
    EXPECT_EQ(result.outcome, Outcome::Failed);
    EXPECT_EQ(result.note, "exited 0 without an answer in phase query");
    EXPECT_EQ(conclude("", exited(3)).note, "exited 3 without an answer");
}

TEST(Transcript, BlamesNoDriverForAnEndFromOutside) {
    for (const auto& [ending, note] :
         {std::pair{Ending{.exit = WorkerExit{}}, "ended without an answer in phase query"},
          {exited(143), "ended without an answer in phase query"}}) {
        const auto result = conclude(streams().open, ending);
        EXPECT_EQ(result.outcome, Outcome::Failed);
        EXPECT_EQ(result.note, note);
        ASSERT_EQ(result.reasons.size(), 1U);
        EXPECT_EQ(result.reasons[0].code, "worker-lost");
    }
    EXPECT_EQ(conclude(streams().open, killed(SIGTERM)).outcome, Outcome::Crashed);
}

TEST(Transcript, SaysHowLongItWaited) {
    const auto late = [](Duration limit) {
        return conclude(streams().open, Ending{.missed = limit});
    };
    EXPECT_EQ(late(std::chrono::seconds{15}).outcome, Outcome::TimedOut);
    EXPECT_EQ(late(std::chrono::seconds{15}).note, "timed out after 15 s in phase query");
    EXPECT_EQ(late(std::chrono::milliseconds{200}).note, "timed out after 200 ms in phase query");
    EXPECT_EQ(late(std::chrono::seconds{15}).devices.size(), 1U);
}

TEST(Transcript, DropsEverythingThatDoesNotAddUp) {
    const auto result = conclude(streams().whole + "x", exited(0));
    EXPECT_EQ(result.outcome, Outcome::Failed);
    EXPECT_EQ(result.note, "malformed answer in phase query");
    EXPECT_TRUE(result.devices.empty());
    EXPECT_TRUE(result.runtime.is_null());
    ASSERT_EQ(result.reasons.size(), 1U);
    EXPECT_EQ(result.reasons[0].code, "malformed-answer");
}

TEST(Transcript, SaysTheSameOfAMalformedStreamWhateverBecameOfTheProcess) {
    const auto bytes = streams().whole + "x";
    const auto killed = value_of(conclude(bytes, Ending{}));
    EXPECT_EQ(value_of(conclude(bytes, exited(0))), killed);
    EXPECT_EQ(value_of(conclude(bytes, Ending{.exit = WorkerExit{.signal = SIGSEGV}})), killed);
    EXPECT_EQ(value_of(conclude(bytes, Ending{.missed = std::chrono::seconds{15}})), killed);
}

TEST(Transcript, TakesOnlyTheThreeWordsThatAreAWorkersToSay) {
    for (const auto outcome : {Outcome::TimedOut, Outcome::Crashed, Outcome::Skipped}) {
        const auto bytes = FrameWriter{}.done(outcome, std::nullopt, {});
        const auto result = conclude(bytes, exited(0));
        EXPECT_EQ(result.outcome, Outcome::Failed);
        EXPECT_EQ(result.note, "malformed answer");
    }
}

TEST(Transcript, GivesTheSameAnswerHoweverTheStreamIsCut) {
    const auto whole = streams().whole;
    const auto expected = json_line(value_of(conclude(whole, exited(0))));
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
        Transcript transcript;
        transcript.add(std::string_view{whole}.substr(0, cut));
        EXPECT_EQ(transcript.is_complete(), cut == whole.size());
        EXPECT_FALSE(transcript.is_malformed());
        transcript.add(std::string_view{whole}.substr(cut));
        EXPECT_EQ(json_line(value_of(transcript.conclude(kTarget, exited(0)))), expected) << cut;
    }
}

TEST(Transcript, AddsWhatTheWorkerPrintedUnlessItAnswered) {
    auto ending = exited(1);
    ending.output_lines = {"cannot open"};
    const auto failed = conclude(streams().open, ending);
    ASSERT_EQ(failed.reasons.size(), 1U);
    EXPECT_EQ(failed.reasons[0].code, "worker-output");
    EXPECT_EQ(json_line(failed.reasons[0].detail), R"({"lines":["cannot open"]})");
    const auto answered = FrameWriter{}.done(Outcome::Answered, std::nullopt, {});
    EXPECT_TRUE(conclude(answered, ending).reasons.empty());
}

/// The result of a worker that reports this fact in addition to declared facts.
ProbeResult with_fact(const char* key, bool is_of_device) {
    FrameWriter writer;
    auto bytes = writer.phase("query");
    bytes += writer.runtime(object("version", Value{"1.3"}));
    bytes += is_of_device
                 ? writer.device(DeviceFacts{.name = "one", .extra = object(key, Value{"x"})})
                 : writer.runtime(object(key, Value{"x"}));
    bytes += writer.done(Outcome::Answered, std::nullopt, {});
    return conclude(bytes, exited(0));
}

TEST(Transcript, BelievesNoWorkerThatTellsAnUndeclaredFact) {
    EXPECT_EQ(with_fact("gfx_target", true).outcome, Outcome::Answered);
    EXPECT_EQ(with_fact("rocm_version", false).outcome, Outcome::Answered);
    for (const auto& [key, is_of_device] : {std::pair{"chip_serial", true},
                                            {"rocm_version", true},
                                            {"alternatives", true},
                                            {"chip_serial", false},
                                            {"gfx_target", false}}) {
        const auto result = with_fact(key, is_of_device);
        const auto problem = std::string{"unknown fact "} + key;
        EXPECT_EQ(result.outcome, Outcome::Failed) << key;
        EXPECT_EQ(result.note, "malformed answer in phase query: " + problem);
        EXPECT_TRUE(result.devices.empty());
        EXPECT_TRUE(result.runtime.is_null());
        EXPECT_EQ(result.reasons, std::vector{because("malformed-answer", {{"problem", problem}})});
    }
}

TEST(Transcript, ScrubsTheKeyThatIsUndeclared) {
    const auto note = *with_fact(("a\x1b[2J" + std::string(500, 'x')).c_str(), true).note;
    EXPECT_NE(note.find("unknown fact a\uFFFD[2Jxxx"), std::string::npos) << note;
    EXPECT_LT(note.size(), 200U);
}

TEST(Transcript, ScrubsThePhase) {
    const auto bytes = FrameWriter{}.phase("a\x1b[2J" + std::string(500, 'x'));
    const auto note = *conclude(bytes, killed(SIGABRT)).note;
    EXPECT_TRUE(note.starts_with("SIGABRT in phase a\uFFFD[2Jxxx")) << note;
    EXPECT_LT(note.size(), 100U);
}

}  // namespace worker_answer_test
}  // namespace gpuprobe
