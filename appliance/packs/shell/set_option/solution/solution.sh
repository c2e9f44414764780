#!/bin/sh
name=$1 value=$2 done=
while IFS= read -r line; do
    case $line in
        "$name="*) line="$name=$value" done=yes ;;
    esac
    printf '%s\n' "$line"
done < app.conf > ../new
[ "$done" ] || printf '%s\n' "$name=$value" >> ../new
cat ../new > app.conf
