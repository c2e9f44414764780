#!/bin/sh
# set permissions
