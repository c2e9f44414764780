#!/bin/sh
find . -mindepth 1 -type d -exec chmod 750 {} +
find . -type f -name '*.key' -exec chmod 600 {} +
find . -type f ! -name '*.key' -exec sh -c '
for file do
    [ "$(head -c 2 "$file")" != "#!" ] || chmod 755 "$file"
done' sh {} +
