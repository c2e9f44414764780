#!/bin/sh
tab=$(printf '\t')
: > sums.tsv
while IFS=$tab read -r key name; do
    sum=0
    while IFS=$tab read -r who amount; do
        if [ "$who" = "$key" ]; then sum=$((sum + amount)); fi
    done < orders.tsv
    printf '%s\t%s\n' "$name" "$sum" >> sums.tsv
done < people.tsv
while IFS=$tab read -r who amount; do
    cut -f 1 people.tsv | grep -qxF -e "$who" || printf '%s\t%s\n' "$who" "$amount" >> strays.tsv
done < orders.tsv
