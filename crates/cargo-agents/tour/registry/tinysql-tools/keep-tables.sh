# Denies commands that drop tables; exit code 2 says so to every host.
case $(cat) in
*"DROP TABLE"*) echo "tables are dropped by migrations only; write one in migrations/" >&2; exit 2 ;;
esac
