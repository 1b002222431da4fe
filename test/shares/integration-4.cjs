require('./run-share.cjs').integration(4, 4);
