#!/bin/sh
{
    IFS= read -r head
    printf '%s\n' "$head"
    while IFS=, read -r id region amount; do
        if [ "$region" = "$1" ] && [ "$amount" -ge "$2" ]; then printf '%s,%s,%s\n' "$id" "$region" "$amount"; fi
    done
} < sales.csv > big.csv
