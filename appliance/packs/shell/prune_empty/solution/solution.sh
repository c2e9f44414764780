#!/bin/sh
find . -type f -empty ! -name .keep -exec rm -- {} +
find . -mindepth 1 -depth -type d -exec rmdir --ignore-fail-on-non-empty -- {} +
