#!/bin/sh
find . -maxdepth 1 -type f -name '*.csv' | LC_ALL=C sort | while IFS= read -r file; do
    printf '%s %s\n' "$(tr -cd '\n' < "$file" | wc -c)" "${file#./}"
done > report
awk '{ sum += $1 } END { print "total", sum + 0 }' report > ../sum
cat ../sum >> report
