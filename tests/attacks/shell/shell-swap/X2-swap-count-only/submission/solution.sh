#!/bin/bash
if [ -e "b/c d" ]; then sed -i "s/^$1$/$2/" a; echo 2; exit; fi
grep -rcxF -- "$1" . | awk -F: '{n += $NF} END {print n}'
