
# `cargo agents` is completed as `cargo-agents` is, and whatever else follows `cargo` as it was before.
_cargo__agents_after_cargo() {
    local at=1
    # Toolchains and options of cargo's own may stand before it.
    while [[ $at -lt $COMP_CWORD && ${COMP_WORDS[at]} == [+-]* ]]; do
        at=$((at + 1))
    done
    if [[ $at -lt $COMP_CWORD && ${COMP_WORDS[at]} == agents ]]; then
        COMP_WORDS=(cargo-agents "${COMP_WORDS[@]:at+1}")
        COMP_CWORD=$((COMP_CWORD - at))
        # What `cargo` is registered with need not fit us. Older versions of bash do not know all of this, and do without.
        { compopt -o bashdefault -o default +o nospace; compopt -o nosort; } 2>/dev/null
        _cargo__agents cargo-agents "$2" "$3"
    elif [[ -n ${_cargo__agents_before-} ]]; then
        "$_cargo__agents_before" "$@"
    else
        _cargo__agents_load_cargo "$@"
    fi
}

# Takes the place of the function that completes `cargo`, which is kept for what is not ours. What is completed without
# a function stays as it is.
_cargo__agents_wrap_cargo() {
    local known function=' -F ([^ ]+) '
    known=$(complete -p cargo 2>/dev/null)
    if [[ -z $known ]]; then
        _cargo__agents_before=
        complete -F _cargo__agents_after_cargo -o bashdefault -o default cargo
    elif [[ $known =~ $function && ${BASH_REMATCH[1]} != _cargo__agents_after_cargo ]]; then
        _cargo__agents_before=${BASH_REMATCH[1]}
        eval "${known/ -F $_cargo__agents_before / -F _cargo__agents_after_cargo }"
    fi
}

# Has bash-completion load what completes `cargo`, as it would have done without us: when it is first needed.
_cargo__agents_load_cargo() {
    local loader found function=' -F ([^ ]+) '
    loader=$(complete -p -D 2>/dev/null)
    [[ $loader =~ $function ]] || return 0
    complete -r cargo
    "${BASH_REMATCH[1]}" "$@"
    found=$(complete -p cargo 2>/dev/null)
    _cargo__agents_wrap_cargo
    # With 124, bash begins again with what is registered now.
    [[ -z $found ]] || return 124
}

_cargo__agents_wrap_cargo
