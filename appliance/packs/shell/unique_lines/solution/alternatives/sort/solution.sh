#!/bin/sh
find . -type f -name '*.txt' | while IFS= read -r file; do
    cat -n "$file" | LC_ALL=C sort -s -t "$(printf '\t')" -k 2 | awk '{ line = $0; sub(/^[^\t]*\t/, "", line); if (NR == 1 || line != last) print; last = line }' | sort -n | cut -f 2- > ../new
    cp ../new "$file"
done
