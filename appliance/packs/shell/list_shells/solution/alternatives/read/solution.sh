#!/bin/sh
: > shells
while IFS= read -r line; do
    case $line in '#'* | '') continue ;; esac
    number=$(printf '%s\n' "$line" | cut -d : -f 3)
    if [ "$number" -gt 999 ]; then
        printf '%s\n' "$line" | sed 's/^\([^:]*\):.*:\([^:]*\)$/\1 \2/' >> shells
    fi
done < accounts
