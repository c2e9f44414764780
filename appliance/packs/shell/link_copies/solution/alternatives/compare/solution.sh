#!/bin/sh
find . -maxdepth 1 -type f -size +0 | LC_ALL=C sort > ../files
while IFS= read -r first; do
    [ ! -h "$first" ] || continue
    while IFS= read -r later; do
        if [ "$later" != "$first" ] && [ ! -h "$later" ] && cmp -s -- "$first" "$later"; then
            rm -- "$later"
            ln -s -- "${first#./}" "$later"
        fi
    done < ../files
done < ../files
