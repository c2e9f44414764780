#!/bin/sh
# rotate app.log
