#!/bin/sh
for file in ./*.htm; do
    [ -f "$file" ] || continue
    [ -e "${file}l" ] || mv "$file" "${file}l"
done
