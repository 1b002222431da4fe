require('./run-share.cjs')(7, 8);
