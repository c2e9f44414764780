#!/bin/sh
# keep the first of equal lines
