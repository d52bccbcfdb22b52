# SPDX-License-Identifier: Apache-2.0
# Completion of gpuprobectl for fish. Asks the daemon only, and for at most 300 ms.

set -l verbs status list show describe select env recommend export verify products import-manifest plan probe monitor doctor capture override report-outcome quarantine consumers version help

function __gpuprobectl_gpus
    timeout 0.3 gpuprobectl list --bus=system --no-legend 2>/dev/null | awk '{ print $2 }'
end

function __gpuprobectl_consumers
    timeout 0.3 gpuprobectl consumers 2>/dev/null
end

function __gpuprobectl_products
    timeout 0.3 gpuprobectl products 2>/dev/null
end

complete -c gpuprobectl -f
set -l no_verb "not __fish_seen_subcommand_from $verbs"
complete -c gpuprobectl -n $no_verb -a status -d 'one screen about this machine'
complete -c gpuprobectl -n $no_verb -a list -d 'one line per GPU'
complete -c gpuprobectl -n $no_verb -a show -d 'everything known about a GPU'
complete -c gpuprobectl -n $no_verb -a describe -d 'the report as JSON'
complete -c gpuprobectl -n $no_verb -a select -d 'the backend a consumer should use'
complete -c gpuprobectl -n $no_verb -a env -d 'the environment of that choice, or of a GPU'
complete -c gpuprobectl -n $no_verb -a recommend -d 'which variant of a product to install'
complete -c gpuprobectl -n $no_verb -a export -d 'the same in the words of other tools'
complete -c gpuprobectl -n $no_verb -a verify -d 'whether a file is what a manifest says'
complete -c gpuprobectl -n $no_verb -a products -d 'the names that recommend knows'
complete -c gpuprobectl -n $no_verb -a import-manifest -d 'a manifest from a list of files'
complete -c gpuprobectl -n $no_verb -a plan -d 'does a model fit on these GPUs'
complete -c gpuprobectl -n $no_verb -a probe -d 'ask the drivers again'
complete -c gpuprobectl -n $no_verb -a monitor -d 'follow hot-plug and changes'
complete -c gpuprobectl -n $no_verb -a doctor -d 'why a GPU is not used'
complete -c gpuprobectl -n $no_verb -a capture -d 'write down this machine'
complete -c gpuprobectl -n $no_verb -a override -d 'what you decided for a consumer'
complete -c gpuprobectl -n $no_verb -a report-outcome -d 'say that a choice worked or failed'
complete -c gpuprobectl -n $no_verb -a quarantine -d 'drivers that are not asked for now'
complete -c gpuprobectl -n $no_verb -a consumers -d 'the names that select and env know'
complete -c gpuprobectl -n $no_verb -a version -d 'versions of program and daemon'
complete -c gpuprobectl -n $no_verb -a help -d 'the overview or the page on a verb'

complete -c gpuprobectl -n '__fish_seen_subcommand_from show describe probe env' -a '(__gpuprobectl_gpus)'
complete -c gpuprobectl -n '__fish_seen_subcommand_from select env override report-outcome' -a '(__gpuprobectl_consumers)'
complete -c gpuprobectl -n '__fish_seen_subcommand_from override' -a 'set clear list'
complete -c gpuprobectl -n '__fish_seen_subcommand_from report-outcome' -a 'ok failed'
complete -c gpuprobectl -n '__fish_seen_subcommand_from quarantine' -a 'list clear vulkan opencl cuda nvml hip level_zero pci'
complete -c gpuprobectl -n '__fish_seen_subcommand_from quarantine' -l driver -r -F -d 'the one with this manifest'
complete -c gpuprobectl -n '__fish_seen_subcommand_from quarantine' -l all -d 'every one'
complete -c gpuprobectl -n '__fish_seen_subcommand_from help' -a "$verbs"

complete -c gpuprobectl -s j -d 'print JSON'
complete -c gpuprobectl -l json -x -a 'pretty short off' -d 'print JSON'
complete -c gpuprobectl -l color -x -a 'auto always never' -d colour
complete -c gpuprobectl -l no-legend -d 'no titles and closing hints'
complete -c gpuprobectl -l no-pager -d 'accepted; there is no pager'
complete -c gpuprobectl -s q -l quiet -d 'no remarks'
complete -c gpuprobectl -l bus -x -a 'system session' -d 'bus of the daemon'
complete -c gpuprobectl -l direct -d 'ask the machine from this process'
complete -c gpuprobectl -l replay -r -a '(__fish_complete_directories)' -d 'answer for a captured machine'
complete -c gpuprobectl -l worker -r -F -d 'the probe worker'
complete -c gpuprobectl -l profiles -r -a '(__fish_complete_directories)' -d 'more consumer profiles'
complete -c gpuprobectl -l no-cache -d 'forget what earlier runs learned'
complete -c gpuprobectl -s h -l help -d help

