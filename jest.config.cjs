const project = (displayName, testMatch, extra = {}) => ({
  displayName,
  rootDir: __dirname,
  testMatch,
  testEnvironment: 'node',
  moduleNameMapper: {
    '^@libs/([a-z-]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^@libs/([a-z-]+)/testing$': '<rootDir>/libs/$1/src/testing/index.ts',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        module: { type: 'commonjs' },
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
      },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.sluice/'],
  setupFiles: ['reflect-metadata'],
  ...extra,
});

// Ends what specs shared. Agents use the installations of e2e specs.
const shares = { setupFilesAfterEnv: ['<rootDir>/test/support/end-shared-installations.ts'] };

// unit: no services. integration: real PostgreSQL, RabbitMQ, Redis. e2e and chaos: the composed system. timed: the
// same, where a test looks at how soon something happens.
module.exports = {
  // Long enough for a machine that has much else to do: a test that hangs fails late, one that is slow does not fail.
  testTimeout: 60_000,
  projects: [
    project('unit', ['<rootDir>/{apps,libs,tools,scripts,test,bench}/**/*.spec.ts']),
    project('integration', ['<rootDir>/{apps,libs}/**/*.int-spec.ts']),
    project('e2e', ['<rootDir>/test/{e2e,clients,hostile}/**/*.e2e-spec.ts'], shares),
    project('chaos', ['<rootDir>/test/chaos/**/*.chaos-spec.ts']),
    project('agents', ['<rootDir>/test/clients/agents/*.agents-spec.ts'], shares),
    project('timed', ['<rootDir>/test/chaos/**/*.timed-spec.ts']),
  ],
};
