# SPDX-License-Identifier: Apache-2.0
# Fish completion for gpuprobectl. `gpuprobectl complete` prints the words that can follow.

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
                # The third field of a line with a verb is the group of the verb, which fish does not show.
                string replace --regex '^([^\t]*\t[^\t]*)\t.*' '$1' -- $line
        end
    end
end

complete -c gpuprobectl -f -a '(__gpuprobectl_complete)'
