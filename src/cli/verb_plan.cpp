// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/result.h"
#include "base/text.h"
#include "base/value.h"
#include "calls/documents.h"
#include "calls/requests.h"
#include "cli/choice.h"
#include "cli/plan_text.h"
#include "cli/verb.h"
#include "explain/phrase.h"
#include "plan/gguf.h"
#include "plan/model.h"
#include "plan/need.h"
#include "plan/plan.h"
#include "plan/size_math.h"

namespace gpuprobe::inline cli {
namespace {

/// The size of the first read, which is enough for the header of most models. Each further attempt
/// reads kGrowth times as much.
constexpr Bytes kFirstWindow = mib(2);
constexpr std::uint64_t kGrowth = 4;
constexpr std::string_view kStandardInput = "-";
constexpr Bytes kEndless{std::numeric_limits<std::uint64_t>::max()};

/// A file or standard input, read from the start in ever longer pieces.
class ModelFile {
public:
    static Result<ModelFile> open(const std::string& path) {
        if (path == kStandardInput)
            return ModelFile{path, UniqueFd{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)}, kEndless};
        // O_NONBLOCK: a FIFO without a writer must not block open(). The code below refuses a FIFO,
        // like every file that isn't regular.
        UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
        if (!fd)
            return errno_error(path, errno);
        struct stat status {};
        if (::fstat(fd.get(), &status) != 0)
            return errno_error(path, errno);
        if (!S_ISREG(status.st_mode))
            return Error{ErrorCode::Io, path + ": not a regular file"};
        return ModelFile{path, std::move(fd), Bytes{static_cast<std::uint64_t>(status.st_size)}};
    }

    /// The file's size. For standard input, the size is kEndless until the end has been reached.
    [[nodiscard]] Bytes size() const { return size_; }
    /// The part of the file that has been read.
    [[nodiscard]] const std::string& window() const { return window_; }

    /// Reads until the window has the length `length` or the file ends. Errors: Io, also when the
    /// file has become shorter.
    Status extend_to(Bytes length) {
        const auto wanted = std::min(length, size_).count;
        while (window_.size() < wanted) {
            const auto before = window_.size();
            window_.resize(wanted);
            const auto got = read_at(before, wanted - before);
            window_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            if (got < 0 && errno != EINTR)
                return errno_error(path_, errno);
            if (got == 0 && path_ != kStandardInput)
                return Error{ErrorCode::Io, path_ + ": shrank while it was read"};
            // When standard input ends, its size is known.
            if (got == 0) {
                size_ = Bytes{before};
                return Done{};
            }
        }
        return Done{};
    }

private:
    ssize_t read_at(std::size_t before, std::size_t count) {
        auto* const place = window_.data() + before;
        return path_ == kStandardInput
                   ? ::read(fd_.get(), place, count)
                   : ::pread(fd_.get(), place, count, static_cast<off_t>(before));
    }

    ModelFile(std::string path, UniqueFd fd, Bytes size)
        : path_{std::move(path)}, fd_{std::move(fd)}, size_{size} {}

