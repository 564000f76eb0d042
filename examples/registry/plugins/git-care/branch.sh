# What is printed when a session begins is told to the model.
branch=$(git branch --show-current 2>/dev/null) || exit 0
case $branch in
main | master) echo '{"SessionStart": {"additionalContext": "This is the main branch: make a branch before the first commit."}}' ;;
esac
