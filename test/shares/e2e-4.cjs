require('./run-share.cjs').e2e(4, 9);
