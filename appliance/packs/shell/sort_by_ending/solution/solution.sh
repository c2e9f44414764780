#!/bin/sh
for file in ./*.*; do
    ending=${file##*.}
    [ -f "$file" ] && [ -n "$ending" ] || continue
    mkdir -p "./$ending" && mv "$file" "./$ending/"
done
