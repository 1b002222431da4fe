require('./run-share.cjs').e2e(6, 9);
