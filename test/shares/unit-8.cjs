require('./run-share.cjs').unit(8, 8);
