require('./run-share.cjs')(1, 8);
