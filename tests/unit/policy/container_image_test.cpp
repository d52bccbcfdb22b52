// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/scenario.h"

/// The libraries that a container image bundles, and its requirements on the NVIDIA driver.
namespace gpuprobe {
namespace container_image_test {

using namespace testing_variants;

// The conditions are those of nvidia/cuda:12.8, shortened to some brands.
constexpr const char* kConditions =
    R"(["cuda>=12.8", "brand=tesla|nvidia|quadro|quadrortx|nvidiartx,driver>=535,driver<536",)"
    R"( "brand=tesla|nvidia|quadro|quadrortx|nvidiartx,driver>=550,driver<551"])";
constexpr const char* kBundled = R"("bundles":{"cuda-compat":"12.8"})";
constexpr const char* kCubins = R"("toolkit":"12.8","sass":["8.0","8.6"])";

/// A manifest with a CPU variant and a variant in a container image with these members.
Manifest manifest(const std::string& cuda, const std::string& image) {
    auto parsed = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)"
        R"("cpu":{},"v":{"family":"cuda","tier":9,"requires":{"device":{"backend":"cuda","cuda":{)" +
        cuda + R"(}}},"artifact":{"type":"oci","ref":"example.org/p","image":{)" + image +
        "}}}}}}}");
    EXPECT_TRUE(parsed) << parsed.error().text;
    return parsed ? std::move(parsed).value() : Manifest{};
}

std::string bundling_and_requiring(const std::string& conditions = kConditions) {
    return std::string{kBundled} + R"(,"requires":)" + conditions;
}

/// A machine whose GPU has this name, capability and driver.
Report with(const char* name, const char* capability, const char* driver, const char* cuda) {
    auto report = machine("G04");
    report.gpus[0].name = name;
    report.gpus[0].architecture.cuda_compute_capability = capability;
    report.gpus[0].driver.version = driver;
    report.runtimes["cuda"].version = cuda;
    return report;
}

Report rtx_3090() {
    return with("NVIDIA GeForce RTX 3090", "8.6", "535.183.01", "12.2");
}
Report a100() {
    return with("NVIDIA A100-SXM4-40GB", "8.0", "535.183.01", "12.2");
}

std::vector<Reason> reasons(const Manifest& manifest, const Report& report) {
    const auto answer = recommend(manifest, {}, report, rules());
    const auto* found = candidate(answer, "v");
    return found ? found->reasons : std::vector<Reason>{};
}

std::string chosen(const Manifest& manifest, const Report& report) {
    return recommend(manifest, {}, report, rules()).variant.value_or("");
}

TEST(ContainerImage, IsRefusedByItsOwnConditionOnAGeForce) {
    const auto image = manifest(kCubins, bundling_and_requiring());
    const auto why = reasons(image, rtx_3090());
    ASSERT_EQ(why.size(), 1U);
    EXPECT_TRUE(why[0].is("image-needs-newer-driver"));
    EXPECT_EQ(why[0].detail.at("predicate"), Value{"NVIDIA_REQUIRE_CUDA"});
    EXPECT_EQ(why[0].detail.at("want"), Value{"cuda>=12.8"});
    EXPECT_EQ(why[0].detail.at("have"), Value{"12.2"});
    EXPECT_EQ(why[0].detail.at("toolkit"), Value{"12.8"});
    EXPECT_EQ(chosen(image, rtx_3090()), "cpu");
    // Outside an image, the same build runs on this machine, because CUDA 12 has minor-version
    // compatibility.
    EXPECT_EQ(chosen(manifest(kCubins, ""), rtx_3090()), "v");
}

TEST(ContainerImage, RunsOnADataCenterGpuByItsCompatibilityLibraries) {
    EXPECT_EQ(chosen(manifest(kCubins, bundling_and_requiring()), a100()), "v");
    const auto cuda_13 = R"("toolkit":"13.0","sass":["8.0"])";
    const auto libraries = R"("bundles":{"cuda-compat":"13.0"})";
    EXPECT_EQ(chosen(manifest(cuda_13, libraries), a100()), "v");
    const auto why = reasons(manifest(cuda_13, ""), a100());
    ASSERT_EQ(why.size(), 1U);
    EXPECT_TRUE(why[0].is("driver-too-old"));
    // Bundled libraries of an older CUDA do not help.
    EXPECT_EQ(chosen(manifest(cuda_13, kBundled), a100()), "cpu");
}

TEST(ContainerImage, CompilesItsPtxWithItsCompatibilityLibraries) {
    const auto h100 = with("NVIDIA H100 80GB HBM3", "9.0", "550.54.15", "12.4");
    const auto ptx = R"("toolkit":"12.8","sass":["8.6"],"ptx":["9.0"])";
    EXPECT_EQ(chosen(manifest(ptx, bundling_and_requiring()), h100), "v");
    const auto why = reasons(manifest(ptx, ""), h100);
    ASSERT_EQ(why.size(), 1U);
    EXPECT_TRUE(why[0].is("ptx-needs-newer-driver"));
    // The libraries of a newer driver are not replaced.
    const auto newer = R"("toolkit":"13.0","sass":["8.6"],"ptx":["9.0"])";
    EXPECT_EQ(chosen(manifest(newer, kBundled),
                     with("NVIDIA H100 80GB HBM3", "9.0", "580.65.06", "13.0")),
              "v");
}

TEST(ContainerImage, IsForTheDriversInItsCondition) {
    const auto image = manifest(kCubins, bundling_and_requiring());
    const auto refused = with("NVIDIA A100-SXM4-40GB", "8.0", "545.23.08", "12.3");
    ASSERT_EQ(reasons(image, refused).size(), 1U);
    EXPECT_TRUE(reasons(image, refused)[0].is("image-needs-newer-driver"));
    EXPECT_EQ(chosen(image, with("NVIDIA GeForce RTX 3090", "8.6", "570.86.16", "12.8")), "v");
}

