require('./run-share.cjs').integration(3, 4);
