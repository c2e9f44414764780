#!/bin/sh
# make the file counts
