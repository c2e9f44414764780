#!/bin/sh
for name in $(ls | LC_ALL=C grep -E '^[a-z-]+-[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][.]tar$' | sed 's/-[0-9-]*\.tar$//' | sort -u); do
    count=0
    for file in $(ls | grep -E -e "^$name-[0-9]{4}-[0-9]{2}-[0-9]{2}\.tar$" | sort -r); do
        count=$((count + 1))
        [ "$count" -le "$1" ] || rm -- "$file"
    done
done
