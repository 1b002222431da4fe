require('./run-share.cjs')(5, 8);
