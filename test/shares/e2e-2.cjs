require('./run-share.cjs').e2e(2, 9);