    std::string path_;
    UniqueFd fd_;
    Bytes size_ = {};
    std::string window_ = {};
};

/// Parses a file's header, reading more until it is complete. With `is_beginning`, the file's size
/// isn't compared with the tensors.
Result<Gguf> read_header(const std::string& path, bool is_beginning) {
    auto file = TRY(ModelFile::open(path));
    const Bytes claimed = is_beginning ? kEndless : file.size();
    for (auto window = kFirstWindow;; window.count *= kGrowth) {
        window = std::min(window, kMaxGgufHeader);
        TRY(file.extend_to(window));
        auto gguf = parse_gguf(file.window(), claimed);
        if (!gguf)
            return std::move(gguf).error().in(path);
        // An empty result means that the header is longer than the window.
        if (*gguf)
            return std::move(**gguf);
        if (file.window().size() == file.size().count)
            return Error{ErrorCode::Malformed, path + ": the file ends within its header"};
        if (window == kMaxGgufHeader)
            return Error{ErrorCode::TooLarge, path + ": the header is larger than 128 MiB"};
    }
}

/// The folder of a path, with a slash at the end; "" for a name without a folder.
std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// Reads the headers of all parts and joins them. All headers are needed, because the header of a
/// part lists only the tensors of this part.
Result<Gguf> read_parts(const std::string& folder, const GgufPart& part, bool is_beginning) {
    std::vector<Gguf> headers;
    for (std::uint32_t number = 1; number <= part.count; ++number) {
        auto header = read_header(folder + gguf_part_name(part, number), is_beginning);
        if (!header)
            return std::move(header).error().in(
                phrase(is_beginning
                           ? "one of the model's {count} parts, of which only the beginning is read"
                           : "one of the model's {count} parts",
                       {{"count", std::to_string(part.count)}}));
        headers.push_back(std::move(*header));
    }
    auto whole = joined(std::move(headers));
    if (!whole)
        return std::move(whole).error().in(folder + part.stem);
    return whole;
}

/// The header of a model file, joined with the headers of its other parts in the same folder. Reads
/// no more of each file than the header needs, at most kMaxGgufHeader. With `is_beginning`, the
/// files may be incomplete. "-" is standard input, which is always treated as incomplete.
///
/// Errors, each with the file's name: PermissionDenied, TooLarge or Malformed; NotFound, also for a
/// missing part; Io, for instance for a file that isn't regular.
Result<Gguf> read_model_file(const std::string& path, bool is_beginning) {
    const auto folder = folder_of(path);
    const auto part = gguf_part(std::string_view{path}.substr(folder.size()));
    if (part && part->count > kMaxGgufParts)
        return Error{
            ErrorCode::TooLarge,
            phrase("{file}: the model has {count} parts, but gpuprobe reads at most {most}",
                   {{"file", path},
                    {"count", std::to_string(part->count)},
                    {"most", std::to_string(kMaxGgufParts)}})};
    if (part && part->count > 1)
        return read_parts(folder, *part, is_beginning);
    auto gguf = TRY(read_header(path, is_beginning));
    // The file is a part of a model, but its name does not lead to the other parts.
    const auto parts = gguf.number("split.count").value_or(1);
    if (parts > 1)
        return Error{
            ErrorCode::Malformed,
            phrase(path == kStandardInput ? "{file}: the model has {count} parts, but standard "
                                            "input has only one part: give the name of a file"
                                          : "{file}: the model has {count} parts, which must have "
                                            "names like model-00001-of-00002.gguf",
                   {{"file", path}, {"count", std::to_string(parts)}})};
    return gguf;
}

/// The memory that a projector needs: for its weights and for its computation.
Result<Bytes> projector_memory(const std::string& path, const PlanRequest& request) {
    auto projector = projector_of(TRY(read_model_file(path, false)));
    if (!projector)
        return std::move(projector).error().in(path);
    const bool is_off = request.flash_attention == FlashAttention::Off;
    return sum(projector->weights, is_off ? projector->compute_without_flash : projector->compute);
}

/// The request with the model's header, if a model file was named.
Result<PlanRequest> request_of(const PlanArguments& arguments) {
    auto request = TRY(plan_request_from(arguments.request));
    if (!arguments.model_file)
        return request;
    const auto& path = *arguments.model_file;
    const auto gguf = TRY(read_model_file(path, arguments.is_beginning));
    auto model = model_of(gguf);
    if (!model)
        return std::move(model).error().in(path);
    TRY(check_cache_types(*model, request.run, request.flash_attention));
    request.model = std::move(*model);
    if (arguments.projector_file)
        request.projector = TRY(projector_memory(*arguments.projector_file, request));
    return request;
}

/// Updates the free memory of the GPUs that the plan is about.
Status refresh(Context& context, const std::vector<std::string>& ids, Report& report) {
    for (auto& gpu : report.gpus)
        if (ids.empty() || contains(ids, gpu.id))
            TRY(context.client.refresh_memory(gpu));
    return Done{};
}

/// Prints arguments for a program. A remark lists the variables that select the GPUs. Without these
/// variables, the program would choose the GPUs and their order itself, but the sizes of the split
/// depend on the order.
Status print_arguments(Context& context, const PlanRequest& request, const Plan& answer) {
    const auto& program = context.arguments.plan.format;
    const auto arguments = TRY(plan_arguments_for(program, request, answer));
    // Only llama.cpp accepts the projector as an argument.
    const auto& projector = context.arguments.plan.projector_file;
    if (projector && program == "llama.cpp")
        print("--mmproj " + shell_quoted(*projector) + " ");
    print(arguments.text);
    if (arguments.gpus.empty() || answer.gpus.size() < 2)
        return Done{};
    Value request_for_gpus;
    request_for_gpus["gpus"] = to_value(arguments.gpus);
    // If no published build uses these GPUs, print the variables for a build that the user
    // compiles.
    const auto choice = context.client.select(program, request_for_gpus);
    const bool is_own_build = choice && choice->gpus.empty();
    remark(context.arguments,
           fmt::format(
               "set the variables that this command prints: gpuprobectl env {} --gpu={}{}{}",
               program, fmt::join(arguments.gpus, ","), is_own_build ? " --own-build" : "",
               arguments.gpus.size() > 1 ? " (the shares are in the order of these GPUs)" : ""));
    return Done{};
}

Result<ExitCode> run_plan(Context& context) {
    const auto& arguments = context.arguments.plan;
    // No report is needed, because the document depends only on the file.
    if (arguments.prints_model) {
        const auto gguf = TRY(read_model_file(*arguments.model_file, arguments.is_beginning));
        print(json_line(model_document_of(gguf)) + "\n");
        return ExitCode::Answered;
    }
    auto request = TRY(request_of(arguments));
    auto report = TRY(context.client.report());
    // Convert the selectors to ids, then restrict the GPUs to the application's choice.
    const ComputeView view{report};
    for (auto& gpu : request.gpus)
        gpu = TRY(pick_gpu(view, gpu))->id;
    if (request.application) {
        const auto decision = TRY(context.client.select(*request.application, question_for_gpus()));
        TRY(keep_accepted(decision, report, request));
    }
    TRY(refresh(context, request.gpus, report));
    const auto answer = planned(request, report);
    if (!arguments.format.empty())
        TRY(print_arguments(context, request, answer));
    else if (context.wants_json())
        print_json(context.arguments,
                   to_value(context.worded(plan_answer(request, report, answer))));
    else
        print(plan_text(request, answer, context.screen));
    return answer.is_possible() ? ExitCode::Answered : ExitCode::NoMatch;
}

/// Checks that the command line has either a model or a number of bytes.
Status check_plan(Arguments& arguments) {
    auto& plan = arguments.plan;
    const auto request = plan_request_from(plan.request);
    if (!request)
        return request.error();
    if (plan.model_file.has_value() == request->need.has_value())
        return refusal("missing --gguf=FILE or --memory=SIZE").in("plan");
    if (request->need && (plan.is_beginning || plan.prints_model || !plan.format.empty()))
        return refusal("--beginning, --print-model and --format require a model").in("plan");
    if (plan.projector_file && (!plan.model_file || request->projector.count > 0))
        return refusal("--mmproj requires --gguf and cannot be combined with --projector-memory")
            .in("plan");
    return Done{};
}

Value& request_value(Arguments& arguments) {
    return arguments.plan.request;
}

constexpr std::string_view kCacheTypes = "f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0 iq4_nl f32";

/// Sets the type of the keys (0) or values (1) of the KV cache; the other type is f16 unless it is
/// given too.
template <std::size_t place>
Status take_cache_type(Arguments& arguments, const std::string& word) {
    auto& types = request_value(arguments)["kv"];
    if (!types.as_array())
        types = Value::Array{Value{"f16"}, Value{"f16"}};
    (*types.as_array())[place] = word;
    return Done{};
}

std::vector<Option> plan_options() {
    std::vector<Option> options{
        {.names = "--gguf",
         .value = {.name = "FILE", .names = kFiles},
         .help = "model in GGUF format; for a split model, any part; - is standard input",
         .take = put<&Arguments::plan, &PlanArguments::model_file>},
        {.names = "--mmproj",
         .value = {.name = "FILE", .names = kFiles},
         .help = "multimodal projector of the model in GGUF format, to be loaded on the first GPU",
         .take = put<&Arguments::plan, &PlanArguments::projector_file>},
        {.names = "--beginning",
         .help = "accept a FILE that is an incomplete download, if its header is complete",
         .take = put<&Arguments::plan, &PlanArguments::is_beginning>},
        {.names = "--format",
         .value = {.name = "PROGRAM", .offers = "llama.cpp ollama vllm", .takes_others = false},
         .help = "print only the arguments for this program",
         .take = put<&Arguments::plan, &PlanArguments::format>},
        {.names = "--print-model",
         .help = "print the model as input for the method Plan, without planning",
         .take = put<&Arguments::plan, &PlanArguments::prints_model>},
        {.names = "--cache-type-k",
         .value = {.name = "TYPE", .offers = kCacheTypes},
         .help = "type of the keys in the KV cache: f16 (default), q8_0, q4_0 …",
         .take = take_cache_type<0>},
        {.names = "--cache-type-v",
         .value = {.name = "TYPE", .offers = kCacheTypes},
         .help = "type of the values in the KV cache",
         .take = take_cache_type<1>},
    };
    for (const auto& key : plan_keys())
        if (!key.option.empty())
            options.push_back(option_of(key, request_value));
    return options;
}

}  // namespace

Verb plan_verb() {
    return {.name = "plan",
            .overview = {{"plan", "estimate whether a model fits on the GPUs"}},
            .usage = {"plan --gguf=FILE [OPTION…]", "plan --memory=SIZE [OPTION…]"},
            .about = R"(
Estimates whether a model fits on each GPU, and on several GPUs together. The answer is "fits" if 10%
of the memory stays free, "tight" if less stays free, "no" if the model does not fit, or "unknown" if
the size of the memory is unknown. plan also shows how many layers fit on the GPU (llama.cpp's
--n-gpu-layers) and the longest context with which all layers fit. plan reads only the header of FILE,
and finds the other parts of a split model by their names.
The exit status is 3 if no GPU and no set of GPUs is known to have enough memory.
)",
            .options = plan_options(),
            .check = check_plan,
            .run = run_plan};
}

}  // namespace gpuprobe::inline cli
