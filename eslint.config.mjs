import tseslint from 'typescript-eslint';

const BROWSER_GLOBALS = [
  'AbortController',
  'AbortSignal',
  'Event',
  'URL',
  'URLSearchParams',
  'addEventListener',
  'btoa',
  'clearTimeout',
  'crypto',
  'dispatchEvent',
  'document',
  'fetch',
  'location',
  'navigator',
  'scrollTo',
  'setTimeout',
];

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'clients/*/dist/',
      'clients/typescript/src/openapi.ts',
      'node_modules/',
      'coverage/',
      'data/',
      'test/architecture/violations/',
      '**/*.cjs',
      '**/*.mjs',
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { project: './tsconfig.check.json' } },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    },
  },
  {
    // Plain modules for the browser, without types.
    files: ['src/console/assets/*.js'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      parserOptions: { project: null },
      globals: Object.fromEntries(BROWSER_GLOBALS.map((name) => [name, 'readonly'])),
    },
    rules: { 'no-undef': 'error' },
  },
  {
    // JSON from the wire is `any` in tests; the OpenAPI check types every answer instead.
    files: ['test/**/*.ts', 'bench/**/*.ts', '**/*.spec.ts'],
    rules: {
      'no-console': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
    },
  },
);
