# SPDX-License-Identifier: Apache-2.0
# Completion of gpuprobectl for bash. Asks the daemon only, and for at most 300 ms.

_gpuprobectl_ask() {
    timeout 0.3 gpuprobectl "$@" 2>/dev/null
}

_gpuprobectl_gpus() {
    _gpuprobectl_ask list --bus=system --no-legend | awk '{ print $2 }'
}

_gpuprobectl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= word i
    local verbs='status list show describe select env recommend export verify products
        import-manifest plan probe monitor doctor capture override report-outcome quarantine
        consumers version help'
    local backends='cuda rocm sycl vulkan opencl webgpu cpu'
    local apis='vulkan opencl cuda nvml hip level_zero pci'
    local options='--json= --color= --no-legend --no-pager --quiet --bus= --direct --replay=
        --worker= --profiles= --no-cache --help -j -q'

    # The word break at "=" makes "--json=short" three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ " $verbs " == *" $word "* && ${COMP_WORDS[i-1]} != = ]]; then
            verb=$word
            break
        fi
    done

    COMPREPLY=()
    case $prev in
        --json) COMPREPLY=($(compgen -W 'pretty short off' -- "$cur")); return ;;
        --color) COMPREPLY=($(compgen -W 'auto always never' -- "$cur")); return ;;
        --bus) COMPREPLY=($(compgen -W 'system session' -- "$cur")); return ;;
        --replay|--profiles) COMPREPLY=($(compgen -d -- "$cur")); return ;;
        --manifest|--overlay) COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --format) COMPREPLY=($(compgen -W 'github unsloth' -- "$cur")); return ;;
        --worker) COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --exclude) COMPREPLY=($(compgen -W 'family:cuda family:rocm family:vulkan' -- "$cur")); return ;;
        --built|--prefer|--deny|--only|--backend|--fake) COMPREPLY=($(compgen -W "$backends" -- "$cur")); return ;;
        --api) COMPREPLY=($(compgen -W "$apis" -- "$cur")); return ;;
        --driver) COMPREPLY=($(compgen -f -- "$cur")); return ;;
        --gguf) COMPREPLY=($(compgen -f -X '!*.gguf' -- "$cur") $(compgen -d -- "$cur")); return ;;
        --kv) COMPREPLY=($(compgen -W 'f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0 iq4_nl f32' -- "$cur")); return ;;
        --ctx) COMPREPLY=($(compgen -W '4k 8k 16k 32k 64k 128k' -- "$cur")); return ;;
        --gpus) COMPREPLY=($(compgen -W "$(_gpuprobectl_gpus)" -- "$cur")); return ;;
        --platform) COMPREPLY=($(compgen -W 'darwin-arm64 darwin-amd64 linux-amd64 linux-arm64' -- "$cur")); return ;;
        --require) COMPREPLY=($(compgen -W 'fp16 bfloat16 int8 verified' -- "$cur")); return ;;
        --min-memory) COMPREPLY=($(compgen -W '4GiB 8GiB 16GiB 24GiB' -- "$cur")); return ;;
    esac

    case $verb in
        select|env)
            options+=' --built= --prefer= --deny= --gpu= --only= --backend= --min-memory= --require= --platform=
                --fake= --forbid-fake --any-vendor --no-rejected --strict --explain'
            [[ $verb == env ]] && options+=' --all --build'
            ;;
        recommend)
            options+=' --manifest= --prefer= --only= --exclude= --need-mib= --explain --chain --force='
            ;;
        export) options+=' --manifest= --prefer= --only= --exclude= --need-mib=' ;;
        verify) options+=' --manifest= --variant=' ;;
        import-manifest) options+=' --format= --overlay= --entry=' ;;
        override) options+=' --prefer= --only= --deny= --gpu= --backend= --min-memory= --strict' ;;
        quarantine) options+=' --driver= --all' ;;
        report-outcome) options+=' --backend= --variant= --family= --gpu= --detail=' ;;
        plan)
            options+=' --gguf= --beginning --need-mib= --ctx= --kv= --batch= --streams= --gpus= --margin-mib='
            ;;
        probe) options+=' --api= --allow-wake' ;;
        capture) options+=' --redact' ;;
        doctor) options+=' --strict' ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
        [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null
        return
    fi
    case $verb in
        '') COMPREPLY=($(compgen -W "$verbs" -- "$cur")) ;;
        select) COMPREPLY=($(compgen -W "$(_gpuprobectl_ask consumers)" -- "$cur")) ;;
        quarantine)
            case $prev in
                quarantine) COMPREPLY=($(compgen -W 'list clear' -- "$cur")) ;;
                clear) COMPREPLY=($(compgen -W "$apis" -- "$cur")) ;;
            esac
            ;;
        override|report-outcome)
            case $prev in
                override) COMPREPLY=($(compgen -W 'set clear list' -- "$cur")) ;;
                set|clear|report-outcome)
                    COMPREPLY=($(compgen -W "$(_gpuprobectl_ask consumers)" -- "$cur")) ;;
                *) [[ $verb == report-outcome ]] && COMPREPLY=($(compgen -W 'ok failed' -- "$cur")) ;;
            esac
            ;;
        env|show|describe|probe)
            local names=$(_gpuprobectl_gpus)
            [[ $verb == env ]] && names+=" $(_gpuprobectl_ask consumers)"
            COMPREPLY=($(compgen -W "$names" -- "$cur"))
            # Ids hold colons, at which bash breaks words unless told otherwise.
            if declare -F __ltrim_colon_completions >/dev/null; then
                __ltrim_colon_completions "$cur"
            fi
            ;;
        capture) COMPREPLY=($(compgen -d -- "$cur")) ;;
        recommend) COMPREPLY=($(compgen -W "$(_gpuprobectl_ask products)" -- "$cur")) ;;
        export)
            if [[ $prev == export ]]; then
                COMPREPLY=($(compgen -W 'conda uv wheel pip ggml container' -- "$cur"))
            else
                COMPREPLY=($(compgen -W "$(_gpuprobectl_ask products)" -- "$cur"))
            fi
            ;;
        verify|import-manifest) COMPREPLY=($(compgen -f -- "$cur")) ;;
        help) COMPREPLY=($(compgen -W "$verbs" -- "$cur")) ;;
    esac
}

complete -F _gpuprobectl gpuprobectl
