// The types of the client are generated: a fresh clone has none.
require('node:child_process').execFileSync(process.execPath, [`${__dirname}/scripts/client-types.mjs`]);

const shared = {
  rootDir: '.',
  testEnvironment: '<rootDir>/test/support/jest/environment.cjs',
  runtime: '<rootDir>/test/support/jest/runtime.cjs',
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/clients/[^/]+/dist/'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': ['@swc/jest', { ...require('./test/support/swc-options.cjs'), sourceMaps: 'inline' }],
  },
};

module.exports = {
  // With more workers than cores, tests that wait for partners and pages exceed their time limits.
  maxWorkers: 2,
  // What a hundred suites leave in a worker takes seconds to collect, for which nothing else runs there.
  workerIdleMemoryLimit: '2GB',
  testTimeout: 60_000,
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: [
        '<rootDir>/src/**/*.spec.ts',
        '<rootDir>/test/proof/model/**/*trace.spec.ts',
        '<rootDir>/clients/*/test/*.spec.ts',
        '<rootDir>/test/architecture/*.spec.ts',
        '<rootDir>/test/proof/simulation/*.spec.ts',
      ],
    },
    {
      ...shared,
      // Every state of the small configurations, with every mutation: a minute of one core.
      displayName: 'model',
      testMatch: ['<rootDir>/test/proof/model/**/*.model.spec.ts'],
    },
    {
      ...shared,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/**/*.e2e.ts'],
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    },
  ],
};
