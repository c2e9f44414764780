#!/bin/sh
region=$1 least=$2
