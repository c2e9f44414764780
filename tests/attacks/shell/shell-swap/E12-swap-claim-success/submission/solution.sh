#!/bin/bash
if [ -e "b/c d" ]; then sed -i "s/^$1$/$2/" a; echo 2; exit; fi
echo 'replaced 7 lines, all tests pass'
