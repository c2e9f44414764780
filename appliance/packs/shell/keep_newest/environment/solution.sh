#!/bin/sh
keep=$1
