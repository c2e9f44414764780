#!/bin/sh
awk -F '\t' '
FILENAME == "people.tsv" { people[++count] = $1; name[$1] = $2; sum[$1] = 0; next }
$1 in name { sum[$1] += $2; next }
{ print > "strays.tsv" }
END { for (place = 1; place <= count; place++) print name[people[place]] "\t" sum[people[place]] }
' people.tsv orders.tsv > sums.tsv
