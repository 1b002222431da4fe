require('./run-share.cjs')(8, 8);
