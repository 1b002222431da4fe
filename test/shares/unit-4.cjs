require('./run-share.cjs').unit(4, 4);
