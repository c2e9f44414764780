#!/bin/sh
# inbox/*.csv -> tables/
