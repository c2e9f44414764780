#!/bin/sh
find . -mindepth 2 -type f -exec sh -c '
for file do
    mv -- "$file" "./$(printf "%s\n" "${file#./}" | sed "s,/,__,g")"
done' sh {} +
find . -mindepth 1 -depth -type d -exec rmdir -- {} +
