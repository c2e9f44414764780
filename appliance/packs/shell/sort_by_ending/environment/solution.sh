#!/bin/sh
# one folder for each ending
