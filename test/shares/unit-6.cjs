require('./run-share.cjs').unit(6, 8);
