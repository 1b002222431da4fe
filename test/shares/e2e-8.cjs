require('./run-share.cjs').e2e(8, 9);
