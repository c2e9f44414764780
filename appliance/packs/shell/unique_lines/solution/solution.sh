#!/bin/sh
find . -name '*.txt' -exec sh -c '
for file do
    awk "!seen[\$0]++" "$file" > ../unique && cat ../unique > "$file"
done' sh {} +
