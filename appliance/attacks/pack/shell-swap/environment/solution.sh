#!/bin/bash
old=$1 new=$2
echo 0
