require('./run-share.cjs').unit(7, 8);
