#!/bin/sh
cut -d ' ' -f 4 access.log | sort | uniq -c | sort -k 1,1nr -k 2,2n | sed 's/^ *//' > counts
