#!/bin/sh
find . -path ./archive -prune -o -type f -name '*.log' -exec sh -c '
for file do
    if [ -s "$file" ]; then
        target=archive/${file#./}
        mkdir -p -- "${target%/*}" && mv -- "$file" "$target"
    else
        rm -- "$file"
    fi
done' sh {} +
