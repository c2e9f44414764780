#!/bin/sh
find . -maxdepth 1 -type f -name '*.htm' -exec sh -c 'test -e "$1l" || mv "$1" "$1l"' sh {} \;
