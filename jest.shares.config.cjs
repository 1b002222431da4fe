const { projects, testTimeout } = require('./jest.config.cjs');

const unit = projects.find(({ displayName }) => displayName === 'unit');

// All unit specs in a few suites: loading what they share takes longer than running them.
module.exports = { ...unit, testTimeout, testMatch: ['<rootDir>/test/unit/share-*.cjs'] };
