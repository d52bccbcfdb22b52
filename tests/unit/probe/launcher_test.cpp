// SPDX-License-Identifier: Apache-2.0
#include "probe/launcher.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/value.h"
#include "fakes/worker/scripted_worker.h"
#include "probe/worker_answer.h"
#include "probe/worker_sandbox.h"

namespace gpuprobe {
namespace launcher_test {

/// Waits for the worker and returns its answer.
ProbeResult answer_of(Worker& worker, const ProbeTarget& target) {
    pollfd end = {.fd = worker.ended(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&end, 1, 10'000), 1);
    Transcript transcript;
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(worker.frames(), bytes, sizeof bytes)) > 0;)
        transcript.add({bytes, static_cast<std::size_t>(count)});
    return transcript.conclude(target, Ending{.exit = worker.reap()});
}

/// The facts that the worker for this target reports about itself.
Value self_of(const ProbeTarget& target, SpawnLauncher& launcher) {
    const auto worker = launcher.launch(target);
    EXPECT_TRUE(worker);
    return worker ? answer_of(**worker, target).runtime.at(scripted::kSelfKey) : Value{};
}

Value self_of(const ProbeTarget& target, WorkerVariables extra = {}) {
    SpawnLauncher launcher{"/proc/self/exe", "", std::move(extra)};
    return self_of(target, launcher);
}

const ProbeTarget kSelf{.api = "self"};

TEST(SpawnLauncher, PassesTheJobToTheWorker) {
    EXPECT_EQ(json_line(self_of(kSelf).at("arguments")), R"(["self","--stage","query"])");
    const ProbeTarget whole{.api = "self", .driver = "/a.json", .library = "liba.so"};
    EXPECT_EQ(json_line(self_of(whole).at("arguments")),
              R"(["self","--stage","query","--driver","/a.json","--library","liba.so"])");
    const ProbeTarget later{.api = "self", .stage = "verify", .device = "pci:0000:00:06.0"};
    EXPECT_EQ(json_line(self_of(later).at("arguments")),
              R"(["self","--stage","verify","--device","pci:0000:00:06.0"])");
}

TEST(SpawnLauncher, FindsAProgramThatIsNamedFromHere) {
    const auto own = std::filesystem::read_symlink("/proc/self/exe");
    SpawnLauncher launcher{std::filesystem::relative(own).string(), ""};
    EXPECT_EQ(json_line(self_of(kSelf, launcher).at("arguments")), R"(["self","--stage","query"])");
}

TEST(SpawnLauncher, PassesTheJobToAPreparedWorker) {
    SpawnLauncher launcher{"/proc/self/exe", ""};
    launcher.prepare();
    const auto first = self_of(kSelf, launcher);
    EXPECT_EQ(json_line(first.at("arguments")), R"(["self","--stage","query"])");
    EXPECT_EQ(json_line(first.at("descriptors")), "[0,1,2,3]");
    EXPECT_EQ(first.at("folder"), first.at("environment").at("HOME"));
    const auto second = self_of(kSelf, launcher);  // no worker was prepared for this launch
    EXPECT_NE(second.at("folder"), first.at("folder"));
    EXPECT_EQ(first.at("environment").as_object()->size(),
              second.at("environment").as_object()->size());
}

TEST(SpawnLauncher, KeepsAPreparedWorkerFromATargetThatWantsMore) {
    for (const auto& target : {ProbeTarget{.api = "self", .driver = "/a.json"},
                               ProbeTarget{.api = "self", .library = "liba.so"}}) {
        SpawnLauncher launcher{"/proc/self/exe", ""};
        launcher.prepare();
        const auto passed = self_of(target, launcher).at("arguments");
        EXPECT_EQ(passed.as_array()->size(), 5U);
        EXPECT_EQ(json_line(self_of(kSelf, launcher).at("arguments")),
                  R"(["self","--stage","query"])");
    }
}

TEST(SpawnLauncher, LeavesNoPreparedWorkerBehind) {
    {
        SpawnLauncher launcher{"/proc/self/exe", ""};
        launcher.prepare();
        launcher.forget_prepared();
        launcher.prepare();
    }
    // The workers were killed, but not reaped yet.
    while (::waitpid(-1, nullptr, 0) > 0)
        continue;
    EXPECT_EQ(errno, ECHILD);
}

TEST(SpawnLauncher, StartsAnotherOneWhereThePreparedOneCannotRun) {
    SpawnLauncher launcher{"/nowhere/gpuprobe-worker", ""};
    launcher.prepare();
    EXPECT_EQ(launcher.launch(kSelf).error().code, ErrorCode::ProbeFailed);
}

TEST(SpawnLauncher, GivesTheWorkerFourDescriptors) {
    // Simulates a library that opens files without the close-on-exec flag.
    const int inherited = ::open("/dev/null", O_RDONLY);
    EXPECT_EQ(json_line(self_of(kSelf).at("descriptors")), "[0,1,2,3]");
    ::close(inherited);
}

TEST(SpawnLauncher, KeepsItsOwnEnvironmentToItself) {
    for (const auto* name : {"LD_PRELOAD_FAKE", "DISPLAY", "CUDA_VISIBLE_DEVICES"})
        ::setenv(name, "x", 1);
    const auto environment = self_of(kSelf).at("environment");
    for (const auto* name : {"LD_PRELOAD_FAKE", "DISPLAY", "CUDA_VISIBLE_DEVICES"}) {
        EXPECT_EQ(environment.find(name), nullptr) << name;
        ::unsetenv(name);
    }
    EXPECT_EQ(environment.at("LANG"), Value{"C.UTF-8"});
}

TEST(SpawnLauncher, AddsWhatItIsToldTo) {
    const auto environment = self_of(kSelf, {{"LD_LIBRARY_PATH", "/fakes"}}).at("environment");
    EXPECT_EQ(environment.at("LD_LIBRARY_PATH"), Value{"/fakes"});
}

TEST(SpawnLauncher, ConfinesTheWorker) {
    sigset_t terminate;
    sigset_t before;
    ::sigemptyset(&terminate);
    ::sigaddset(&terminate, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &terminate, &before);
    const auto self = self_of(kSelf);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(self.at("leads_group"), Value{true});
    EXPECT_EQ(self.at("no_new_privileges"), Value{true});
    EXPECT_EQ(self.at("death_signal"), Value{SIGKILL});
    EXPECT_EQ(self.at("blocks_signals"), Value{false});
    EXPECT_EQ(self.at("folder"), self.at("environment").at("HOME"));
    EXPECT_LE(*self.at("core").as_unsigned(), 1U);
    rlimit files = {};
    ::getrlimit(RLIMIT_NOFILE, &files);
    EXPECT_GE(*self.at("files").as_unsigned(), std::min<rlim_t>(1024, files.rlim_max));
    EXPECT_EQ(*self.at("file_size").as_unsigned(), mib(256).count);
    rlimit space = {};
    ::getrlimit(RLIMIT_AS, &space);
    EXPECT_EQ(*self.at("address_space").as_unsigned(), space.rlim_cur);
}

std::string home_of_a_run(SpawnLauncher& launcher) {
    return *self_of(kSelf, launcher).at("environment").at("HOME").as_string();
}

TEST(SpawnLauncher, GivesEachRunAFolderThatGoesWithIt) {
    SpawnLauncher launcher{"/proc/self/exe", ""};
    const auto first = home_of_a_run(launcher);
    EXPECT_NE(home_of_a_run(launcher), first);
    EXPECT_TRUE(std::filesystem::is_directory(std::filesystem::path{first}.parent_path()));
    EXPECT_FALSE(std::filesystem::exists(first));
}

TEST(SpawnLauncher, TakesItsOwnFolderWithIt) {
    std::filesystem::path home;
    {
        SpawnLauncher launcher{"/proc/self/exe", ""};
        home = home_of_a_run(launcher);
    }
    EXPECT_FALSE(std::filesystem::exists(home.parent_path()));
}

bool goes_soon(const std::string& path) {
    for (int looks = 0; looks < 2000 && std::filesystem::exists(path); ++looks)
        ::usleep(10'000);
    return !std::filesystem::exists(path);
}

/// Earlier tests may have started the thread that removes folders in the background. A process
/// made with fork() alone would not have this thread.
void start_the_program_again_for_exit_tests() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
}

/// Whether a folder is removed although it contains folders that its owner may not open. Because
/// root may open all folders, the process first changes its user.
bool goes_with_closed_folders() {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0)
        return false;
    std::string path;
    {
        auto folder = RunFolder::make(std::filesystem::temp_directory_path(), "closed");
        if (!folder)
            return false;
        path = folder->path();
        std::filesystem::create_directories(path + "/a/b");
        std::ofstream{path + "/a/b/file"} << "x";
        std::filesystem::permissions(path + "/a/b", std::filesystem::perms::none);
        std::filesystem::permissions(path + "/a", std::filesystem::perms::none);
    }
    return goes_soon(path);
}

TEST(RunFolder, IsRemovedEvenIfADriverRemovedPermissions) {
    start_the_program_again_for_exit_tests();
    EXPECT_EXIT(std::exit(goes_with_closed_folders() ? EXIT_SUCCESS : EXIT_FAILURE),
                testing::ExitedWithCode(0), "");
}

/// A folder with so many files that they are removed in the background. The folder itself
/// disappears at once.
std::string leave_many_files(const std::string& parent) {
    const auto folder = RunFolder::make(parent, "many");
    for (int i = 0; folder && i < 1100; ++i)
        std::ofstream{folder->path() + "/" + std::to_string(i)};
    return folder ? folder->path() : "";
}

TEST(RunFolder, GoesWithManyFiles) {
    const auto parent = std::filesystem::temp_directory_path().string();
    const auto first = leave_many_files(parent);
    const auto second = leave_many_files(parent);
    EXPECT_TRUE(!first.empty() && goes_soon(first));
    EXPECT_TRUE(!second.empty() && goes_soon(second));
}

TEST(RunFolder, GoesWithAnotherOneInIt) {
    const auto temporary = std::filesystem::temp_directory_path().string();
    std::string outer;
    {
        const auto folder = RunFolder::make(temporary, "outer");
        ASSERT_TRUE(folder);
        outer = folder->path();
        for (int i = 0; i < 2; ++i)
            (void)leave_many_files(outer);
    }
    EXPECT_TRUE(goes_soon(outer));
}

TEST(RunFolder, IsGoneBeforeTheProcessEnds) {
    auto name = (std::filesystem::temp_directory_path() / "gpuprobe-run-XXXXXX").string();
    const std::string parent = ::mkdtemp(name.data());
    EXPECT_EXIT(
        {
            (void)leave_many_files(parent);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_TRUE(std::filesystem::remove(parent));  // succeeds if the folder is empty
}

TEST(RunFolder, RemovesFoldersOfEndedProcesses) {
    const auto parent = std::filesystem::temp_directory_path().string();
    const pid_t gone = ::fork();
    if (gone == 0)
        ::_exit(0);
    ::waitpid(gone, nullptr, 0);
    const auto left = parent + "/left-" + std::to_string(gone) + "-abcdef";
    const auto kept = parent + "/left-" + std::to_string(::getpid()) + "-abcdef";
    std::filesystem::create_directories(left + "/a");
    std::filesystem::create_directories(kept);
    const auto folder = RunFolder::make(parent, "left");
    EXPECT_FALSE(std::filesystem::exists(left));
    EXPECT_TRUE(std::filesystem::remove(kept));
}

TEST(SpawnLauncher, ShowsOpenclAFolderWithOneDriver) {
    auto name = (std::filesystem::temp_directory_path() / "gpuprobe-home-XXXXXX").string();
    const std::string home = ::mkdtemp(name.data());
    SpawnLauncher launcher{"/proc/self/exe", home + "/below"};
    const ProbeTarget target{.api = "opencl", .driver = "/vendors/x.icd", .library = "libx.so"};
    const auto worker = launcher.launch(target);
    ASSERT_TRUE(worker);
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{home})
        if (entry.is_regular_file())
            found.push_back(entry.path());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].ends_with("/driver.icd"));
    std::string line;
    std::getline(std::ifstream{found[0]}, line);
    EXPECT_EQ(line, "libx.so");
    std::filesystem::remove_all(home);
}

