require('./run-share.cjs').e2e(3, 9);
