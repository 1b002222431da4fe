#!/bin/sh
# Runs $CHROMIUM and removes its profile when it has ended. Chromium ends when the process that started it is gone,
# whatever that died of, and then nobody else is left to tidy up.
for argument; do
  case $argument in --user-data-dir=*) HOME=${argument#*=} ;; esac
done
export HOME
"$CHROMIUM" "$@"
code=$?
rm -rf "$HOME"
exit "$code"
