#!/bin/sh
name=$1 value=$2
