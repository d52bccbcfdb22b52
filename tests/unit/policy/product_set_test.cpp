// SPDX-License-Identifier: Apache-2.0
#include "policy/product_set.h"

#include <gtest/gtest.h>

#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace {

using namespace testing_variants;

TEST(InstalledCatalogue, IsReadAndEachFileIsCalledAsItsProduct) {
    const auto products = ProductSet::with_builtins();
    EXPECT_GE(products.names().size(), 9U);
    for (const auto& name : products.names()) {
        const auto manifest = products.find(name);
        ASSERT_TRUE(manifest) << name << ": " << manifest.error().text;
        EXPECT_EQ(manifest->name, name);
        EXPECT_TRUE(manifest->expires) << name;
    }
}

TEST(InstalledCatalogue, HasAnAnswerForAMachineWithOneRecentCard) {
    const auto products = ProductSet::with_builtins();
    for (const auto& name : products.names()) {
        const auto answer = recommend(products.find(name).value(), {}, machine("G02"), rules());
        EXPECT_EQ(answer.status, RecommendStatus::Ok) << name << json_pretty(to_value(answer));
    }
}

TEST(ProductSet, NamesWhatThereIsWhenAProductIsUnknown) {
    const auto found = ProductSet::with_builtins().find("torhc");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::NotFound);
    EXPECT_NE(found.error().text.find("torch"), std::string::npos);
}

TEST(ProductSet, TakesAnAdministratorsManifestInPlaceOfItsOwn) {
    auto products = ProductSet::with_builtins();
    const std::string mine =
        R"({"schema":"gpuprobe.variants/1","name":"torch","platforms":{"linux-x86_64":{"variants":{"mine":{}}}}})";
    ASSERT_TRUE(products.add(mine, "mine.json"));
    EXPECT_TRUE(find_variant(products.find("torch")->platforms.at(0), "mine"));
    const auto broken = products.add("{", "broken.json");
    ASSERT_FALSE(broken);
    EXPECT_TRUE(broken.error().text.starts_with("broken.json: manifest: ")) << broken.error().text;
    const auto nameless =
        products.add(R"({"platforms":{"linux-amd64":{"variants":{"cpu":{}}}}})", "x");
    ASSERT_FALSE(nameless);
    EXPECT_EQ(nameless.error().text, "x: name: missing");
}

}  // namespace
}  // namespace gpuprobe