TEST(SpawnLauncher, NamesTheProgramThatItCanNotRun) {
    for (const auto* program : {"/nonexistent/worker", "/etc/passwd", "/"}) {
        const auto worker = SpawnLauncher{program, ""}.launch(kSelf);
        ASSERT_FALSE(worker) << program;
        EXPECT_EQ(worker.error().code, ErrorCode::ProbeFailed);
        EXPECT_TRUE(worker.error().text.starts_with(std::string{program} + ": cannot be run: "))
            << worker.error().text;
    }
}

/// The launcher does not wait for a worker if an earlier worker was started in the same way.
TEST(SpawnLauncher, SaysWithTheExitThatAnotherOneCouldNotRun) {
    auto name = (std::filesystem::temp_directory_path() / "gpuprobe-worker-XXXXXX").string();
    const std::string folder = ::mkdtemp(name.data());
    const auto program = folder + "/worker";
    std::filesystem::copy_file("/proc/self/exe", program);
    SpawnLauncher launcher{program, ""};
    EXPECT_TRUE(self_of(kSelf, launcher).is_object());
    std::filesystem::remove(program);
    const auto worker = launcher.launch(kSelf);
    ASSERT_TRUE(worker);
    pollfd end = {.fd = (*worker)->ended(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&end, 1, 10'000), 1);
    EXPECT_TRUE((*worker)->reap()->never_ran);
    const auto next = launcher.launch(kSelf);
    ASSERT_FALSE(next);
    EXPECT_TRUE(next.error().text.starts_with(program + ": cannot be run: ")) << next.error().text;
    std::filesystem::copy_file("/proc/self/exe", program);
    EXPECT_TRUE(self_of(kSelf, launcher).is_object());
    std::filesystem::remove_all(folder);
}

TEST(SpawnLauncher, NamesTheFolderThatItCanNotMake) {
    const auto worker = SpawnLauncher{"/proc/self/exe", "/proc/none"}.launch(kSelf);
    ASSERT_FALSE(worker);
    EXPECT_EQ(worker.error().code, ErrorCode::ProbeFailed);
    EXPECT_TRUE(worker.error().text.starts_with("the drivers' folder: /proc/none: "))
        << worker.error().text;
}

TEST(AWorker, TakesItsChildrenWithIt) {
    SpawnLauncher launcher{"/proc/self/exe", ""};
    const ProbeTarget target{.api = "child-holds-pipes"};
    const auto worker = launcher.launch(target);
    ASSERT_TRUE(worker);
    EXPECT_EQ(answer_of(**worker, target).outcome, Outcome::Answered);
    // The child held the pipe open. After the child has ended, the pipe is closed.
    pollfd frames = {.fd = (*worker)->frames(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&frames, 1, 2'000), 1);
    EXPECT_TRUE(frames.revents & POLLHUP);
}

TEST(AWorker, GoesWithTheProcessThatStartedItAndTakesItsDaemons) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t starter = ::fork();
    if (starter == 0) {
        SpawnLauncher launcher{"/proc/self/exe", ""};
        const auto worker = launcher.launch({.api = "daemon-and-hang"});
        std::array<char, 4096> bytes;
        pollfd frames = {.fd = (*worker)->frames(), .events = POLLIN, .revents = 0};
        (void)::poll(&frames, 1, 10'000);
        const auto count = ::read(frames.fd, bytes.data(), bytes.size());
        (void)!::write(ends[1], bytes.data(), static_cast<std::size_t>(count));
        ::kill(::getpid(), SIGKILL);
    }
    ASSERT_EQ(::waitpid(starter, nullptr, 0), starter);
    std::array<char, 4096> bytes;
    Transcript transcript;
    transcript.add(
        {bytes.data(), static_cast<std::size_t>(::read(ends[0], bytes.data(), bytes.size()))});
    ::close(ends[0]);
    ::close(ends[1]);
    const auto self = transcript.conclude({}, {}).runtime.at(scripted::kSelfKey);
    ASSERT_TRUE(self.as_string());
    EXPECT_TRUE(scripted::ends(self));
}

TEST(AWorker, ReturnsItsExitRepeatedly) {
    SpawnLauncher launcher{"/proc/self/exe", ""};
    const auto worker = launcher.launch({.api = "exit-7"});
    ASSERT_TRUE(worker);
    pollfd end = {.fd = (*worker)->ended(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&end, 1, 10'000), 1);
    EXPECT_EQ((*worker)->reap()->code, 7);
    EXPECT_EQ((*worker)->reap()->code, 7);
    (*worker)->kill();
}

}  // namespace launcher_test
}  // namespace gpuprobe
