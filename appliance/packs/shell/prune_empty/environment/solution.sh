#!/bin/sh
# remove what is empty
