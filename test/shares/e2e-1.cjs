require('./run-share.cjs').e2e(1, 9);
