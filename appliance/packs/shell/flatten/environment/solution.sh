#!/bin/sh
# move all files up
