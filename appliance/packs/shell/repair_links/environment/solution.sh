#!/bin/sh
# repair broken links
