# Other people's commits are not for an agent to throw away.
call=$(cat)
case $call in
*"git push"*--force-with-lease*) ;;
*"git push"*--force* | *"git push -f"*)
    echo "a forced push throws away what others have pushed; use --force-with-lease, on a branch of your own" >&2
    exit 2
    ;;
*"git reset --hard"*)
    echo "git reset --hard throws away what is not committed; use git stash, or git restore with a path" >&2
    exit 2
    ;;
esac
