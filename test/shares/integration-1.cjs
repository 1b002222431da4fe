require('./run-share.cjs').integration(1, 4);
