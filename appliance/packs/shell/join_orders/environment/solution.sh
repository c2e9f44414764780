#!/bin/sh
# make sums.tsv
