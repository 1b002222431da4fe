require('./run-share.cjs').e2e(7, 9);
