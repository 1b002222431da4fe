require('./run-share.cjs')(4, 8);
