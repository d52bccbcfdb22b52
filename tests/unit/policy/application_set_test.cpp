// SPDX-License-Identifier: Apache-2.0
#include "policy/application_set.h"

#include <gtest/gtest.h>

#include "knowledge/library.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace {

using namespace testing_variants;

std::string profile_named(std::string_view name, bool strict = false) {
    return R"({"schema":1,"name":")" + std::string{name} +
           R"(","description":"","backends":["vulkan","cpu"],"cpu":"last",)"
           R"("integrated":"always","strict":)" +
           (strict ? "true}" : "false}");
}

constexpr const char* kSelection =
    R"({"backends":["vulkan","cpu"],"cpu":"last","integrated":"always","strict":true})";
constexpr const char* kProduct = R"({"platforms":{"linux-x86_64":{"variants":{"mine":{}}}}})";

/// A whole document with these members.
std::string consumer_with(const std::string& members) {
    return R"({"schema":"gpuprobe.consumer/1","name":"mine","description":"",)" + members + "}";
}

std::string manifest_of(const std::string& name) {
    return R"({"schema":"gpuprobe.variants/1","name":")" + name +
           R"(","platforms":{"linux-x86_64":{"variants":{"mine":{}}}}})";
}

TEST(BuiltinConsumers, AreReadAndCalledAsTheirFiles) {
    const auto set = ConsumerSet::with_builtins();
    EXPECT_EQ(set.names().size(), knowledge::builtin_consumers().size());
    for (const auto& document : knowledge::builtin_consumers()) {
        const auto consumer = parse_consumer(document.json);
        ASSERT_TRUE(consumer) << document.name << ": " << consumer.error().text;
        EXPECT_EQ(consumer->name, document.name);
        EXPECT_TRUE(!consumer->product || consumer->product->expires) << document.name;
        EXPECT_EQ(set.selection(document.name) != nullptr, consumer->selection.has_value());
        EXPECT_EQ(set.product(document.name) != nullptr, consumer->product.has_value());
    }
}

TEST(BuiltinConsumers, AreListedByTheirParts) {
    const auto unread = ConsumerSet::with_builtins();
    const auto consumers = unread.consumers();
    const auto products = unread.products();
    EXPECT_GE(consumers.size(), 34U);
    EXPECT_GE(products.size(), 26U);
    for (const auto& name : unread.names()) {
        EXPECT_EQ(std::ranges::count(consumers, name), unread.selection(name) ? 1 : 0) << name;
        EXPECT_EQ(std::ranges::count(products, name), unread.product(name) ? 1 : 0) << name;
    }
    // What was read is listed no other way.
    EXPECT_EQ(unread.consumers(), consumers);
    EXPECT_EQ(unread.products(), products);
}

TEST(BuiltinConsumers, HaveABuildForAMachineWithOneRecentCard) {
    const auto set = ConsumerSet::with_builtins();
    for (const auto& name : set.products()) {
        const auto answer = recommend(*set.product(name), {}, machine("G02"), rules());
        EXPECT_EQ(answer.status, RecommendStatus::Ok) << name << json_pretty(to_value(answer));
    }
}

TEST(ConsumerSet, HasNothingUnderANameThatNobodyHas) {
    const auto set = ConsumerSet::with_builtins();
    EXPECT_EQ(set.selection("nobody"), nullptr);
    EXPECT_EQ(set.product("nobody"), nullptr);
    EXPECT_EQ(set.product("default"), nullptr);
    EXPECT_EQ(set.selection("shimmy"), nullptr);
}

TEST(ConsumerSet, ReadsAllThreeForms) {
    ConsumerSet set;
    const auto both = std::string{R"("selection":)"} + kSelection + R"(,"product":)" + kProduct;
    ASSERT_TRUE(set.add(consumer_with(both), "whole"));
    ASSERT_TRUE(set.add(profile_named("b"), "profile"));
    ASSERT_TRUE(set.add(manifest_of("a"), "manifest"));
    EXPECT_EQ(set.names(), (std::vector<std::string>{"a", "b", "mine"}));
    EXPECT_EQ(set.consumers(), (std::vector<std::string>{"b", "mine"}));
    EXPECT_EQ(set.products(), (std::vector<std::string>{"a", "mine"}));
    EXPECT_TRUE(set.selection("mine")->strict);
    EXPECT_TRUE(find_variant(set.product("mine")->platforms.at(0), "mine"));
}

TEST(ConsumerSet, PutsAPartInPlaceOfThatPartAlone) {
    auto set = ConsumerSet::with_builtins();
    ASSERT_TRUE(set.add(profile_named("torch", true), "profile"));
    EXPECT_TRUE(set.selection("torch")->strict);
    EXPECT_FALSE(find_variant(set.product("torch")->platforms.at(0), "mine"));
    ASSERT_TRUE(set.add(manifest_of("torch"), "manifest"));
    EXPECT_TRUE(set.selection("torch")->strict);
    EXPECT_TRUE(find_variant(set.product("torch")->platforms.at(0), "mine"));
    ASSERT_TRUE(set.add(profile_named("torch", false), "later"));
    EXPECT_FALSE(set.selection("torch")->strict);
    EXPECT_EQ(set.names().size(), knowledge::builtin_consumers().size());
}

