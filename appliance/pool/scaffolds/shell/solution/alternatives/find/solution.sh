#!/bin/sh
if [ ! -d tables ]; then mkdir tables; fi
find inbox -mindepth 1 -maxdepth 1 -type f -name '*.csv' -exec mv {} tables \;
