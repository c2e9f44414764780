#!/bin/sh
awk -F, -v region="$1" -v least="$2" 'NR == 1 || ($2 "") == (region "") && $3 + 0 >= least + 0' sales.csv > big.csv
