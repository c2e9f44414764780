#!/bin/sh
find . -type f -size 0 -not -name '.keep' -delete
find . -mindepth 1 -type d -empty -delete
