#!/bin/sh
least=$1
