// Defines how TypeScript is compiled for tests: by Jest (jest.config.cjs), and in threads of the service
// (run-typescript.cjs).
module.exports = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
    keepClassNames: true,
  },
  module: { type: 'commonjs' },
};
