require('./run-share.cjs').unit(1, 4);
