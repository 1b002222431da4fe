require('./run-share.cjs')(6, 8);
