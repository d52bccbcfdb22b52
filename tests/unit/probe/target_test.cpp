// SPDX-License-Identifier: Apache-2.0
#include "probe/target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

namespace gpuprobe {
namespace target_test {

/// A machine's files in a temporary folder.
class Tree {
public:
    Tree() {
        auto name = (std::filesystem::temp_directory_path() / "gpuprobe-tree-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() { std::filesystem::remove_all(root_); }

    void file(const std::string& path, const std::string& content) const {
        std::filesystem::create_directories(std::filesystem::path{root_ + path}.parent_path());
        std::ofstream{root_ + path} << content;
    }
    void link(const std::string& path, const std::string& target) const {
        std::filesystem::create_directories(std::filesystem::path{root_ + path}.parent_path());
        std::filesystem::create_symlink(target, root_ + path);
    }
    void manifest(const std::string& path, const std::string& library = "libx.so") const {
        file(path, R"({"file_format_version":"1.0.0","ICD":{"library_path":")" + library +
                       R"(","api_version":"1.3.0"}})");
    }
    [[nodiscard]] RootedFiles files() const { return RootedFiles{root_}; }
    [[nodiscard]] TargetSearch search() const { return find_targets(files(), {}); }
    /// The drivers of the API's targets in order; "" for a target without a driver.
    [[nodiscard]] std::vector<std::string> drivers(std::string_view api) const {
        std::vector<std::string> found;
        for (const auto& target : search().targets)
            if (target.api == api)
                found.push_back(target.driver);
        return found;
    }

private:
    std::string root_ = {};
};

using Paths = std::vector<std::string>;

TEST(FindTargets, OffersEveryApiOnAMachineWithoutDrivers) {
    const Tree tree;
    std::vector<std::string> apis;
    for (const auto& target : tree.search().targets) {
        apis.push_back(target.api);
        EXPECT_EQ(target.driver, "");
        EXPECT_EQ(target.stage, "query");
    }
    EXPECT_EQ(apis, (Paths{"cuda", "hip", "level_zero", "nvml", "level_zero_sysman", "drm", "pci",
                           "nvcodec", "vulkan", "opencl"}));
    EXPECT_TRUE(tree.search().unusable.empty());
}

TEST(FindTargets, VisitsFoldersInTheLoadersOrder) {
    const Tree tree;
    tree.manifest("/usr/share/vulkan/icd.d/b.json");
    tree.manifest("/usr/share/vulkan/icd.d/a.json");
    tree.manifest("/usr/local/share/vulkan/icd.d/c.json");
    tree.manifest("/etc/vulkan/icd.d/d.json");
    tree.manifest("/usr/local/etc/vulkan/icd.d/e.json");
    tree.manifest("/etc/xdg/vulkan/icd.d/f.json");
    EXPECT_EQ(tree.drivers("vulkan"),
              (Paths{"/etc/xdg/vulkan/icd.d/f.json", "/usr/local/etc/vulkan/icd.d/e.json",
                     "/etc/vulkan/icd.d/d.json", "/usr/local/share/vulkan/icd.d/c.json",
                     "/usr/share/vulkan/icd.d/a.json", "/usr/share/vulkan/icd.d/b.json"}));
}

TEST(FindTargets, OffersEachNodeToItsApi) {
    const Tree tree;
    EXPECT_EQ(tree.drivers("vaapi"), Paths{}) << "no node, no target";
    Machine machine;
    const auto drivers = [&](const std::string& api = "vaapi") {
        Paths found;
        for (const auto& target : find_targets(tree.files(), machine).targets)
            if (target.api == api)
                found.push_back(target.driver);
        return found;
    };
    machine.devices = {{.nodes = {{.path = "/dev/dri/card0"}, {.path = "/dev/dri/renderD129"}}},
                       {.nodes = {{.path = "/dev/dri/renderD128"}, {.path = "/dev/kfd"}},
                        .partitions = {{.nodes = {"/dev/dri/renderD130", "/dev/dri/card2"}}}}};
    EXPECT_EQ(drivers(),
              (Paths{"/dev/dri/renderD128", "/dev/dri/renderD129", "/dev/dri/renderD130"}));
    EXPECT_EQ(drivers("v4l2"), Paths{});
    machine.devices.push_back({.nodes = {{.path = "/dev/video10"}, {.path = "/dev/video11"}}});
    EXPECT_EQ(drivers("v4l2"), (Paths{"/dev/video10", "/dev/video11"}));
    for (int minor = 131; minor < 300; ++minor)
        machine.devices[0].nodes.push_back({.path = "/dev/dri/renderD" + std::to_string(minor)});
    EXPECT_EQ(drivers().size(), 64U);
}

TEST(FindTargets, TakesOtherFoldersWhenTold) {
    const Tree tree;
    tree.manifest("/etc/vulkan/icd.d/a.json");
    tree.manifest("/fakes/b.json");
    const auto search = find_targets(tree.files(), {}, TargetFolders{.vulkan = {"/fakes"}});
    const auto vulkan = std::ranges::find(search.targets, "vulkan", &ProbeTarget::api);
    ASSERT_NE(vulkan, search.targets.end());
    EXPECT_EQ(vulkan->driver, "/fakes/b.json");
    EXPECT_EQ(std::ranges::count(search.targets, "vulkan", &ProbeTarget::api), 1);
}

using Variables = std::map<std::string, std::string>;

/// The drivers of all targets for this API.
Paths drivers_of(const TargetSearch& search, std::string_view api) {
    Paths drivers;
    for (const auto& target : search.targets)
        if (target.api == api)
            drivers.push_back(target.driver);
    return drivers;
}

TEST(FindTargets, AddsTheDriversOfTheEnvironment) {
    const Tree tree;
    tree.manifest("/usr/share/vulkan/icd.d/a.json");
    tree.manifest("/opt/own/b.json");
    tree.manifest("/opt/more/c.json");
    tree.file("/etc/OpenCL/vendors/pocl.icd", "/usr/lib/libpocl.so.2.10.0\n");
    TargetFolders folders;
    add_from_environment(folders, [](const char* name) -> const char* {
        const std::string_view variable{name};
        return variable == "OCL_ICD_FILENAMES"     ? "libpocl.so.2:libnvidia-opencl.so.1"
               : variable == "VK_ADD_DRIVER_FILES" ? "/opt/own/b.json:/opt/more:relative.json:"
                                                   : nullptr;
    });
    const auto search = find_targets(tree.files(), {}, folders);
    EXPECT_EQ(drivers_of(search, "vulkan"),
              (Paths{"/opt/own/b.json", "/opt/more/c.json", "/usr/share/vulkan/icd.d/a.json"}));
    EXPECT_EQ(drivers_of(search, "opencl"),
              (Paths{"/etc/OpenCL/vendors/pocl.icd", "libnvidia-opencl.so.1"}));
    EXPECT_EQ(search.variables, (Variables{{"/opt/own/b.json", "VK_ADD_DRIVER_FILES"},
                                           {"/opt/more/c.json", "VK_ADD_DRIVER_FILES"},
                                           {"libnvidia-opencl.so.1", "OCL_ICD_FILENAMES"}}));
    TargetFolders none;
    add_from_environment(none, [](const char*) -> const char* { return nullptr; });
    EXPECT_TRUE(none.vulkan_named.empty() && none.opencl_named.empty() &&
                none.opencl_added.empty());
}

/// Of these variables, the Vulkan loader reads only the first that is set.
TEST(FindTargets, ReadsOneOfVulkansVariables) {
    const auto named = [](const char* (*get)(const char*)) {
        TargetFolders folders;
        add_from_environment(folders, get);
        return folders.vulkan_named;
    };
    EXPECT_EQ(named([](const char*) -> const char* { return "/a.json"; }),
              (std::vector<NamedDriver>{{"/a.json", "VK_DRIVER_FILES"}}));
    EXPECT_EQ(named([](const char* name) -> const char* {
                  return std::string_view{name} == "VK_DRIVER_FILES" ? "" : "/a.json";
              }),
              (std::vector<NamedDriver>{{"/a.json", "VK_ICD_FILENAMES"}}));
}

/// If loaders find a driver without a variable, too, the driver is not attributed to the variable.
TEST(FindTargets, NamesTheVariablesOfDrivers) {
    const Tree tree;
    tree.manifest("/usr/share/vulkan/icd.d/a.json");
    tree.manifest("/opt/own/b.json");
    tree.file("/opt/own/c.icd", "libc.so\n");
    const TargetFolders folders{
        .vulkan_named = {{"/usr/share/vulkan/icd.d/a.json", "VK_DRIVER_FILES"},
                         {"/opt/own/b.json", "VK_DRIVER_FILES"},
                         {"/gone", "VK_DRIVER_FILES"}},
        .opencl_named = {{"/opt/own", "OCL_ICD_VENDORS"}}};
    const auto search = find_targets(tree.files(), {}, folders);
    EXPECT_EQ(drivers_of(search, "vulkan"),
              (Paths{"/usr/share/vulkan/icd.d/a.json", "/opt/own/b.json"}));
    EXPECT_EQ(search.variables, (Variables{{"/opt/own/b.json", "VK_DRIVER_FILES"},
                                           {"/gone", "VK_DRIVER_FILES"},
                                           {"/opt/own/c.icd", "OCL_ICD_VENDORS"}}));
    ASSERT_EQ(search.unusable.size(), 1U);
    EXPECT_EQ(search.unusable.front().driver, "/gone");
}

TEST(FindTargets, CountsTwoNamesOfOneFileOnce) {
    const Tree tree;
    tree.manifest("/usr/share/vulkan/icd.d/a.json");
    tree.link("/etc/vulkan/icd.d/z.json", "/usr/share/vulkan/icd.d/a.json");
    EXPECT_EQ(tree.drivers("vulkan"), Paths{"/etc/vulkan/icd.d/z.json"});
}

TEST(FindTargets, PassesOverOtherProcessorsAndOtherFiles) {
    const Tree tree;
    tree.manifest("/etc/vulkan/icd.d/intel_icd.i686.json");
    tree.manifest("/etc/vulkan/icd.d/README");
    tree.file("/etc/vulkan/icd.d/old.json",
              R"({"ICD":{"library_path":"libold.so","library_arch":"32"}})");
    tree.file("/etc/vulkan/icd.d/new.json",
              R"({"ICD":{"library_path":"libnew.so","library_arch":"64"}})");
    EXPECT_EQ(tree.drivers("vulkan"), Paths{"/etc/vulkan/icd.d/new.json"});
    EXPECT_TRUE(tree.search().unusable.empty());
}

TEST(FindTargets, ReportsManifestsThatCanNotBeTried) {
    const Tree tree;
    tree.file("/etc/vulkan/icd.d/bad.json", "{");
    tree.file("/etc/vulkan/icd.d/big.json", std::string(65537, ' '));
    tree.link("/etc/vulkan/icd.d/dangling.json", "/nowhere.json");
    tree.file("/etc/OpenCL/vendors/empty.icd", "\n");
    const auto search = tree.search();
    ASSERT_EQ(search.unusable.size(), 4U);
    for (const auto& result : search.unusable) {
        EXPECT_EQ(result.outcome, Outcome::Failed);
        EXPECT_TRUE(result.note->starts_with(result.driver)) << *result.note;
    }
    EXPECT_EQ(search.unusable[0].reasons[0].code, "malformed-manifest");
    EXPECT_EQ(search.unusable[0].note, "/etc/vulkan/icd.d/bad.json: not JSON at byte 2");
    EXPECT_EQ(search.unusable[1].reasons[0].code, "unreadable-manifest");
    EXPECT_EQ(search.unusable[2].reasons[0].code, "unreadable-manifest");
    EXPECT_EQ(search.unusable[3].api, "opencl");
    EXPECT_EQ(tree.drivers("vulkan"), Paths{""});
    EXPECT_EQ(tree.drivers("opencl"), Paths{""});
}

TEST(FindTargets, TakesAtMost64DriversPerApi) {
    const Tree tree;
    for (int i = 0; i < 70; ++i)
        tree.file("/etc/OpenCL/vendors/" + std::to_string(i) + ".icd", "lib.so\n");
    EXPECT_EQ(tree.drivers("opencl").size(), 64U);
}

TEST(FindTargets, NamesTheLibraryOfEachDriver) {
    const Tree tree;
    tree.manifest("/etc/vulkan/icd.d/a.json", "../lib/liba.so");
    tree.file("/etc/OpenCL/vendors/pocl.icd", "libpocl.so.2\n");
    std::map<std::string, std::optional<std::string>> libraries;
    for (const auto& target : tree.search().targets)
        libraries[target.api] = target.library;
    EXPECT_EQ(libraries["vulkan"], "/etc/vulkan/icd.d/../lib/liba.so");
    EXPECT_EQ(libraries["opencl"], "libpocl.so.2");
    EXPECT_EQ(libraries["pci"], std::nullopt);
}

struct ManifestCase {
    const char* name;
    const char* text;
    std::optional<std::string> library;
};
void PrintTo(const ManifestCase& row, std::ostream* out) {
    *out << row.name;
}
class ReadAManifest : public testing::TestWithParam<ManifestCase> {};
TEST_P(ReadAManifest, AndNameItsLibrary) {
    const auto manifest = parse_vulkan_manifest(GetParam().text, "/icd.d/x.json");
    ASSERT_EQ(static_cast<bool>(manifest), GetParam().library.has_value());
    if (manifest)
        EXPECT_EQ(manifest->library, GetParam().library);
    else
        EXPECT_EQ(manifest.error().code, ErrorCode::Malformed);
}
INSTANTIATE_TEST_SUITE_P(
    Table,
    ReadAManifest,
    testing::Values(
        ManifestCase{"Soname", R"({"ICD":{"library_path":"libx.so"}})", "libx.so"},
        ManifestCase{"Absolute", R"({"ICD":{"library_path":"/a/x.so"}})", "/a/x.so"},
        ManifestCase{"Relative", R"({"ICD":{"library_path":"./x.so"}})", "/icd.d/./x.so"},
        ManifestCase{"NoIcd", "{}", std::nullopt},
        ManifestCase{"IcdIsAList", R"({"ICD":["libx.so"]})", std::nullopt},
        ManifestCase{"NoLibrary", R"({"ICD":{}})", std::nullopt},
        ManifestCase{"EmptyLibrary", R"({"ICD":{"library_path":""}})", std::nullopt},
        ManifestCase{"LibraryIsANumber", R"({"ICD":{"library_path":7}})", std::nullopt},
        ManifestCase{"ZeroByte", R"({"ICD":{"library_path":"a\u0000b"}})", std::nullopt},
        ManifestCase{"LineBreak", R"({"ICD":{"library_path":"a\nb"}})", std::nullopt},
        ManifestCase{"Empty", "", std::nullopt}),
    [](const auto& row) { return row.param.name; });

TEST(ParseVulkanManifest, RefusesEveryCutDocument) {
    const std::string whole = R"({"ICD":{"library_path":"libx.so","library_arch":"64"}})";
    ASSERT_TRUE(parse_vulkan_manifest(whole, "/x.json"));
    for (std::size_t cut = 0; cut < whole.size(); ++cut)
        EXPECT_FALSE(parse_vulkan_manifest(std::string_view{whole}.substr(0, cut), "/x.json"));
}

TEST(ParseIcdFile, TakesTheFirstLine) {
    EXPECT_EQ(parse_icd_file("libpocl.so.2").value(), "libpocl.so.2");
    EXPECT_EQ(parse_icd_file("  /opt/x.so \r\nrest").value(), "/opt/x.so");
    EXPECT_FALSE(parse_icd_file(""));
    EXPECT_FALSE(parse_icd_file("\nlib.so"));
    EXPECT_FALSE(
        parse_icd_file(std::string_view{"\x7f"
                                        "ELF\0\0",
                                        6}));
}

#if defined(__x86_64__)
TEST(AManifestName, TellsTheProcessor) {
    EXPECT_FALSE(is_for_another_processor("nvidia_icd.json"));
    EXPECT_FALSE(is_for_another_processor("intel_icd.x86_64.json"));
    EXPECT_TRUE(is_for_another_processor("intel_icd.i686.json"));
    EXPECT_TRUE(is_for_another_processor("radeon_icd.AARCH64.json"));
    EXPECT_FALSE(is_for_another_processor("vendor.2.json"));
    EXPECT_FALSE(is_for_another_processor("i686.json"));
}
#endif

}  // namespace target_test
}  // namespace gpuprobe
