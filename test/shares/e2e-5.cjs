require('./run-share.cjs').e2e(5, 9);
