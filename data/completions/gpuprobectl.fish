# SPDX-License-Identifier: Apache-2.0
# Completion of gpuprobectl for fish: the program itself knows what fits.

function __gpuprobectl_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in (gpuprobectl complete $before[2..] "$current" 2>/dev/null)
        switch $line
            case \tfiles
                __fish_complete_path "$current"
            case \tfolders
                __fish_complete_directories "$current"
            case '*'
                # Of a verb, the third field is its group, which fish does not show.
                string replace --regex '^([^\t]*\t[^\t]*)\t.*' '$1' -- $line
        end
    end
end

complete -c gpuprobectl -f -a '(__gpuprobectl_complete)'
