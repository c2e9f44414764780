#!/bin/sh
# split book.txt
