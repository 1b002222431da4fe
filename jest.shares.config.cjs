const config = require('./jest.config.cjs');

const sharesOf = (name) => {
  const project = config.projects.find(({ displayName }) => displayName === name);
  return { ...project, testMatch: [`<rootDir>/test/shares/${name}-*.cjs`] };
};

// All unit and integration specs in a few suites: loading what they have in common takes longer than running them. All
// e2e specs in a few suites: those of a suite also share installations (test/support/shared-installations.ts).
module.exports = { ...config, projects: [sharesOf('unit'), sharesOf('integration'), sharesOf('e2e')] };
