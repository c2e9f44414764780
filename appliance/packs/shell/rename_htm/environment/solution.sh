#!/bin/sh
# rename *.htm here
