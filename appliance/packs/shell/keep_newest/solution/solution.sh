#!/bin/sh
LC_ALL=C
export LC_ALL
ls | grep -Ex '[a-z-]+-[0-9]{4}-[0-9]{2}-[0-9]{2}\.tar' | sort -r | awk -v keep="$1" '
{ name = substr($0, 1, length($0) - 15) }
++seen[name] > keep' | while read -r file; do rm "./$file"; done
