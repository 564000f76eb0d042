# Reads what a coding agent is about to do, and refuses code that makes a float of an amount.
# What is said on standard error before exit code 2 is the reason that the model reads.
call=$(cat)
case $call in
# It guards against mistakes: whoever only looks for such code may.
*'"tool_name":"Grep"'* | *'"command":"grep '* | *'"command":"rg '* | *'"command":"git grep '*) exit 0 ;;
esac
if printf '%s\n' "$call" | grep -qEf "$(dirname "$0")/floats.grep"; then
    echo "an amount must not become a float: use Amount::basis_points for percentages, Amount::split for shares, Display for text" >&2
    exit 2
fi
