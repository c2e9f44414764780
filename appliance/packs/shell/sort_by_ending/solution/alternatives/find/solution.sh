#!/bin/sh
find . -maxdepth 1 -type f -name '?*.?*' | while IFS= read -r file; do
    folder=$(printf '%s' "$file" | sed 's/.*\.//')
    if [ -n "$folder" ]; then
        mkdir -p -- "$folder"
        mv -- "$file" "$folder"
    fi
done
