// SPDX-License-Identifier: Apache-2.0

// A gpuprobe-worker that follows a file in its folder, for tools/torture. The nth process follows
// the nth line of "plan" (after the last line, the first line is used again), and first adds a line
// "n API script DRIVER" to "done".

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/files.h"
#include "fakes/worker/machine_worker.h"

namespace gpuprobe {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file{path};
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    return lines;
}

/// Takes the next line of the plan. A lock on "done" prevents two processes from taking one line.
std::string taken_script(const std::string& folder,
                         const std::string& api,
                         const std::string& driver) {
    const auto plan = lines_of(folder + "/plan");
    const UniqueFd done{
        ::open((folder + "/done").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    if (!done || plan.empty() || ::flock(done.get(), LOCK_EX) != 0)
        return "good";
    const UniqueFd count{::open((folder + "/count").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    std::size_t number = 0;
    (void)!::pread(count.get(), &number, sizeof number, 0);
    const auto& script = plan[number % plan.size()];
    const auto line = std::to_string(number) + " " + api + " " + script + " " + driver + "\n";
    (void)!::write(done.get(), line.data(), line.size());
    ++number;
    (void)!::pwrite(count.get(), &number, sizeof number, 0);
    return script;
}

/// Creates children that keep all descriptors open until the process group is killed.
void fork_many() {
    constexpr int kChildren = 20;
    for (int i = 0; i < kChildren; ++i)
        scripted::leave_child(/*in_own_session=*/false);
}

/// Answers slowly, frame by frame, so that something else can happen in the meantime.
void answer_slowly() {
    constexpr int kFrames = 40;
    constexpr useconds_t kPause = 5000;
    FrameWriter writer;
    for (int i = 0; i < kFrames; ++i) {
        scripted::write_frames(writer.phase("phase " + std::to_string(i)));
        ::usleep(kPause);
    }
    scripted::write_frames(writer.done(Outcome::Answered, "slowly", {}));
}

/// The value of --driver; "" if the option is missing.
std::string driver_in(std::span<char*> arguments) {
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
        if (std::string_view{arguments[i]} == "--driver")
            return arguments[i + 1];
    return "";
}

int follow(std::string script, char* program) {
    if (script == "fork-many") {
        fork_many();
        scripted::answer();
        return 0;
    }
    if (script == "slowly") {
        answer_slowly();
        return 0;
    }
    if (script == machine_worker::kImpossible) {
        machine_worker::tell("cuda", machine_worker::impossible_card());
        return 0;
    }
    std::array<char*, 3> arguments{program, script.data(), nullptr};
    return scripted::run(2, arguments.data());
}

}  // namespace
}  // namespace gpuprobe

int main(int argc, char** argv) {
    if (argc < 2)
        return 2;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    const auto driver = gpuprobe::driver_in(std::span{argv, static_cast<std::size_t>(argc)});
    return gpuprobe::follow(gpuprobe::taken_script(folder, argv[1], driver), argv[0]);
}
