// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/gguf.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace gguf_parts_test {

struct NameRow {
    const char* name;
    const char* file;
    std::optional<GgufPart> part;
};
class PartName : public ::testing::TestWithParam<NameRow> {};

TEST_P(PartName, IsReadAndWritten) {
    EXPECT_EQ(gguf_part(GetParam().file), GetParam().part);
    if (GetParam().part) {
        EXPECT_EQ(gguf_part_name(*GetParam().part, GetParam().part->number), GetParam().file);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    PartName,
    ::testing::Values(NameRow{"First", "m-00001-of-00003.gguf", GgufPart{1, 3, "m"}},
                      NameRow{"Last", "a-b-q4-99999-of-99999.gguf",
                              GgufPart{99999, 99999, "a-b-q4"}},
                      NameRow{"Single", "m.gguf", std::nullopt},
                      NameRow{"NoStem", "-00001-of-00003.gguf", std::nullopt},
                      NameRow{"Zero", "m-00000-of-00003.gguf", std::nullopt},
                      NameRow{"BehindTheLast", "m-00004-of-00003.gguf", std::nullopt},
                      NameRow{"FewDigits", "m-0001-of-0003.gguf", std::nullopt},
                      NameRow{"NoDigits", "m-0000x-of-00003.gguf", std::nullopt},
                      NameRow{"OtherWord", "m-00001-in-00003.gguf", std::nullopt},
                      NameRow{"OtherEnd", "m-00001-of-00003.ggml", std::nullopt}),
    support::case_name);

Gguf part(std::int64_t number, std::int64_t count, const std::string& tensor) {
    Gguf gguf{.version = 3, .tensors = {{.name = tensor, .size = kib(1), .rows = 1}}};
    gguf.values = {{"split.no", number}, {"split.count", count}};
    return gguf;
}

TEST(Parts, AreJoinedWithTheFirstOnesValues) {
    auto first = part(0, 2, "a");
    first.values.emplace("general.architecture", std::string{"llama"});
    first.values.emplace("split.tensors.count", std::int64_t{2});
    const auto whole = joined({first, part(1, 2, "b")});
    ASSERT_TRUE(whole) << whole.error().text;
    EXPECT_EQ(whole->tensors.size(), 2U);
    EXPECT_EQ(whole->text("general.architecture"), "llama");
}

TEST(Parts, OfAnotherModelAreRefused) {
    const auto text = [](std::vector<Gguf> parts) {
        const auto whole = joined(std::move(parts));
        return whole ? std::string{} : whole.error().text;
    };
    EXPECT_EQ(text({part(0, 3, "a"), part(1, 3, "b")}), "part 1 is labeled as part 1 of 3");
    EXPECT_EQ(text({part(0, 2, "a"), part(0, 2, "b")}), "part 2 is labeled as part 1 of 2");
    EXPECT_EQ(text({part(0, 2, "a"), part(1, 2, "a")}), "the tensor a is in two parts");
    auto short_one = part(0, 1, "a");
    short_one.values.emplace("split.tensors.count", std::int64_t{5});
    EXPECT_EQ(text({short_one}), "the parts contain 1 tensors, but the first part declares 5");
    EXPECT_EQ(text({}), "the model has no parts");
}

}  // namespace gguf_parts_test
}  // namespace gpuprobe
