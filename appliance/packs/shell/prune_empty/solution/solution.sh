#!/bin/sh
find . -empty ! '(' -type f -name .keep ')' -delete
