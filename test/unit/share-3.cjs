require('./run-share.cjs')(3, 8);
