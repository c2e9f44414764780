#!/bin/sh
find . -xtype l | while IFS= read -r link; do
    wanted=$(readlink "$link")
    wanted=${wanted##*/}
    find . -type f | while IFS= read -r file; do
        [ "${file##*/}" != "$wanted" ] || printf '%s\n' "$file"
    done > ../found
    rm "$link"
    if [ "$(wc -l < ../found)" -eq 1 ]; then
        ln -s -- "$(realpath --relative-to="${link%/*}" "$(cat ../found)")" "$link"
    fi
done
