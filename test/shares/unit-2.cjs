require('./run-share.cjs').unit(2, 4);
