// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe {
namespace {

constexpr std::string_view kOverview = R"(Usage: gpuprobectl [VERB] [OPTION…]

What GPUs this machine has, what works on them, and which backend to use.

  status            one screen about this machine (default)
  list              one line per GPU
  show GPU…         everything known about a GPU
  describe [GPU]    the report as JSON
  select [CONSUMER] the backend a consumer should use, and why not the others
  env [CONSUMER]    the same as KEY=VALUE lines, for eval or EnvironmentFile=
  env GPU           what makes any program use this GPU, likewise
  recommend PRODUCT which of its variants to install here, and why not the others
  export FORMAT     the same, or this machine, in the words of conda, uv, pip, docker …
  verify FILE       whether a downloaded file is what a manifest says
  products          the names that recommend knows
  import-manifest   a manifest from another project's list of files
  plan              does a model fit on these GPUs, and how much of it
  probe [GPU…]      ask the drivers again
  monitor           follow hot-plug and changes
  doctor            why a GPU is not used, and what helps
  capture DIR       write down this machine for --replay, a test or a bug report
  override          set, clear or list what you decided for a consumer
  report-outcome    say that a choice worked, or failed
  quarantine        drivers that are not asked for now; clear has them asked again
  consumers         the names that select and env know
  version           this program's version, and the daemon's
  help [VERB]       this page, or the one on a verb

Output
  -j                JSON: indented on a terminal, one line otherwise
      --json=MODE   pretty, short or off
      --color=WHEN  auto, always or never (NO_COLOR is honoured)
      --no-legend   no titles and closing hints
  -q, --quiet       no remarks on standard error; select prints the backend alone
      --no-pager    accepted; there is no pager

Whom to ask
      --bus=BUS     system, session or an address; without it the system bus, then the machine
      --direct      ask the machine from this process, without the daemon
      --replay DIR  answer for a captured machine
      --worker PATH the probe worker, with --direct
      --profiles DIR  more consumer profiles, with --direct or --replay; may be repeated
      --no-cache    forget what earlier --direct runs learned

A GPU is named by its id, its index in the list, its PCI address, a node such as
/dev/dri/renderD128, the start of its id, or a part of its name.

Exit status: 0 answered, 1 failed, 2 usage, 3 nothing matches, 4 no daemon (with --bus),
5 not authorised, 6 the doctor found what keeps a GPU from being used.
)";

struct Page {
    std::string_view verb;
    std::string_view text;
};

constexpr std::string_view kSelectOptions = R"(
      --built=LIST        the backends that the consumer is built with: cuda,vulkan,…
      --prefer=LIST       backends to try first
      --only=LIST         these backends or none
      --deny=LIST         backends or GPU ids never to use
      --gpu=LIST          these GPUs or none
      --backend=NAME      this backend or none; 'none' for no GPU
      --any-vendor        each backend of the consumer on every vendor's GPUs
      --min-memory=SIZE   memory a GPU must offer: 8GiB, 8GB, 8192MiB
      --require=LIST      what must hold: vulkan>=1.2,fp16,'gfx=gfx90a|gfx942'
      --strict            fail rather than fall back to the CPU
      --platform=NAME     answer for another machine: darwin-arm64
      --fake=LIST         make up a GPU for each of these backends
      --forbid-fake       refuse to
      --no-rejected       leave rejected candidates out
)";

