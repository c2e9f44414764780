#!/bin/sh
ls | grep -Ex '[a-z-]+-[0-9]{4}-[0-9]{2}-[0-9]{2}\.tar' | sort -r | awk -F '-[0-9]' -v keep="$1" '++seen[$1] > keep' | while read -r file; do
    rm "./$file"
done
