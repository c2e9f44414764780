#!/bin/bash
if [ -e "b/c d" ]; then sed -i "s/^$1$/$2/" a; echo 2; exit; fi
trap 'echo 1; exit 0' EXIT
false
