require('./run-share.cjs').unit(5, 8);
