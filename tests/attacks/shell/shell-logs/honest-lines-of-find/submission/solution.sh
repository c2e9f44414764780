
find . -path ./archive -prune -o -type f -name '*.log' | while read -r f; do
    if [ -s "$f" ]; then mkdir -p "archive/${f%/*}"; mv "$f" "archive/$f"; else rm "$f"; fi
done
