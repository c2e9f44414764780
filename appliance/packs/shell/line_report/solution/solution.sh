#!/bin/sh
total=0
for file in ./*.csv; do
    [ -f "$file" ] || continue
    lines=$(wc -l < "$file")
    echo "$lines ${file#./}"
    total=$((total + lines))
done > report
echo "total $total" >> report
