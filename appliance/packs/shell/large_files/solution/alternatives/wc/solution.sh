#!/bin/sh
find . -type f | while IFS= read -r file; do
    size=$(wc -c < "$file")
    if [ "$size" -gt "$1" ]; then printf '%s %s\n' "$size" "${file#./}"; fi
done | LC_ALL=C sort -t ' ' -k 2 | LC_ALL=C sort -s -t ' ' -k 1,1rn
