#!/bin/sh
find . -type f -size +"$1"c -printf '%s %P\n' | LC_ALL=C sort -k 1,1nr -k 2
