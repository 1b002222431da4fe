require('./run-share.cjs').unit(3, 4);
