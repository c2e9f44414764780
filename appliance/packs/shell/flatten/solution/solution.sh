#!/bin/sh
find ./*/ -type f | while IFS= read -r file; do
    mv "$file" "./$(printf '%s\n' "$file" | sed 's,/,__,g; s,^[.]__,,')"
done
rm -r ./*/