set -l chooses '__fish_seen_subcommand_from select env'
set -l rules '__fish_seen_subcommand_from select env override'
set -l tells '__fish_seen_subcommand_from report-outcome'
set -l backends 'cuda rocm sycl vulkan opencl cpu'
complete -c gpuprobectl -n $chooses -l built -x -a $backends -d 'backends compiled in'
complete -c gpuprobectl -n $rules -l prefer -x -a $backends -d 'backends to try first'
complete -c gpuprobectl -n $rules -l only -x -a $backends -d 'these backends or none'
complete -c gpuprobectl -n $rules -l deny -x -a $backends -d 'backends or GPUs never to use'
complete -c gpuprobectl -n $rules -l gpu -x -a '(__gpuprobectl_gpus)' -d 'these GPUs or none'
complete -c gpuprobectl -n $rules -l backend -x -a $backends -d 'this backend or none'
complete -c gpuprobectl -n $tells -l backend -x -a $backends -d 'the backend chosen'
complete -c gpuprobectl -n $tells -l variant -x -d 'the variant installed'
complete -c gpuprobectl -n $tells -l family -x -a 'cuda rocm vulkan xpu cpu' -d 'everything of that family'
complete -c gpuprobectl -n $tells -l gpu -x -a '(__gpuprobectl_gpus)' -d 'the GPU it ran on'
complete -c gpuprobectl -n $tells -l detail -x -d 'what went wrong'
complete -c gpuprobectl -n $rules -l min-memory -x -a '4GiB 8GiB 16GiB 24GiB' -d 'memory a GPU must offer'
complete -c gpuprobectl -n $rules -l strict -d 'fail rather than use the CPU'
complete -c gpuprobectl -n $chooses -l any-vendor -d 'every backend on every vendor'
complete -c gpuprobectl -n $chooses -l require -x -d 'what must hold'
complete -c gpuprobectl -n $chooses -l platform -x -a 'darwin-arm64 darwin-amd64 linux-amd64 linux-arm64' -d 'answer for another machine'
complete -c gpuprobectl -n $chooses -l fake -x -a $backends -d 'make up a GPU for each'
complete -c gpuprobectl -n $chooses -l forbid-fake -d 'refuse to make up GPUs'
complete -c gpuprobectl -n $chooses -l no-rejected -d 'leave rejected candidates out'
complete -c gpuprobectl -n $chooses -l explain -d 'every candidate with its reason'

set -l plans '__fish_seen_subcommand_from plan'
complete -c gpuprobectl -n $plans -l gguf -r -F -d 'a model in GGUF'
complete -c gpuprobectl -n $plans -l beginning -d 'the file is the beginning of a model'
complete -c gpuprobectl -n $plans -l need-mib -x -d 'no model, but so many MiB'
complete -c gpuprobectl -n $plans -l ctx -x -a '4k 8k 16k 32k 64k 128k' -d 'tokens of context'
complete -c gpuprobectl -n $plans -l kv -x -a 'f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0 iq4_nl f32' -d 'type of the cache'
complete -c gpuprobectl -n $plans -l batch -x -d 'tokens computed at once'
complete -c gpuprobectl -n $plans -l streams -x -d 'sequences at the same time'
complete -c gpuprobectl -n $plans -l gpus -x -a '(__gpuprobectl_gpus)' -d 'these GPUs only'
complete -c gpuprobectl -n $plans -l margin-mib -x -d 'left free on each GPU'

complete -c gpuprobectl -n '__fish_seen_subcommand_from probe' -l api -x -a 'vulkan opencl cuda nvml hip level_zero pci' -d 'only these APIs'
complete -c gpuprobectl -n '__fish_seen_subcommand_from probe' -l allow-wake -d 'wake sleeping GPUs'
complete -c gpuprobectl -n '__fish_seen_subcommand_from capture' -l redact -d 'stand-ins for UUIDs'
complete -c gpuprobectl -n '__fish_seen_subcommand_from doctor' -l strict -d 'warnings count too'
complete -c gpuprobectl -n '__fish_seen_subcommand_from env' -l all -d 'positions too'
complete -c gpuprobectl -n '__fish_seen_subcommand_from env' -l build -d 'flags to build with'

set -l variants '__fish_seen_subcommand_from recommend export'
complete -c gpuprobectl -n $variants -a '(__gpuprobectl_products)'
complete -c gpuprobectl -n '__fish_seen_subcommand_from export' -a 'conda uv wheel pip ggml container'
complete -c gpuprobectl -n '__fish_seen_subcommand_from verify import-manifest' -F
complete -c gpuprobectl -n '__fish_seen_subcommand_from recommend export verify' -l manifest -r -F -d 'the variants there are'
complete -c gpuprobectl -n $variants -l prefer -x -d 'these first'
complete -c gpuprobectl -n $variants -l only -x -d 'these or none'
complete -c gpuprobectl -n $variants -l exclude -x -a 'family:cuda family:rocm family:vulkan' -d 'not these'
complete -c gpuprobectl -n $variants -l need-mib -x -d 'memory that every GPU must offer'
complete -c gpuprobectl -n '__fish_seen_subcommand_from recommend' -l explain -d 'every variant with its reason'
complete -c gpuprobectl -n '__fish_seen_subcommand_from recommend' -l chain -d 'the names alone'
complete -c gpuprobectl -n '__fish_seen_subcommand_from recommend' -l force -x -d 'this variant whatever the verdict'
complete -c gpuprobectl -n '__fish_seen_subcommand_from verify' -l variant -x -d 'the variant that the file is'
complete -c gpuprobectl -n '__fish_seen_subcommand_from import-manifest' -l format -x -a 'github unsloth localai' -d 'of the file'
complete -c gpuprobectl -n '__fish_seen_subcommand_from import-manifest' -l overlay -r -F -d 'what the builds need'
complete -c gpuprobectl -n '__fish_seen_subcommand_from import-manifest' -l entry -x -d 'which backend'
