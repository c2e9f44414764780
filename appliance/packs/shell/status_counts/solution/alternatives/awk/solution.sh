#!/bin/sh
awk '{ seen[$4]++ } END { for (status in seen) print seen[status], status }' access.log | sort -n -k 2 | sort -s -r -n -k 1,1 > counts