TEST(ConsumerSet, KeepsWhatItHasWhenATextIsBroken) {
    ConsumerSet set;
    ASSERT_TRUE(set.add(profile_named("a"), "one"));
    const auto selection = std::string{R"("selection":)"} + kSelection;
    const struct {
        std::string text;
        const char* problem;
    } kBroken[] = {
        {"{", "consumer: "},
        {"[]", "manifest: "},
        {R"({"platforms":{"linux-amd64":{"variants":{"cpu":{}}}}})", "name: missing"},
        {consumer_with(R"("source":{"facts":[]})"), "consumer: neither selection nor product"},
        {consumer_with(selection + R"(,"floors":{})"), "floors: unknown member"},
        {consumer_with(R"("selection":[])"), "selection: expected an object"},
        {consumer_with(R"("selection":{"name":"a"})"), "selection: name: unknown member"},
        {consumer_with(R"("product":{"schema":1})"), "product: schema: unknown member"},
        {consumer_with(R"("product":{})"), "manifest: platforms: missing"},
        {consumer_with(selection + R"(,"source":[])"), "profile: source: expected an object"},
        {R"({"schema":"gpuprobe.consumer/2","name":"a"})", "manifest: schema: not"},
    };
    for (const auto& [text, problem] : kBroken) {
        const auto added = set.add(text, "/etc/gpuprobe/consumers/a.json");
        ASSERT_FALSE(added) << text;
        EXPECT_EQ(added.error().code, ErrorCode::Malformed);
        EXPECT_TRUE(added.error().text.starts_with("/etc/gpuprobe/consumers/a.json: " +
                                                   std::string{problem}))
            << added.error().text;
    }
    EXPECT_EQ(set.names(), (std::vector<std::string>{"a"}));
}

/// The floors of a consumer with one CUDA and one ROCm build.
Result<Consumer> with_floor(const std::string& floor, const std::string& builds) {
    return parse_consumer(consumer_with(
        R"("selection":{"backends":["cuda","rocm","cpu"],"cpu":"last","integrated":"always",)"
        R"("strict":false,"floors":{"cuda":[")" +
        floor + R"("]}},"product":{"platforms":{"linux-x86_64":{"variants":{)" + builds + "}}}}"));
}

TEST(Floors, MayLeaveToTheProductWhatItsBuildsSay) {
    const std::string builds =
        R"("new":{"requires":{"device":{"cuda":{"toolkit":"13.0","sass":["8.0"],"ptx":["12.0"]}}}},)"
        R"("old":{"requires":{"device":[{"cuda":{"toolkit":"12.6"}},{"cuda":{"toolkit":"12.8",)"
        R"("sass":["9.0a","7.5"]}}]}},)"
        R"("amd":{"requires":{"device":{"gfx":["gfx1100","gfx90a"]}}},)"
        R"("more":{"requires":{"device":{"gfx":["gfx1030","gfx90a"]}}})";
    const struct {
        const char* said;
        const char* meant;
    } kFloors[] = {
        {"gfx=product", "gfx=gfx90a|gfx1030|gfx1100"},
        {"driver>=product", "driver>=525.60.13"},
        {"driver>=product or unknown", "driver>=525.60.13 or unknown"},
        // Toolkit 12.6, whose code nobody has listed, compiles for 5.0.
        {"compute-capability>=product", "compute-capability>=5.0"},
        {"compute-capability>=8.0", "compute-capability>=8.0"},
    };
    for (const auto& [said, meant] : kFloors) {
        const auto consumer = with_floor(said, builds);
        ASSERT_TRUE(consumer) << said << ": " << consumer.error().text;
        EXPECT_EQ(consumer->selection->floors.at("cuda"), std::vector<std::string>{meant});
    }
}

TEST(Floors, LeaveToAProductOnlyWhatItSays) {
    for (const auto* floor : {"gfx=product", "driver>=product", "compute-capability>=product"})
        EXPECT_EQ(with_floor(floor, R"("cpu":{})").error().text,
                  "floors: " + std::string{floor} + ": no build says it");
    const auto own =
        R"("new":{"requires":{"device":{"cuda":{"toolkit":"13.0","min_driver":"570"}}}})";
    EXPECT_EQ(with_floor("driver>=product", own)->selection->floors.at("cuda").front(),
              "driver>=570.0");
    EXPECT_FALSE(with_floor("glibc>=product", own));
}

TEST(ConsumerSet, HasALimit) {
    ConsumerSet set;
    for (std::size_t i = 0; i < kMaxConsumers; ++i)
        ASSERT_TRUE(set.add(profile_named("p" + std::to_string(i)), "x"));
    const auto added = set.add(profile_named("one-more"), "x");
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::TooLarge);
    EXPECT_TRUE(set.add(profile_named("p0", true), "x"));
}

TEST(Product, IsOfAConsumerOrAManifest) {
    const auto product = std::string{R"("product":)"} + kProduct;
    EXPECT_EQ(parse_product(consumer_with(product))->name, "mine");
    EXPECT_EQ(parse_product(manifest_of("a"))->name, "a");
    EXPECT_EQ(parse_product(R"({"platforms":{"linux-amd64":{"variants":{"cpu":{}}}}})")->name, "");
    EXPECT_EQ(parse_product(profile_named("a")).error().text, "manifest: has no variants");
    EXPECT_TRUE(parse_product("{").error().text.starts_with("manifest: "));
}

TEST(UnknownName, IsCalledByTheOneThatWasPerhapsMeant) {
    const auto near = unknown_name(ErrorCode::NotFound, "no product", "torhc", {"jax", "torch"});
    EXPECT_EQ(near.code, ErrorCode::NotFound);
    EXPECT_EQ(near.text, "no product 'torhc'; did you mean 'torch'?");
    EXPECT_EQ(unknown_name(ErrorCode::UnknownConsumer, "no consumer", "x", {"jax"}).text,
              "no consumer 'x'; 'gpuprobectl consumers' lists them");
}

}  // namespace
}  // namespace gpuprobe
