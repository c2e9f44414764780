#!/bin/sh
# make the file report