TEST(ContainerImage, MayRunOnAWorkstationCard) {
    const auto rtx_a6000 = with("NVIDIA RTX A6000", "8.6", "535.183.01", "12.2");
    EXPECT_EQ(chosen(manifest(kCubins, bundling_and_requiring()), rtx_a6000), "v");
    const auto cuda_13 = R"("toolkit":"13.0","sass":["8.6"])";
    const auto why = reasons(manifest(cuda_13, R"("bundles":{"cuda-compat":"13.0"})"), rtx_a6000);
    ASSERT_EQ(why.size(), 1U);
    EXPECT_TRUE(why[0].is("fact-unknown"));
}

/// Depending on the driver, NVML reports "Tesla" or "NVIDIA" in the names of such GPUs.
TEST(ContainerImage, HasToAdmitEveryBrandThatTheGpuMayHave) {
    const auto only_one =
        bundling_and_requiring(R"(["cuda>=12.8 brand=tesla,driver>=535,driver<536"])");
    const auto why = reasons(manifest(kCubins, only_one), a100());
    ASSERT_EQ(why.size(), 1U);
    EXPECT_TRUE(why[0].is("fact-unknown"));
    const auto but_one = bundling_and_requiring(R"(["brand!=geforce,arch>=8.0 cuda>=12.8"])");
    EXPECT_EQ(chosen(manifest(kCubins, but_one), a100()), "v");
    auto nameless = a100();
    nameless.gpus[0].name.reset();
    EXPECT_TRUE(reasons(manifest(kCubins, but_one), nameless)[0].is("fact-unknown"));
}

TEST(ContainerImage, IsIgnoredByAGpuOfAnotherVendor) {
    auto report = machine("G04");
    report.gpus[0].vendor = "amd";
    report.gpus[0].driver = {.name = "amdgpu", .version = "6.10.5"};
    const auto why = reasons(manifest(kCubins, bundling_and_requiring()), report);
    ASSERT_FALSE(why.empty());
    for (const auto& reason : why)
        EXPECT_FALSE(reason.is("fact-unknown")) << reason.code;
}

struct ProductRow {
    const char* name;
    const char* product;
    const char* line;  ///< "" for none
};
class NvidiaProductLine : public testing::TestWithParam<ProductRow> {};

TEST_P(NvidiaProductLine, FollowsFromTheName) {
    const auto* products = rules().products_named(GetParam().product);
    EXPECT_EQ(products ? products->line : "", GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    Names,
    NvidiaProductLine,
    testing::Values(ProductRow{"A100", "NVIDIA A100-SXM4-40GB", "data-center"},
                    ProductRow{"T4", "Tesla T4", "data-center"},
                    ProductRow{"L40S", "NVIDIA L40S", "data-center"},
                    ProductRow{"Partition", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "data-center"},
                    ProductRow{"Server", "NVIDIA RTX PRO 6000 Blackwell Server Edition",
                               "data-center"},
                    ProductRow{"Workstation", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
                               "workstation"},
                    ProductRow{"A6000", "NVIDIA RTX A6000", "workstation"},
                    ProductRow{"Quadro", "Quadro P400", "workstation"},
                    ProductRow{"GeForce", "NVIDIA GeForce RTX 3090", "geforce"},
                    ProductRow{"Old", "GeForce GTX 1070 Ti", "geforce"},
                    ProductRow{"Titan", "NVIDIA TITAN V", "titan"},
                    ProductRow{"VirtualGpu", "NVIDIA A10-24Q", ""},
                    ProductRow{"OlderVirtualGpu", "GRID T4-16C", ""},
                    ProductRow{"Spark", "NVIDIA GB10", ""},
                    ProductRow{"Longer", "NVIDIA A1000", ""},
                    ProductRow{"Nothing", "", ""}),
    support::case_name);

struct MistakeRow {
    const char* name;
    const char* artifact;
    const char* problem;
};
class ImageMistake : public testing::TestWithParam<MistakeRow> {};

TEST_P(ImageMistake, IsRefusedWithItsPlace) {
    const auto parsed = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)"
        R"("v":{"artifact":)" +
        std::string{GetParam().artifact} + "}}}}}");
    ASSERT_FALSE(parsed);
    EXPECT_NE(parsed.error().text.find(GetParam().problem), std::string::npos)
        << parsed.error().text;
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    ImageMistake,
    testing::Values(
        MistakeRow{"OfAnIndex",
                   R"({"type":"index","urls":["https://a.org"],"image":{"bundles":{"rocm":"7"}}})",
                   "image: allowed only for an artifact of type oci"},
        MistakeRow{"UnknownPart", R"({"type":"oci","ref":"a","image":{"bundles":{"cudnn":"9"}}})",
                   "bundles.cudnn"},
        MistakeRow{"NoVersion", R"({"type":"oci","ref":"a","image":{"bundles":{"mesa":"new"}}})",
                   "bundles.mesa"},
        MistakeRow{"UnknownProperty",
                   R"({"type":"oci","ref":"a","image":{"requires":["os=linux"]}})",
                   "expected cuda, driver, arch or brand"},
        MistakeRow{"OrderOfBrands",
                   R"({"type":"oci","ref":"a","image":{"requires":["brand>tesla"]}})",
                   "brand: expected = or !="},
        MistakeRow{"UnknownMember", R"({"type":"oci","ref":"a","image":{"injects":[]}})",
                   "image.injects"}),
    support::case_name);

}  // namespace container_image_test
}  // namespace gpuprobe
