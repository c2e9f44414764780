#!/bin/sh
awk 'BEGIN { out = "preface.txt" }
/^== [a-z0-9]+ ==$/ { out = $2 ".txt"; printf "" > out; next }
{ print > out }' book.txt
