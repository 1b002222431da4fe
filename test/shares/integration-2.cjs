require('./run-share.cjs').integration(2, 4);
