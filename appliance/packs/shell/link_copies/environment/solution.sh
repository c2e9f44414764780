#!/bin/sh
# replace copies by links
