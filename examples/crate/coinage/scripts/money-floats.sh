# Typed by people and by CI, in the workspace that depends on the crate. Arguments: where to look; without any, here.
[ $# -gt 0 ] || set -- .
grep -rnEf "$(dirname "$0")/floats.grep" --include='*.rs' --exclude-dir=target "$@"
found=$?
# Nothing found is good; a place that cannot be read is not the same.
case $found in
    0) exit 1 ;;
    1) echo "no amount becomes a float" ;;
    *) exit "$found" ;;
esac
