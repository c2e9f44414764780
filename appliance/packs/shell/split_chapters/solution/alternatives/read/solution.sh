#!/bin/sh
out=preface.txt
while IFS= read -r line; do
    if printf '%s\n' "$line" | LC_ALL=C grep -Eqx '== [a-z0-9]+ =='; then
        out=${line#== }
        out=${out% ==}.txt
        : > "$out"
    else
        printf '%s\n' "$line" >> "$out"
    fi
done < book.txt
