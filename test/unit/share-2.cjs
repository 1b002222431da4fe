require('./run-share.cjs')(2, 8);