constexpr Page kPages[] = {
    {"status", R"page(Usage: gpuprobectl [status] [OPTION…]

One screen: the GPUs, the backends that work on them, why others do not, what crashed, and what to
do about it.
)page"},
    {"list", R"page(Usage: gpuprobectl list [OPTION…]

One line per GPU, best first.
)page"},
    {"show", R"page(Usage: gpuprobectl show GPU… [OPTION…]

Everything known about one GPU or several: hardware, driver, nodes, memory and where its size was
read, and what each API says.
)page"},
    {"describe", R"page(Usage: gpuprobectl describe [GPU] [OPTION…]

The report as JSON, or the part of it about one GPU.
)page"},
    {"select", R"page(Usage: gpuprobectl select [CONSUMER] [OPTION…]

The backend that CONSUMER should use on this machine, on which GPU, with which environment. Without
a name, what any inference runtime should use.
Exit status 3 when nothing satisfies the request; the candidates then say why.

      --explain           every candidate with the reason for its verdict)page"},
    {"env", R"page(Usage: gpuprobectl env [CONSUMER] [OPTION…]
       gpuprobectl env GPU [--all] [OPTION…]

The environment of the choice as KEY=VALUE lines:

  eval "$(gpuprobectl env CONSUMER | sed 's/^/export /')"
  gpuprobectl env CONSUMER > /run/CONSUMER.env     # EnvironmentFile=

With a GPU, what makes programs use that one: for each API the best name that stays true after a
restart. A terminal shows the other ways as comments; -j prints all of them with the GPU's UUIDs.
Exit status 3 when nothing names it for good.

      --build             variables to build ggml with for that choice, not to run with
      --all               positions too, where there is no better name, with the environment in
                          which they count; and the comments

The options of a choice:
)page"},
    {"plan", R"page(Usage: gpuprobectl plan --gguf FILE [OPTION…]
       gpuprobectl plan --need-mib N [OPTION…]

Whether a model fits on each GPU, and on several together: "fits" with a tenth to spare, "tight"
without, "no", or "unknown" where nobody tells how much memory there is. With it the layers that
can go to the GPU (llama.cpp's --n-gpu-layers) and the longest context at which all of them do. It
is an estimate; only the header of FILE is read, and the other parts of a split model are found.
Exit status 3 when no GPU and no set of them is known to hold it.

      --gguf=FILE         a model in GGUF; of a split one, any part
      --beginning         FILE is the beginning of a model: plan before the rest is there
      --need-mib=N        no model, but so many MiB of whatever
      --ctx=N             tokens of context of one stream: 4096, 32k
      --kv=TYPE           of the cache: f16, q8_0, q4_0 …; KEYS,VALUES where they differ
      --batch=N           tokens computed at once, 512 by default
      --streams=N         sequences at the same time, each with its own context
      --gpus=LIST         these GPUs only
      --margin-mib=N      left free on each GPU, 1024 by default
)page"},
    {"recommend", R"page(Usage: gpuprobectl recommend PRODUCT [OPTION…]
       gpuprobectl recommend [PRODUCT] --manifest=FILE [OPTION…]

The variant of PRODUCT that fits this machine, and what to try next. NAMES are of variants or of
families; family:NAME is the family alone. Exit status 3 when none fits.

      --manifest=FILE     the variants there are; without it the installed list of PRODUCT
      --prefer=NAMES      these first
      --only=NAMES        these or none
      --exclude=NAMES     not these: after a failure, family:cuda or the like
      --need-mib=N        memory that every GPU must offer
      --explain           every variant with the reason for its verdict
      --chain             the names alone, in the order in which to try them
      --force=NAME        this variant whatever the verdict; says what speaks against it
)page"},
    {"export", R"page(Usage: gpuprobectl export FORMAT [PRODUCT] [OPTION…]

Prints variables (KEY=VALUE) or arguments for another tool:

  conda      CONDA_OVERRIDE_CUDA, _CUDA_ARCH, _GLIBC and _ARCHSPEC, for conda, mamba and pixi
  uv         UV_CUDA_DRIVER_VERSION or UV_AMD_GPU_ARCHITECTURE; with a PRODUCT, UV_TORCH_BACKEND
  wheel      what the providers of wheel variants take
  pip        --index-url of the recommended variant of PRODUCT
  ggml       CMake options for llama.cpp and its like
  container  --device arguments for docker and podman; with a PRODUCT, for its GPUs alone

      --manifest=FILE     the variants of PRODUCT
      --prefer=NAMES      as for recommend
      --only=NAMES        likewise
      --exclude=NAMES     likewise
      --need-mib=N        likewise
)page"},
    {"verify", R"page(Usage: gpuprobectl verify FILE --manifest=FILE --variant=NAME

Whether FILE has the size and the SHA-256 that the manifest says.

      --manifest=FILE     the manifest
      --variant=NAME      the variant that FILE is
)page"},
    {"products", R"page(Usage: gpuprobectl products [OPTION…]

The products that recommend knows without a manifest.
)page"},
    {"import-manifest",
     R"page(Usage: gpuprobectl import-manifest --format=FORMAT [--overlay=FILE] [--entry=NAME] FILE

Prints a manifest made of another project's list of files, to be read before it is used. What no
rule of the overlay matches, or has no digest, is left out and named on standard error.

      --format=FORMAT     github: FILE is a release as the GitHub API gives it;
                          unsloth: it is llama-prebuilt-manifest.json;
                          localai: it is backend/index.yaml
      --overlay=FILE      github: what the builds need, by patterns of their names
                          (docs/variants.md); unsloth: llama-prebuilt-sha256.json
      --entry=NAME        localai: which backend; not needed when there is one only
)page"},
    {"probe", R"page(Usage: gpuprobectl probe [GPU…] [OPTION…]

Asks the drivers again and shows how each probe ended.

      --api=LIST          only these APIs: vulkan,opencl,…
      --allow-wake        wake sleeping GPUs
)page"},
    {"monitor", R"page(Usage: gpuprobectl monitor [OPTION…]

Prints a line when a GPU comes, goes or changes, until interrupted or the daemon leaves.
With -j each line is a JSON document.
)page"},
    {"doctor", R"page(Usage: gpuprobectl doctor [--strict] [OPTION…]

Every known reason why a GPU is not used: permissions, missing loaders and drivers, versions that
do not fit, containers, variables of this environment. For each what was found and what helps.
Exit status 6 when an error was found; warnings and things to know do not count.

      --strict            warnings count too
)page"},
    {"capture", R"page(Usage: gpuprobectl capture DIR [--redact] [OPTION…]

Writes what the kernel and the drivers say about this machine into DIR, which must be empty or not
there. 'gpuprobectl --replay DIR' then answers as this machine would.

      --redact            numbered stand-ins for UUIDs and serial numbers
)page"},
    {"override", R"page(Usage: gpuprobectl override set CONSUMER OPTION…
       gpuprobectl override clear CONSUMER
       gpuprobectl override [list]

What select answers CONSUMER from now on, until it is cleared. An override reorders or narrows the
choice; it never makes a backend usable that is not. Of the daemon it needs an administrator; with
--direct it is yours alone.

      --prefer=LIST       backends to try first
      --only=LIST         these backends or none
      --deny=LIST         backends or GPU ids never to use
      --gpu=LIST          these GPUs or none
      --backend=NAME      this backend, where the consumer asks for none itself
      --min-memory=SIZE   memory a GPU must offer: 8GiB, 8GB, 8192MiB
      --strict            fail rather than fall back to the CPU
)page"},
    {"report-outcome", R"page(Usage: gpuprobectl report-outcome CONSUMER ok|failed OPTION…

Tells how a choice went. What failed is not offered to you again for a week, unless its driver
changes or you report that it works. What root reports counts for everybody.

      --backend=NAME      the backend that was chosen
      --variant=NAME      or the variant that was installed
      --family=NAME       or everything of that family: cuda, rocm, vulkan …
      --gpu=GPU           the GPU it ran on; without it, any
      --detail=TEXT       what went wrong, for people
)page"},
    {"quarantine", R"page(Usage: gpuprobectl quarantine [list]
       gpuprobectl quarantine clear [API] [--driver=PATH] [--all]

The drivers that are not asked for now because they crashed or hung twice, or because the machine
went down while they were being asked. An update of the driver ends that, and so does time: 10
minutes at first, then longer. 'clear' has them asked again; of the daemon it needs an
administrator.

      --driver=PATH       the one with this manifest
      --all               every one
)page"},
    {"consumers", R"page(Usage: gpuprobectl consumers [OPTION…]

The consumer profiles that select and env know.
)page"},
    {"version", R"page(Usage: gpuprobectl version [OPTION…]

The version of this program and of the daemon that answers.
)page"},
    {"help", R"page(Usage: gpuprobectl help [VERB]

The overview, or the page on a verb.
)page"},
};

std::vector<std::string> options_in(std::string_view text) {
    std::vector<std::string> found;
    for (const auto word : words(text)) {
        const auto end = std::min(word.find_first_of("=,;."), word.size());
        if (word.starts_with("--") && end > 2)
            found.emplace_back(word.substr(0, end));
    }
    return found;
}

}  // namespace

std::optional<std::string> help_text(std::string_view verb) {
    if (verb.empty())
        return std::string{kOverview};
    for (const auto& page : kPages) {
        if (page.verb != verb)
            continue;
        std::string text{page.text};
        if (verb == "select" || verb == "env")
            text += kSelectOptions;
        return text + "\nCommon options: see 'gpuprobectl help'.\n";
    }
    return std::nullopt;
}

const std::vector<std::string>& option_names() {
    static const std::vector<std::string> names = [] {
        auto all = options_in(kOverview);
        for (const auto& page : kPages)
            for (auto& name : options_in(page.text))
                all.push_back(std::move(name));
        for (auto& name : options_in(kSelectOptions))
            all.push_back(std::move(name));
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }();
    return names;
}

}  // namespace gpuprobe
