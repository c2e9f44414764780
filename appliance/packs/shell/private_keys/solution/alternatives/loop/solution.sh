#!/bin/sh
find . -mindepth 1 | while IFS= read -r path; do
    if [ -d "$path" ]; then
        chmod u=rwx,g=rx,o= "$path"
        continue
    fi
    case $path in
        *.key) chmod u=rw,go= "$path" ;;
        *) if dd if="$path" bs=1 count=2 2> /dev/null | grep -q '^#!'; then chmod u=rwx,go=rx "$path"; fi ;;
    esac
done
