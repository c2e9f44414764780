#!/bin/sh
find . -type f -size +"$1"c -printf '%s %P\n' | sort -k 1,1nr
