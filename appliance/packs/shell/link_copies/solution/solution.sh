#!/bin/sh
find . -maxdepth 1 -type f ! -empty -printf '%f\n' | sort | while IFS= read -r name; do
    sum=$(sha256sum < "./$name")
    if kept=$(grep -e "^$sum" ../kept 2> /dev/null); then
        ln -sf -- "${kept#*-}" "$name"
    else
        printf '%s\n' "$sum$name" >> ../kept
    fi
done
