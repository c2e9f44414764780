#!/bin/sh
# Started in the folder that is to be tidied.
mkdir -p archive
