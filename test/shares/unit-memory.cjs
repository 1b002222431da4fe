require('./run-share.cjs').memory();
