#!/bin/sh
mkdir -p tables || exit 1
for file in inbox/*.csv inbox/.csv inbox/.*.csv; do
    if [ -f "$file" ] && [ ! -L "$file" ]; then
        mv "$file" tables/
    fi
done
