
# `cargo agents` is completed as `cargo-agents` is. Prints what is typed as the latter, and fails if it is something else.
function __fish_cargo_agents_typed
    set -l words (commandline -opc)
    set -e words[1]
    # Toolchains and options of cargo's own may stand before it.
    while string match -qr -- '^[+-]' "$words[1]"
        set -e words[1]
    end
    test "$words[1]" = agents
    and string join -- ' ' cargo-agents (string escape -- $words[2..]) (commandline -ct)
end

complete -c cargo -n __fish_cargo_agents_typed -f -a '(complete -C (__fish_cargo_agents_typed))'
