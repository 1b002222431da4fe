require('./run-share.cjs').e2e(9, 9);
