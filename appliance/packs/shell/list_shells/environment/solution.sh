#!/bin/sh
# make the file shells
