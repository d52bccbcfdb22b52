# SPDX-License-Identifier: Apache-2.0
# Bash completion for gpuprobectl. `gpuprobectl complete` prints the words that can follow.

_gpuprobectl() {
    local cur=${COMP_WORDS[COMP_CWORD]} word line whole lead i
    local -a words=('')

    # Bash splits words such as "--json=short" and "pci:0000:01:00.0" at "=" and ":". Join the parts again.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 1)); then
            words=("$word")
        elif [[ $word == [=:]* || ${COMP_WORDS[i-1]} == *[=:] ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    [[ $cur == [=:]* ]] && cur=
    whole=${words[-1]}
    lead=${whole%"$cur"}

    COMPREPLY=()
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        if [[ $word ]]; then
            COMPREPLY+=("${word#"$lead"}")
            [[ $word == *= ]] && compopt -o nospace 2>/dev/null
            continue
        fi
        compopt -o filenames 2>/dev/null
        case ${line#*$'\t'} in
            files) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur") ;;
            folders) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur") ;;
        esac
    done < <(gpuprobectl complete "${words[@]}" 2>/dev/null)
}

complete -F _gpuprobectl gpuprobectl
